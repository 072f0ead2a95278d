"""The way back through a beam search: which hypotheses left the beam, and of which tokens they are made.

B batch, n sentences still being searched, W beam width, L steps, K hypotheses
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import LengthPenalty
from translator.special_tokens import EOS


@dataclass(frozen=True)
class _Step:
    """What one step has added to the beams of the sentences that were still searched."""

    live: Tensor
    """(n,) int64 numbers of the sentences."""
    parents: Tensor
    """(n, W) int64, which slot of the step before each slot continues."""
    chosen: Tensor
    """(n, W) int64 tokens."""
    scores: Tensor
    """(n, W) float64 sums of log-probabilities, -inf where there is no hypothesis."""


class Trace:
    """Notes each step as it is, so that no prefix need be moved when beams are reordered."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []

    def add(self, live: Tensor, parents: Tensor, chosen: Tensor, scores: Tensor) -> None:
        """Note one step; see `_Step` for the shapes."""
        self._steps.append(_Step(live, parents, chosen, scores))

    def hypotheses(self, limits: list[int], count: int, penalty: LengthPenalty) -> list[list[Hypothesis]]:
        """Return the best `count` of each sentence, best first: all that finished stand before those that were stopped.

        Args:
            limits: B longest lengths.
            count: hypotheses wanted for each sentence.
            penalty: what they are compared by.
        """
        shape = (len(self._steps), len(limits), self._steps[0].chosen.size(1))
        parents, chosen = np.zeros(shape, np.int64), np.zeros(shape, np.int64)  # (L, B, W) each
        scores = np.full(shape, -np.inf)  # (L, B, W)
        for number, step in enumerate(self._steps):
            live = step.live.cpu().numpy()
            parents[number, live] = step.parents.cpu().numpy()
            chosen[number, live] = step.chosen.cpu().numpy()
            scores[number, live] = step.scores.cpu().numpy()
        lengths = np.arange(1, shape[0] + 1)
        at_limit = lengths[:, None] == np.array(limits)  # (L, B)
        leaving = ((chosen == EOS) | at_limit[:, :, None]) & (scores > -np.inf)
        last, sentences, slots = leaving.nonzero()  # (how many left,) each
        finished = chosen[leaving] == EOS
        divisors = np.array([penalty.divisor(float(length)) for length in lengths])  # (L,)
        order = np.lexsort((slots, last, -scores[leaving] / divisors[last], ~finished, sentences))
        starts = np.searchsorted(sentences[order], np.arange(len(limits)))  # (B,)
        ranks = np.arange(len(order)) - starts[sentences[order]]
        kept = order[ranks < count]  # (K,)
        tokens, totals = _walk_back(parents, chosen, scores, last[kept], sentences[kept], slots[kept])
        token_scores = np.diff(totals, axis=1, prepend=0.0).astype(np.float32)
        found: list[list[Hypothesis]] = [[] for _ in limits]
        for row, place in enumerate(kept.tolist()):
            length, ended = int(last[place]) + 1, bool(finished[place])
            found[int(sentences[place])].append(
                Hypothesis.from_tokens(
                    tokens[row, : length - ended].tolist(), token_scores[row, :length].tolist(), ended, penalty
                )
            )
        return found


def _walk_back(
    parents: npt.NDArray[np.int64],
    chosen: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    last: npt.NDArray[np.int64],
    sentences: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the tokens and the sums of log-probabilities after each of them, (K, L) each.

    Args:
        parents: (L, B, W) slots of the step before.
        chosen: (L, B, W) tokens.
        scores: (L, B, W) sums of log-probabilities.
        last: (K,) the last step of each hypothesis.
        sentences: (K,) the sentence of each.
        slots: (K,) its slot at its last step.
    """
    tokens = np.zeros((len(last), len(parents)), np.int64)
    totals = np.zeros(tokens.shape)
    slots = slots.copy()
    for step in reversed(range(len(parents))):
        begun = (last >= step).nonzero()[0]
        at = (step, sentences[begun], slots[begun])
        tokens[begun, step], totals[begun, step] = chosen[at], scores[at]
        slots[begun] = parents[at]
    return tokens, totals
