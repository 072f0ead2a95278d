"""Sampling: each token is drawn at random from the model's distribution, sharpened and cut off as the settings say.

B batch, n sentences still being searched, W draws for each, R = n * W rows, S source length, V vocabulary
"""

import hashlib
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from translator.config import SearchConfig
from translator.model.device import widest_float
from translator.search.hypothesis import FIRST_PRODUCED
from translator.search.scoring import largest
from translator.special_tokens import PAD

Choose = Callable[[Tensor, Tensor | None, Tensor, int], Tensor]
"""Picks the next tokens (R,) int64, from: logits (R, V) float32; (R, V) bool, True = may not follow, or None to forbid
PAD, UNK and SOS; (n,) int64 numbers of the sentences of the rows, W rows for each; and tokens of a path with this one.
"""


def sampler(source: Tensor, config: SearchConfig, draws: int, steps: int) -> Choose:
    """Return what draws the next tokens, for `draws` paths of at most `steps` tokens for each row of `source` (B, S).

    What is drawn for a sentence depends on its ids, the seed and the number of the draw, and on no other row.
    """
    number = widest_float(source.device)
    noise = uniform_noise(source, config.seed, draws, steps).to(number).clamp(max=1 - torch.finfo(number).eps / 2)
    noise = noise.to(source.device)  # (B, W, steps)

    def draw(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
        # In the order of ids, not of probabilities: rounding can swap neighbours in the latter, and move a draw far.
        sums = probabilities(logits, forbidden, config).cumsum(dim=1)  # (R, V)
        wanted = noise[sentences, :, length - 1].view(-1, 1) * sums[:, -1:]  # (R, 1)
        places = torch.searchsorted(sums, wanted, right=True).squeeze(1)
        return places.clamp(max=logits.size(1) - 1)  # beyond the last only where probabilities are NaN

    return draw


def probabilities(logits: Tensor, forbidden: Tensor | None, config: SearchConfig) -> Tensor:
    """Return the distribution (R, V) that tokens are drawn from, for logits (R, V) float32; see `Choose`.

    Temperature comes first, then `top_k` (Fan et al. 2018), then `top_p` (nucleus sampling, Holtzman et al. 2020 §3.1):
    the fewest of the likeliest tokens whose probabilities reach it, at least one. Of equal tokens the lowest ids stay.
    """
    if forbidden is None:
        logits = logits.clone()
        logits[:, :FIRST_PRODUCED] = -torch.inf
    else:
        logits = logits.masked_fill(forbidden, -torch.inf)
    logits = (logits - logits.amax(dim=1, keepdim=True)) / config.temperature  # at most 0: nothing can overflow
    if config.top_k:
        best, tokens = largest(logits, config.top_k)
        logits = torch.full_like(logits, -torch.inf).scatter(1, tokens, best)
    if config.top_p < 1:
        ordered, tokens = logits.sort(dim=1, descending=True, stable=True)
        shares = ordered.softmax(dim=1, dtype=widest_float(logits.device))
        before = shares.cumsum(dim=1) - shares  # (R, V) probability of all that are likelier
        nucleus = ordered.masked_fill(before >= config.top_p, -torch.inf)
        logits = torch.full_like(logits, -torch.inf).scatter(1, tokens, nucleus)
    return logits.softmax(dim=1, dtype=widest_float(logits.device))


def uniform_noise(source: Tensor, seed: int, draws: int, steps: int) -> Tensor:
    """Return (B, draws, steps) float64 numbers, uniform over 0 ≤ u < 1, on the CPU.

    Each depends only on the seed, the ids of its sentence, its draw and its step, not on the batch: a counter-based
    generator (Philox, Salmon et al. 2011) gets its key from the first three and counts the steps.
    """
    bits = np.zeros((len(source), draws, steps), np.uint64)
    for number, row in enumerate(source.cpu()):
        ids = row[row != PAD].numpy().astype("<i8").tobytes()
        for draw in range(draws):
            prefix = np.array([seed, draw], dtype="<i8").tobytes()
            key = hashlib.blake2b(prefix + ids, digest_size=16).digest()
            bits[number, draw] = np.random.Philox(key=np.frombuffer(key, "<u8").astype(np.uint64)).random_raw(steps)
    # The upper 53 bits: as many as a float64 holds exactly.
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
