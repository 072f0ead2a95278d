"""Sampling: draws each token from the model's distribution after temperature, top-k and top-p.

B sentences, n of them unfinished, W draws of each sentence, R = n * W rows, S source length, V vocabulary
"""

import hashlib

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from translator.config import SearchConfig
from translator.model.device import widest_float
from translator.search.constraints import Constraints
from translator.search.continuations import largest
from translator.search.hypothesis import FIRST_PRODUCED, Hypothesis
from translator.search.paths import ChooseTokens, follow_paths
from translator.search.search_model import SearchModel, State
from translator.special_tokens import PAD


def sample_hypotheses(
    model: SearchModel[State],
    source: Tensor,
    longest: Tensor,
    config: SearchConfig,
    count: int = 1,
    constraints: Constraints | None = None,
) -> list[list[Hypothesis]]:
    """Return `count` independent draws for each row of `source`, in the order of the rows, best first.

    The draws of a sentence depend only on its ids, the seed and the number of the draw, not on other rows.

    Args:
        model: a `Transformer` in evaluation mode, an `Ensemble`, or any other `SearchModel`.
        source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
        longest: (B,) int64, maximum output length in tokens, EOS included; at least 1.
        config: gives seed, temperature, `top_k`, `top_p`, and the length penalty.
        count: W, the draws of each sentence.
        constraints: what an output may not say; None forbids PAD, UNK and SOS.
    """
    choose = sampler(source, config, count, int(longest.max()))
    return follow_paths(model, source, longest, choose, config, count, constraints)


def sampler(source: Tensor, config: SearchConfig, draws: int, steps: int) -> ChooseTokens:
    """Return a function that draws the next tokens; see `ChooseTokens`.

    Args:
        source: (B, S) int64 ids.
        config: gives seed, temperature, `top_k` and `top_p`.
        draws: W, the draws of each sentence.
        steps: the maximum length of an output in tokens.
    """
    dtype = widest_float(source.device)
    noise = uniform_noise(source, config.seed, draws, steps).to(dtype)  # (B, W, steps)
    noise = noise.clamp(max=1 - torch.finfo(dtype).eps / 2)  # rounding to `dtype` may have given 1
    noise = noise.to(source.device)

    def draw(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
        # Sums in the order of ids: in the order of probabilities, rounding could swap neighbours and change the draw.
        sums = probabilities(logits, forbidden, config).cumsum(dim=1)  # (R, V)
        thresholds = noise[sentences, :, length - 1].view(-1, 1) * sums[:, -1:]  # (R, 1)
        tokens = torch.searchsorted(sums, thresholds, right=True).squeeze(1)  # (R,)
        return tokens.clamp(max=logits.size(1) - 1)  # out of range only if probabilities are NaN

    return draw


def probabilities(logits: Tensor, forbidden: Tensor | None, config: SearchConfig) -> Tensor:
    """Return the distribution (R, V) that tokens are drawn from; ties keep the lowest ids.

    Args:
        logits: (R, V) float32.
        forbidden: (R, V) bool, True = forbidden; None forbids PAD, UNK and SOS.
        config: temperature applies first, then `top_k` (Fan et al. 2018), then `top_p` (nucleus sampling, Holtzman
            et al. 2020 §3.1): the smallest set of most likely tokens whose probability reaches it.
    """
    dtype = widest_float(logits.device)
    if forbidden is None:
        logits = logits.clone()
        logits[:, :FIRST_PRODUCED] = -torch.inf
    else:
        logits = logits.masked_fill(forbidden, -torch.inf)

    # Temperature. The logits are at most 0, so that a low temperature causes no overflow.
    logits = (logits - logits.amax(dim=1, keepdim=True)) / config.temperature

    # Top-k.
    if config.top_k > 0:
        best = largest(logits, config.top_k)
        logits = torch.full_like(logits, -torch.inf).scatter(1, best.indices, best.values)

    # Top-p.
    if config.top_p < 1:
        sorted_logits, sorted_tokens = logits.sort(dim=1, descending=True, stable=True)
        sorted_probabilities = sorted_logits.softmax(dim=1, dtype=dtype)  # (R, V)
        before = sorted_probabilities.cumsum(dim=1) - sorted_probabilities  # probability of all more likely tokens
        nucleus = sorted_logits.masked_fill(before >= config.top_p, -torch.inf)
        logits = torch.full_like(logits, -torch.inf).scatter(1, sorted_tokens, nucleus)
    return logits.softmax(dim=1, dtype=dtype)


def uniform_noise(source: Tensor, seed: int, draws: int, steps: int) -> Tensor:
    """Return uniform noise (B, W, steps) float64, 0 ≤ u < 1, on the CPU.

    Each number depends only on the seed, the sentence's ids, the draw and the step, not on the batch. The key of a
    counter-based generator (Philox, Salmon et al. 2011) is made from the first three; its counter is the step.

    Args:
        source: (B, S) int64 ids, padded with PAD.
        draws: W, the draws of each sentence.
        steps: the numbers of each draw.
    """
    random_bits = np.zeros((len(source), draws, steps), np.uint64)
    for sentence, row in enumerate(source.cpu()):
        ids = _bytes_of(row[row != PAD].numpy())
        for draw in range(draws):
            digest = hashlib.blake2b(_bytes_of([seed, draw]) + ids, digest_size=16).digest()
            key = np.frombuffer(digest, "<u8").astype(np.uint64)
            random_bits[sentence, draw] = np.random.Philox(key=key).random_raw(steps)
    upper_bits = random_bits >> np.uint64(11)  # 53 bits, which a float64 holds exactly
    return torch.from_numpy(upper_bits.astype(np.float64) * 2.0**-53)


def _bytes_of(numbers: ArrayLike) -> bytes:
    """Return integers as little-endian bytes, the same on every machine."""
    return np.asarray(numbers, dtype="<i8").tobytes()
