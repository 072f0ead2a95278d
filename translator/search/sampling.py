"""Sampling: each token drawn at random, as likely as the model finds it.

B batch, n sentences still being searched, W draws for each, R = n * W rows, S source length, V vocabulary
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from translator.search.constraints import Constraint
from translator.search.continuations import FIRST_PRODUCED
from translator.search.hypothesis import Hypothesis
from translator.search.length_penalty import USUAL_PENALTY, LengthPenalty
from translator.search.model import SearchModel, State
from translator.search.noise import uniform_noise
from translator.search.single_path import follow_paths
from translator.search.truncation import keep_top_k, keep_top_p


@dataclass(frozen=True)
class Distribution:
    """The distribution that tokens are drawn from: the model's own, sharpened and cut off."""

    temperature: float = 1.0
    """Logits are divided by it; below 1 the likely become likelier."""
    top_k: int = 0
    """Only so many of the likeliest may come; 0 allows all."""
    top_p: float = 1.0
    """Only the fewest likeliest that have so much of what the temperature and `top_k` have left may come."""

    def probabilities(self, logits: Tensor, forbidden: Tensor | None = None) -> Tensor:
        """Return (R, V) float64 for logits (R, V) float32.

        Args:
            logits: (R, V) of the model.
            forbidden: (R, V) bool, True = may not follow; None forbids PAD, UNK and SOS.
        """
        if forbidden is None:
            logits = logits.clone()
            logits[:, :FIRST_PRODUCED] = -torch.inf
        else:
            logits = logits.masked_fill(forbidden, -torch.inf)
        logits = (logits - logits.amax(dim=1, keepdim=True)) / self.temperature  # at most 0: nothing can overflow
        if self.top_k:
            logits = keep_top_k(logits, self.top_k)
        if self.top_p < 1:
            logits = keep_top_p(logits, self.top_p)
        return logits.softmax(dim=1, dtype=torch.float64)


def sample(
    model: SearchModel[State],
    source: Tensor,
    max_lengths: Tensor,
    distribution: Distribution,
    seed: int,
    count: int = 1,
    penalty: LengthPenalty = USUAL_PENALTY,
    constraints: Sequence[Constraint] = (),
) -> list[list[Hypothesis]]:
    """Draw `count` translations of each row of `source`, independent of each other and of the other rows.

    What is drawn for a sentence depends on its ids, the seed and the number of the draw; its scores are those of the
    model's own distribution, whatever it was drawn from.

    Args:
        model: what gives the probabilities.
        source: (B, S) int64 ids.
        max_lengths: (B,) int64, tokens that each row may grow to, EOS included; at least 1.
        distribution: what tokens are drawn from.
        seed: of the random numbers.
        count: draws for each row; two may be equal.
        penalty: of the normalized scores; it does not change what is drawn.
        constraints: on what may be drawn; what is left keeps its proportions.

    Returns:
        For each row, in order, its draws, best first.
    """
    if len(source) == 0:
        return []
    noise = uniform_noise(source, seed, count, int(max_lengths.max())).to(source.device)  # (B, W, longest)

    def draw(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
        # In the order of ids, not of probabilities: rounding can swap neighbours in the latter, and move a draw far.
        sums = distribution.probabilities(logits, forbidden).cumsum(dim=1)  # (R, V)
        wanted = noise[sentences, :, length - 1].view(-1, 1) * sums[:, -1:]  # (R, 1)
        places = torch.searchsorted(sums, wanted, right=True).squeeze(1)
        return places.clamp(max=logits.size(1) - 1)  # beyond the last only where probabilities are NaN

    found = follow_paths(model, source, max_lengths, draw, penalty, count, constraints)
    return [sorted(paths, key=lambda hypothesis: -hypothesis.normalized_score) for paths in found]
