"""Beam search: the W likeliest continuations at every step (Sutskever et al. 2014 §3.2; Wu et al. 2016 §7).

B batch, n sentences still being searched, W beam width, R = n * W rows, S source length, C continuations of a row
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from translator.search.constraints import Constraint, forbidden_tokens
from translator.search.continuations import best_continuations, largest
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import USUAL_PENALTY, LengthPenalty
from translator.search.model import SearchModel, State
from translator.search.trace import Trace
from translator.special_tokens import EOS, SOS


@torch.inference_mode()
def beam_search(
    model: SearchModel[State],
    source: Tensor,
    max_lengths: Tensor,
    beam_size: int,
    penalty: LengthPenalty = USUAL_PENALTY,
    count: int = 1,
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Translate each row of `source`; a sentence that is decided leaves the batch with its whole beam.

    The W best continuations of a beam are kept at each step; those that end in EOS leave the beam, and the next step
    fills their places with continuations of the others. A sentence is decided when `count` hypotheses have finished
    which nothing in its beam can beat, when its beam is empty, or at its longest length.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each row may grow to, EOS included; at least 1.
        beam_size: W.
        penalty: what hypotheses of different lengths are compared by.
        count: hypotheses wanted for each row, at most W.
        constraints: on what may be produced.

    Returns:
        For each row, in order, the best `count` that this beam can find, best first; hypotheses that were stopped at
        the longest length only where too few finished. Fewer than `count` only where the constraints and the longest
        length allow no more.
    """
    assert 1 <= count <= beam_size
    if len(source) == 0:
        return []
    device = source.device
    limits = max_lengths.to(device)  # (n,)
    live = torch.arange(len(source), device=device)  # (n,) numbers of the sentences
    tokens = source.new_full((len(source) * beam_size,), SOS)  # (R,)
    prefixes = source.new_empty(len(source), beam_size, 0)  # (n, W, tokens so far), kept for the constraints only
    # All rows of a sentence begin alike; only the first counts, or the beam would fill with copies of one hypothesis.
    scores = torch.full((len(source), beam_size), -math.inf, dtype=torch.float64, device=device)  # (n, W)
    scores[:, 0] = 0.0
    best_finished = scores.new_full((len(source), count), -math.inf)  # (n, count) normalized scores, best first
    trace = Trace()
    state = model.start(source, beam_size)
    for length in range(1, int(limits.max()) + 1):
        logits = model.step(tokens, state)
        forbidden = None
        if constraints:
            sentences = live.repeat_interleave(beam_size)
            forbidden = forbidden_tokens(constraints, logits.size(1), prefixes.flatten(0, 1), sentences)
        scores, parents, chosen = _extend(scores, logits, forbidden)  # (n, W) each
        trace.add(live, parents, chosen, scores)
        ended = chosen == EOS  # (n, W)
        newly_finished = scores.masked_fill(~ended, -math.inf) / penalty.divisor(float(length))
        best_finished = torch.cat((best_finished, newly_finished), dim=1).topk(count, dim=1).values
        scores = scores.masked_fill(ended | (limits == length).unsqueeze(1), -math.inf)
        best_live = scores.max(dim=1).values  # (n,)
        decided = best_finished[:, -1] >= penalty.best_reachable(best_live, limits.double())
        going = (~decided & (best_live > -math.inf)).nonzero().squeeze(1)  # (n',) places among the live
        if len(going) == 0:
            break
        rows = parents + torch.arange(0, len(tokens), beam_size, device=device).unsqueeze(1)  # (n, W) in the state
        if constraints:
            prefixes = prefixes.gather(1, parents.unsqueeze(2).expand_as(prefixes))
            prefixes = torch.cat((prefixes, chosen.unsqueeze(2)), dim=2)
        if len(going) < len(live):
            live, limits, best_finished, prefixes = live[going], limits[going], best_finished[going], prefixes[going]
            scores, chosen, rows = scores[going], chosen[going], rows[going]
        tokens = chosen.flatten()
        state.select(rows.flatten())
    return trace.hypotheses(max_lengths.tolist(), count, penalty)


def _extend(scores: Tensor, logits: Tensor, forbidden: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return the W best continuations of each beam: their scores, parents (0..W-1) and tokens, (n, W) each.

    Equally good ones come in the order of their parents, then likelier first, then of their ids.

    Args:
        scores: (n, W) float64 sums of log-probabilities, -inf where there is no hypothesis.
        logits: (R, V).
        forbidden: (R, V) bool, True = may not follow; None forbids PAD, UNK and SOS.
    """
    width = scores.size(1)
    log_probabilities, tokens = best_continuations(logits, width, forbidden)  # (R, C): no row can give more than W
    count = tokens.size(1)
    totals = (scores.unsqueeze(2) + log_probabilities.reshape(-1, width, count)).flatten(1)  # (n, W * C)
    best, places = largest(totals, width)  # (n, W) each
    return best, places // count, tokens.reshape(-1, width * count).gather(1, places)
