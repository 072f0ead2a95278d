"""`search` and its batched algorithms: greedy search, beam search, and the loop that greedy search and sampling share.

B batch, n unfinished sentences, W beam width (or paths per sentence), R = n * W rows, S source length, V vocabulary,
C continuations per row, L steps, N returned hypotheses
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.errors import CheckpointError
from translator.model.device import widest_float
from translator.search.constraints import Constraints
from translator.search.hypothesis import FIRST_PRODUCED, Hypothesis, Rows, check_count, length_penalty
from translator.search.sampling import Choose, sampler
from translator.search.scoring import (
    SearchModel,
    State,
    best_continuations,
    largest,
    log_probabilities_of,
    output_lengths,
)
from translator.special_tokens import EOS, PAD, SOS


def search(
    model: SearchModel[State],
    source: Tensor,
    config: SearchConfig,
    count: int = 1,
    prefixes: Rows | None = None,
    *,
    no_doubles: bool = False,
) -> list[list[Hypothesis]]:
    """Return the best hypotheses for each row of `source`, in the order of the rows, best first.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        config: the search settings.
        count: hypotheses per row; fewer are returned only if no more exist. With sampling, the number of draws.
        prefixes: for each row, the ids (without SOS) that begin its hypotheses. Scores include their log-probabilities.
        no_doubles: forbid that a token follows itself.

    Raises:
        ConfigError: the method cannot find `count` hypotheses.
        CheckpointError: the model's probabilities are NaN.
    """
    check_count(config, count)
    if len(source) == 0:
        return []
    shortest, longest = output_lengths(source, config, model.max_positions, prefixes)
    constraints = None
    has_prefixes = prefixes is not None and any(prefixes)
    if config.min_length_ratio > 0 or config.no_repeat_ngram > 0 or no_doubles or has_prefixes:
        constraints = Constraints(shortest, config.no_repeat_ngram, prefixes, no_doubles=no_doubles)
    if config.method == "beam":
        found = beam_search(model, source, longest, config, count, constraints)
    else:
        greedy = config.method == "greedy"
        choose = likeliest if greedy else sampler(source, config, count, int(longest.max()))
        found = follow_paths(model, source, longest, choose, config, count, constraints)
    if any(not hypotheses or math.isnan(hypotheses[0].score) for hypotheses in found):
        raise CheckpointError(
            "the model's probabilities are not numbers (NaN): its training has diverged; use an earlier checkpoint"
        )
    return found


# --- greedy search and sampling: each row follows one path, a token at a time ---


def likeliest(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
    """Return the most likely token of each row (greedy search); ties go to the lowest id. See `Choose`."""
    if forbidden is not None:
        return logits.masked_fill(forbidden, -torch.inf).max(dim=1).indices
    return logits[:, FIRST_PRODUCED:].max(dim=1).indices + FIRST_PRODUCED


@torch.inference_mode()
def follow_paths(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    choose: Choose,
    config: SearchConfig,
    width: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return W = `width` hypotheses per row of `source`; a sentence leaves the batch when all its paths have ended.

    Args:
        model, source, config, constraints: as in `search`.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        choose: picks the next tokens.

    Returns:
        For each row, in order, a list of W hypotheses, best first.
    """
    limits = longest.to(source.device)  # (n,)
    live = torch.arange(len(source), device=source.device)  # (n,) sentence indices
    slots = torch.arange(width, device=source.device)  # (W,)
    ended = torch.zeros(len(source), width, dtype=torch.bool, device=source.device)  # (n, W)
    tokens = source.new_full((len(source) * width,), SOS)  # (R,)
    produced = source.new_empty(len(tokens), 0)  # (R, tokens so far), only for the constraints
    steps: list[tuple[Tensor, Tensor, Tensor]] = []  # live (n,), tokens (R,) and their log-probabilities (R, 1)
    state = model.start(source, width)
    for length in range(1, int(limits.max()) + 1):
        logits = model.step(tokens, state).float()  # (R, V)
        forbidden = None
        if constraints is not None:
            forbidden = constraints.forbidden(produced, live.repeat_interleave(width), logits.size(1))
        tokens = choose(logits, forbidden, live, length)
        steps.append((live, tokens, log_probabilities_of(tokens.unsqueeze(1), logits)))
        if constraints is not None:
            produced = torch.cat((produced, tokens.unsqueeze(1)), dim=1)
        ended |= tokens.view(-1, width) == EOS  # an ended path stays with its sentence; `_cut` drops all after EOS
        going = (~ended.all(dim=1) & (limits > length)).nonzero().squeeze(1)  # (n',) indices into `live`
        if len(going) == 0:
            break
        if len(going) < len(live):
            live, limits, ended = live[going], limits[going], ended[going]
            rows = (going.unsqueeze(1) * width + slots).flatten()  # (R',)
            tokens, produced = tokens[rows], produced[rows]
            state.select(rows)
    paths = np.full((len(source), width, len(steps)), PAD)  # (B, W, L)
    scores = np.zeros(paths.shape, np.float32)  # (B, W, L)
    for number, (sentences, chosen, log_probabilities) in enumerate(steps):
        places = sentences.cpu().numpy()
        paths[places, :, number] = chosen.view(-1, width).cpu().numpy()
        scores[places, :, number] = log_probabilities.view(-1, width).cpu().numpy()
    found: list[list[Hypothesis]] = []
    for its_paths, its_scores, limit in zip(paths.tolist(), scores.tolist(), longest.tolist(), strict=True):
        cut = [_cut(*path, limit, config) for path in zip(its_paths, its_scores, strict=True)]
        found.append(sorted(cut, key=lambda hypothesis: -hypothesis.normalized_score))
    return found


def _cut(tokens: list[int], scores: list[float], limit: int, config: SearchConfig) -> Hypothesis:
    finished = EOS in tokens[:limit]
    length = tokens.index(EOS) if finished else limit
    return Hypothesis.from_tokens(tokens[:length], scores[: length + finished], finished, config)


# --- beam search ---


class Step(NamedTuple):
    """The 2 W best continuations of each unfinished sentence at one step, with back-pointers."""

    live: Tensor  # (n,) int64 sentence indices
    parents: Tensor  # (n, 2 W) int64 back-pointers: indices into the continuations of the previous step
    chosen: Tensor  # (n, 2 W) int64 tokens
    scores: Tensor  # (n, 2 W) summed log-probabilities, -inf where there is no hypothesis


@torch.inference_mode()
def beam_search(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    config: SearchConfig,
    count: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return `count` hypotheses per row, best first, by beam search with W = `beam_size` (Sutskever et al. 2014 §3.2).

    Each step takes the 2 W best continuations. Those among the first W that end in EOS are finished hypotheses; the
    first W without EOS form the next beam. A sentence is done when 2 W hypotheses have finished (patience 2, Kasai et
    al. 2022) and one is more likely than every live hypothesis, or at its length limit. It then leaves the batch.

    The other arguments are those of `follow_paths`; `count` is at most W. Hypotheses cut off at the length limit are
    returned only if too few finished. A row has fewer than `count` only if the constraints and the length limit
    allow no more.
    """
    device, width = source.device, config.beam_size
    limits = longest.to(device)  # (n,)
    live = torch.arange(len(source), device=device)  # (n,) numbers of the sentences
    tokens = source.new_full((len(source) * width,), SOS)  # (R,)
    produced = source.new_empty(len(source), width, 0)  # (n, W, tokens so far), only for the constraints
    # All rows of a sentence start equal. The first alone scores above -inf, so that the beam holds no duplicates.
    scores = torch.full((len(source), width), -math.inf, dtype=widest_float(device), device=device)  # (n, W)
    scores[:, 0] = 0.0
    places = torch.arange(width, device=device).repeat(len(source), 1)  # (n, W) in the last continuations
    finished = live.new_zeros(len(source))  # (n,) number of finished hypotheses
    likeliest_finished = scores.new_full((len(source),), -math.inf)  # (n,) summed log-probability
    wanted = 2 * width if width > 1 else 1  # a beam of one is greedy search
    steps: list[Step] = []
    state = model.start(source, width)
    for length in range(1, int(limits.max()) + 1):
        logits = model.step(tokens, state)
        forbidden = None
        if constraints is not None:
            forbidden = constraints.forbidden(produced.flatten(0, 1), live.repeat_interleave(width), logits.size(1))
        scores, parents, chosen = _extend(scores, logits, forbidden)  # (n, 2 W) each
        steps.append(Step(live, places.gather(1, parents), chosen, scores))
        ended = (chosen == EOS) & (scores > -math.inf)  # (n, 2 W)
        finished = finished + ended[:, :width].sum(dim=1)
        new_scores = scores.masked_fill(~ended, -math.inf)[:, :width]  # (n, W)
        likeliest_finished = torch.maximum(likeliest_finished, new_scores.amax(dim=1))
        places = ended.int().sort(dim=1, stable=True).indices[:, :width]  # the W that continue, best first
        scores, parents, chosen = (of_all.gather(1, places) for of_all in (scores, parents, chosen))  # (n, W) each
        undecided = (finished < wanted) | (scores[:, 0] > likeliest_finished)  # (n,)
        going = (undecided & (limits > length) & (scores[:, 0] > -math.inf)).nonzero().squeeze(1)  # (n',) into `live`
        if len(going) == 0:
            break
        rows = parents + torch.arange(0, len(tokens), width, device=device).unsqueeze(1)  # (n, W) rows of the state
        if constraints is not None:
            produced = produced.gather(1, parents.unsqueeze(2).expand_as(produced))
            produced = torch.cat((produced, chosen.unsqueeze(2)), dim=2)
        if len(going) < len(live):
            live, limits, finished, produced = live[going], limits[going], finished[going], produced[going]
            scores, chosen, rows, places = scores[going], chosen[going], rows[going], places[going]
            likeliest_finished = likeliest_finished[going]
        tokens = chosen.flatten()
        state.select(rows.flatten())
    return _hypotheses(steps, longest.tolist(), count, config)


def _extend(scores: Tensor, logits: Tensor, forbidden: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return the 2 W best continuations of each beam: their scores, parents (0..W-1) and tokens, (n, 2 W) each.

    `scores` (n, W) are the beam's; see `best_continuations` for the rest. Ties are ordered by parent, then by
    log-probability (highest first), then by id.
    """
    width = scores.size(1)
    log_probabilities, tokens = best_continuations(logits, 2 * width, forbidden)  # (R, C)
    count = tokens.size(1)
    totals = (scores.unsqueeze(2) + log_probabilities.reshape(-1, width, count)).flatten(1)  # (n, W * C)
    best, places = largest(totals, 2 * width)  # (n, 2 W) each
    return best, places // count, tokens.reshape(-1, width * count).gather(1, places)


def _hypotheses(steps: Sequence[Step], limits: list[int], count: int, config: SearchConfig) -> list[list[Hypothesis]]:
    """Return the best `count` hypotheses of each sentence, best first; finished ones precede those cut off."""
    shape = (len(steps), len(limits), steps[0].chosen.size(1))
    parents, chosen = np.zeros(shape, np.int64), np.zeros(shape, np.int64)  # (L, B, 2 W) each
    scores = np.full(shape, -np.inf)  # (L, B, 2 W)
    for number, step in enumerate(steps):
        live = step.live.cpu().numpy()
        for table, values in ((parents, step.parents), (chosen, step.chosen), (scores, step.scores)):
            table[number, live] = values.cpu().numpy()
    lengths = np.arange(1, shape[0] + 1)
    at_limit = lengths[:, None] == np.array(limits)  # (L, B)
    leaving = ((chosen == EOS) | at_limit[:, :, None]) & (scores > -np.inf)
    leaving[:, :, config.beam_size :] = False
    last, sentences, slots = leaving.nonzero()  # (number of ended or cut-off hypotheses,) each
    finished = chosen[leaving] == EOS
    divisors = np.array([length_penalty(float(length), config) for length in lengths])  # (L,)
    order = np.lexsort((slots, last, -scores[leaving] / divisors[last], ~finished, sentences))
    starts = np.searchsorted(sentences[order], np.arange(len(limits)))  # (B,)
    ranks = np.arange(len(order)) - starts[sentences[order]]
    kept = order[ranks < count]  # (N,)
    # Walk back from the last token of each hypothesis to its first.
    tokens, totals = np.zeros((len(kept), shape[0]), np.int64), np.zeros((len(kept), shape[0]))  # (N, L) each
    at_slot = slots[kept]  # (N,)
    for back in reversed(range(shape[0])):
        begun = (last[kept] >= back).nonzero()[0]
        at = (back, sentences[kept][begun], at_slot[begun])
        tokens[begun, back], totals[begun, back] = chosen[at], scores[at]
        at_slot[begun] = parents[at]
    token_scores = np.diff(totals, axis=1, prepend=0.0).astype(np.float32)
    found: list[list[Hypothesis]] = [[] for _ in limits]
    for row, place in enumerate(kept.tolist()):
        length, ended = int(last[place]) + 1, bool(finished[place])
        produced, its_scores = tokens[row, : length - ended].tolist(), token_scores[row, :length].tolist()
        found[int(sentences[place])].append(Hypothesis.from_tokens(produced, its_scores, ended, config))
    return found
