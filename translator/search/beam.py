"""Beam search: the W likeliest continuations at every step (Sutskever et al. 2014 §3.2; Wu et al. 2016 §7).

B batch, n sentences still being searched, W beam width, R = n * W rows, S source length, C continuations of a row
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import best_reachable
from translator.search.model import SearchModel, State, best_continuations
from translator.special_tokens import EOS, SOS


@dataclass
class _Sentence:
    """What is known of one sentence besides its beam."""

    limit: int
    """Tokens that its hypotheses may grow to, EOS included."""
    finished: list[Hypothesis] = field(default_factory=list)
    """Hypotheses that ended in EOS, in the order they were found."""
    unfinished: list[Hypothesis] = field(default_factory=list)
    """Hypotheses that were stopped at the limit."""

    def is_decided(self, best_live: float, alpha: float) -> bool:
        """Say whether nothing in the beam, of highest score `best_live`, can beat the best finished hypothesis."""
        if not self.finished:
            return False
        return max(h.normalized_score for h in self.finished) >= best_reachable(best_live, self.limit, alpha)

    def ranked(self, count: int) -> list[Hypothesis]:
        """Return the `count` best, best first; unfinished ones only where nothing finished."""
        found = self.finished or self.unfinished
        return sorted(found, key=lambda hypothesis: -hypothesis.normalized_score)[:count]


@torch.inference_mode()
def beam_search(
    model: SearchModel[State], source: Tensor, max_lengths: Tensor, beam_size: int, length_penalty: float = 1.0
) -> list[list[Hypothesis]]:
    """Translate each row of `source`; a sentence that is decided leaves the batch with its whole beam.

    The W best continuations of a beam are kept at each step; those that end in EOS leave the beam, and the next step
    fills their places with continuations of the others. A sentence is decided when none of its live hypotheses can beat
    its best finished one, when none is live, or at its longest length.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each row may grow to, EOS included; at least 1.
        beam_size: W.
        length_penalty: alpha of Wu et al. 2016; not negative.

    Returns:
        For each row, in order, up to W hypotheses, best first. The first is the best that this beam can find; the
        others are those that had ended by then.
    """
    sentences = [_Sentence(limit) for limit in max_lengths.tolist()]
    live = list(range(len(sentences)))  # numbers of the n sentences
    if not live:
        return []
    tokens = source.new_full((len(live) * beam_size,), SOS)  # (R,)
    prefixes = source.new_empty(len(live), beam_size, 0)  # (n, W, tokens so far)
    # All rows of a sentence begin alike; only the first counts, or the beam would fill with copies of one hypothesis.
    scores = torch.full((len(live), beam_size), -math.inf, device=source.device)  # (n, W)
    scores[:, 0] = 0.0
    state = model.start(source, beam_size)
    for length in range(1, max(sentence.limit for sentence in sentences) + 1):
        scores, parents, chosen = _extend(scores, model.step(tokens, state))  # (n, W) each
        prefixes = prefixes.gather(1, parents.unsqueeze(2).expand(-1, -1, length - 1))
        prefixes = torch.cat((prefixes, chosen.unsqueeze(2)), dim=2)  # (n, W, length)
        scores = _collect(sentences, live, prefixes, scores, length, length_penalty)
        best = scores.max(dim=1).values.tolist()
        going = [
            place
            for place, number in enumerate(live)
            if best[place] > -math.inf and not sentences[number].is_decided(best[place], length_penalty)
        ]
        if not going:
            break
        first_rows = torch.arange(0, len(live) * beam_size, beam_size, device=source.device)  # (n,)
        rows = parents + first_rows.unsqueeze(1)  # (n, W) where in the state each new row comes from
        if len(going) < len(live):
            live = [live[place] for place in going]
            kept = torch.tensor(going, device=source.device)
            scores, prefixes, chosen, rows = scores[kept], prefixes[kept], chosen[kept], rows[kept]
        tokens = chosen.flatten()
        state.select(rows.flatten())
    return [sentence.ranked(beam_size) for sentence in sentences]


def _extend(scores: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the W best continuations of each beam: their scores, parents (0..W-1) and tokens, (n, W) each.

    Args:
        scores: (n, W) sums of log-probabilities, -inf where there is no hypothesis.
        logits: (R, V).
    """
    width = scores.size(1)
    count = min(width, logits.size(1))  # C: no row can give more than W of the W best
    log_probabilities, tokens = best_continuations(logits, count)  # (R, C) each
    totals = (scores.unsqueeze(2) + log_probabilities.view(-1, width, count)).flatten(1)  # (n, W * C)
    best, places = totals.topk(width, dim=1)  # (n, W) each
    return best, places // count, tokens.view(-1, width * count).gather(1, places)


def _collect(
    sentences: list[_Sentence], live: list[int], prefixes: Tensor, scores: Tensor, length: int, alpha: float
) -> Tensor:
    """Note the hypotheses that have ended or may grow no further; return `scores` with -inf in their places.

    Args:
        sentences: all of them.
        live: numbers of the n sentences that are still searched.
        prefixes: (n, W, length) tokens so far.
        scores: (n, W).
        length: tokens so far.
        alpha: of the length penalty.
    """
    ended = prefixes[:, :, -1] == EOS  # (n, W)
    at_limit = torch.tensor([sentences[number].limit == length for number in live], device=scores.device)  # (n,)
    leaving = (ended | at_limit.unsqueeze(1)) & (scores > -math.inf)  # (n, W)
    places, slots = leaving.nonzero(as_tuple=True)  # (how many leave,) each
    for place, tokens, score in zip(
        places.tolist(), prefixes[places, slots].tolist(), scores[places, slots].tolist(), strict=True
    ):
        sentence = sentences[live[place]]
        if tokens[-1] == EOS:
            sentence.finished.append(Hypothesis.from_tokens(tokens[:-1], score, True, alpha))
        else:
            sentence.unfinished.append(Hypothesis.from_tokens(tokens, score, False, alpha))
    return scores.masked_fill(ended | at_limit.unsqueeze(1), -math.inf)
