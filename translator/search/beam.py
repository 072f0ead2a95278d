"""Beam search: the W most likely hypotheses of each sentence grow together, a token at a time.

B sentences, n of them unfinished, W beam width, R = n * W rows, S source length, V vocabulary,
C continuations of a row, L steps, E endings (hypotheses that ended or were cut off), N returned hypotheses
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.model.device import widest_float
from translator.search.constraints import Constraints
from translator.search.continuations import best_continuations, largest
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import length_penalty
from translator.search.search_model import SearchModel, State
from translator.search.waiting import reads_ends
from translator.special_tokens import EOS, SOS


class Extensions(NamedTuple):
    """The 2 W best continuations of each beam, best first, with back-pointers."""

    scores: Tensor  # (n, 2 W) summed log-probabilities, -inf where there is no hypothesis
    parents: Tensor  # (n, 2 W) int64, indices of the hypotheses that they extend, 0 to W - 1
    tokens: Tensor  # (n, 2 W) int64

    def at(self, slots: Tensor) -> "Extensions":
        """Return the extensions (n, W) at `slots` (n, W) of each beam."""
        return Extensions(
            scores=self.scores.gather(1, slots),
            parents=self.parents.gather(1, slots),
            tokens=self.tokens.gather(1, slots),
        )


class BeamStep(NamedTuple):
    """What one step has added to the beams of the unfinished sentences."""

    sentences: Tensor  # (n,) int64 indices
    back_pointers: Tensor  # (n, 2 W) int64, slots among the 2 W extensions of the previous step
    tokens: Tensor  # (n, 2 W) int64
    scores: Tensor  # (n, 2 W) summed log-probabilities, -inf where there is no hypothesis


@dataclass
class Beams:
    """The beams of the unfinished sentences."""

    sentences: Tensor  # (n,) int64 indices
    limits: Tensor  # (n,) int64, maximum output length in tokens
    finished_count: Tensor  # (n,) int64, number of finished hypotheses
    best_finished: Tensor  # (n,) the largest summed log-probability of a finished hypothesis
    scores: Tensor  # (n, W) summed log-probabilities, best first
    tokens: Tensor  # (n, W) int64, the last token of each hypothesis
    slots: Tensor  # (n, W) int64, places among the 2 W extensions of the last step
    rows: Tensor  # (n, W) int64, rows of the model's state that the hypotheses extend
    produced: Tensor  # (n, W, tokens so far) int64, only for the constraints

    @classmethod
    def before_the_first_step(cls, source: Tensor, longest: Tensor, width: int) -> "Beams":
        """Return beams of `width` empty hypotheses for `source` (B, S) and the length limits `longest` (B,)."""
        count, device = len(source), source.device
        # All hypotheses of a beam start equal. The first alone scores above -inf, so that the beam has no duplicates.
        scores = torch.full((count, width), -math.inf, dtype=widest_float(device), device=device)
        scores[:, 0] = 0.0
        return cls(
            sentences=torch.arange(count, device=device),
            limits=longest.to(device),
            finished_count=torch.zeros(count, dtype=torch.int64, device=device),
            best_finished=scores.new_full((count,), -math.inf),
            scores=scores,
            tokens=source.new_full((count, width), SOS),
            slots=torch.arange(width, device=device).repeat(count, 1),
            rows=torch.arange(count * width, device=device).view(count, width),
            produced=source.new_empty(count, width, 0),
        )

    def select(self, going: Tensor) -> None:
        """Keep only the sentences at the places `going` (n',) int64."""
        for field in dataclasses.fields(self):
            tensor = getattr(self, field.name)
            setattr(self, field.name, tensor[going])


@torch.inference_mode()
def beam_search(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    config: SearchConfig,
    count: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return `count` hypotheses for each row of `source`, best first, by beam search (Sutskever et al. 2014 §3.2).

    Each step takes the 2 W best extensions of a beam. Those among the first W that end in EOS are finished hypotheses;
    the first W without EOS form the next beam. A sentence is done when 2 W hypotheses have finished (patience 2, Kasai
    et al. 2022) and one is more likely than every unfinished hypothesis, or at its length limit. It then leaves the
    batch.

    Hypotheses cut off at the length limit are returned only if too few finished. A row has fewer than `count` only if
    the constraints and the length limit allow no more.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        config: gives W (`beam_size`) and the length penalty.
        count: hypotheses for each row, at most W.
        constraints: what an output may not say; None forbids PAD, UNK and SOS.
    """
    width = config.beam_size
    enough_finished = 2 * width if width > 1 else 1  # a beam of one is greedy search
    first_rows = torch.arange(0, len(source) * width, width, device=source.device).unsqueeze(1)  # (B, 1)
    beams = Beams.before_the_first_step(source, longest, width)
    steps: list[BeamStep] = []
    state = model.start(source, width)
    for length in range(1, int(longest.max()) + 1):
        # 1. Compute the logits of all next tokens.
        logits = model.step(beams.tokens.flatten(), state)  # (R, V)
        forbidden = None
        if constraints is not None:
            row_sentences = beams.sentences.repeat_interleave(width)  # (R,)
            forbidden = constraints.forbidden(beams.produced.flatten(0, 1), row_sentences, logits.size(1))

        # 2. Extend every beam by its 2 W best tokens, and record them with back-pointers.
        extensions = best_extensions(beams.scores, logits, forbidden)
        steps.append(
            BeamStep(
                sentences=beams.sentences,
                back_pointers=beams.slots.gather(1, extensions.parents),
                tokens=extensions.tokens,
                scores=extensions.scores,
            )
        )

        # 3. Count the hypotheses that finish: those among the first W that end in EOS.
        has_ended = (extensions.tokens == EOS) & (extensions.scores > -math.inf)  # (n, 2 W)
        beams.finished_count = beams.finished_count + has_ended[:, :width].sum(dim=1)
        finished_scores = extensions.scores.masked_fill(~has_ended, -math.inf)[:, :width]  # (n, W)
        beams.best_finished = torch.maximum(beams.best_finished, finished_scores.amax(dim=1))

        # 4. The first W without EOS form the next beam, best first.
        beams.slots = has_ended.int().sort(dim=1, stable=True).indices[:, :width]  # (n, W)
        next_beam = extensions.at(beams.slots)
        beams.scores = next_beam.scores
        beams.tokens = next_beam.tokens
        beams.rows = next_beam.parents + first_rows[: len(beams.rows)]

        if constraints is not None:
            produced = beams.produced.gather(1, next_beam.parents.unsqueeze(2).expand_as(beams.produced))
            beams.produced = torch.cat((produced, beams.tokens.unsqueeze(2)), dim=2)

        # 5. Find the sentences that go on: undecided, below the length limit, with a hypothesis in the beam.
        best_unfinished = beams.scores[:, 0]  # (n,)
        is_undecided = (beams.finished_count < enough_finished) | (best_unfinished > beams.best_finished)
        goes_on = is_undecided & (beams.limits > length) & (best_unfinished > -math.inf)  # (n,)

        # 6. Let the others leave the batch; until then, their beams have no hypotheses.
        if reads_ends(length, source.device):
            going = goes_on.nonzero().squeeze(1)  # (n',) indices into `beams.sentences`
            if len(going) == 0:
                break
            if len(going) < len(beams.sentences):
                beams.select(going)
        else:
            beams.scores = beams.scores.masked_fill(~goes_on.unsqueeze(1), -math.inf)

        # 7. Bring the model's state into the order of the new beams.
        state.select(beams.rows.flatten())
    return _best_hypotheses(steps, longest.tolist(), count, config)


def best_extensions(scores: Tensor, logits: Tensor, forbidden: Tensor | None) -> Extensions:
    """Return the 2 W best extensions of each beam. Ties go to the lowest parent, then to the lowest id.

    Args:
        scores: (n, W) summed log-probabilities of the hypotheses.
        logits: (R, V) of the tokens after them.
        forbidden: (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
    """
    width = scores.size(1)
    # The 2 W best extensions of a beam have at most 2 W continuations of one hypothesis.
    continuations = best_continuations(logits, 2 * width, forbidden)  # (R, C) each
    count = continuations.tokens.size(1)
    log_probabilities = continuations.log_probabilities.reshape(-1, width, count)  # (n, W, C)
    tokens = continuations.tokens.reshape(-1, width * count)  # (n, W * C)
    totals = (scores.unsqueeze(2) + log_probabilities).flatten(1)  # (n, W * C)
    best = largest(totals, 2 * width)
    return Extensions(scores=best.values, parents=best.indices // count, tokens=tokens.gather(1, best.indices))


class BeamHistory(NamedTuple):
    """All steps of a search in tables; sentences that have left the batch have scores of -inf."""

    back_pointers: npt.NDArray[np.int64]  # (L, B, 2 W)
    tokens: npt.NDArray[np.int64]  # (L, B, 2 W)
    scores: npt.NDArray[np.float64]  # (L, B, 2 W) summed log-probabilities

    @classmethod
    def of_steps(cls, steps: Sequence[BeamStep], sentence_count: int) -> "BeamHistory":
        """Return the tables of L steps over B sentences."""
        shape = (len(steps), sentence_count, steps[0].tokens.size(1))
        history = cls(
            back_pointers=np.zeros(shape, np.int64), tokens=np.zeros(shape, np.int64), scores=np.full(shape, -np.inf)
        )
        for index, step in enumerate(steps):
            sentences = step.sentences.cpu().numpy()
            history.back_pointers[index, sentences] = step.back_pointers.cpu().numpy()
            history.tokens[index, sentences] = step.tokens.cpu().numpy()
            history.scores[index, sentences] = step.scores.cpu().numpy()
        return history


class Endings(NamedTuple):
    """Where hypotheses end, one entry for each of E or N hypotheses."""

    steps: npt.NDArray[np.int64]  # of the last token
    sentences: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]  # among the 2 W extensions of the last step
    finished: npt.NDArray[np.bool_]  # whether the last token is EOS; otherwise the hypothesis was cut off


class TokenPaths(NamedTuple):
    """The tokens of N hypotheses, from their first to their last, then 0."""

    tokens: npt.NDArray[np.int64]  # (N, L)
    scores: npt.NDArray[np.float64]  # (N, L) summed log-probabilities up to each token


def _best_hypotheses(
    steps: Sequence[BeamStep], limits: list[int], count: int, config: SearchConfig
) -> list[list[Hypothesis]]:
    """Return the best `count` hypotheses of each of B sentences, best first; finished ones precede those cut off."""
    history = BeamHistory.of_steps(steps, len(limits))
    endings = _best_endings(history, limits, count, config)
    paths = _walk_back(history, endings)
    token_scores = np.diff(paths.scores, axis=1, prepend=0.0).astype(np.float32)  # (N, L)

    results: list[list[Hypothesis]] = [[] for _ in limits]
    for row, sentence in enumerate(endings.sentences.tolist()):
        length = int(endings.steps[row]) + 1  # EOS counts
        finished = bool(endings.finished[row])
        hypothesis = Hypothesis.from_tokens(
            tokens=paths.tokens[row, : length - finished].tolist(),
            token_scores=token_scores[row, :length].tolist(),
            finished=finished,
            config=config,
        )
        results[sentence].append(hypothesis)
    return results


def _best_endings(history: BeamHistory, limits: list[int], count: int, config: SearchConfig) -> Endings:
    """Return the endings of the best `count` hypotheses of each sentence, ordered by sentence, best first."""
    # 1. A hypothesis ends with EOS or at the length limit, if it is among the first W of its step.
    lengths = np.arange(1, len(history.tokens) + 1)  # (L,)
    at_limit = lengths[:, None] == np.array(limits)  # (L, B)
    is_ending = ((history.tokens == EOS) | at_limit[:, :, None]) & (history.scores > -np.inf)  # (L, B, 2 W)
    is_ending[:, :, config.beam_size :] = False
    steps, sentences, slots = is_ending.nonzero()  # (E,) each
    finished = history.tokens[is_ending] == EOS  # (E,)

    # 2. Rank the endings of a sentence: finished ones first, then by normalized score, then the shortest.
    penalties = np.array([length_penalty(float(length), config) for length in lengths])  # (L,)
    normalized_scores = history.scores[is_ending] / penalties[steps]  # (E,)
    order = np.lexsort((slots, steps, -normalized_scores, ~finished, sentences))  # the last key decides first

    # 3. Take the best of each sentence.
    first_of_sentence = np.searchsorted(sentences[order], np.arange(len(limits)))  # (B,)
    ranks = np.arange(len(order)) - first_of_sentence[sentences[order]]
    best = order[ranks < count]  # (N,)
    return Endings(steps=steps[best], sentences=sentences[best], slots=slots[best], finished=finished[best])


def _walk_back(history: BeamHistory, endings: Endings) -> TokenPaths:
    """Follow the back-pointers from the last token of each hypothesis to its first."""
    step_count = len(history.tokens)
    tokens = np.zeros((len(endings.slots), step_count), np.int64)
    scores = np.zeros((len(endings.slots), step_count))
    slots = endings.slots.copy()  # (N,)
    for step in reversed(range(step_count)):
        reached = (endings.steps >= step).nonzero()[0]  # the hypotheses that have a token at this step
        places = (step, endings.sentences[reached], slots[reached])
        tokens[reached, step] = history.tokens[places]
        scores[reached, step] = history.scores[places]
        slots[reached] = history.back_pointers[places]
    return TokenPaths(tokens=tokens, scores=scores)
