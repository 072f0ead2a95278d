"""Sampling: draws each token from the model's distribution after temperature, top-k and top-p.

B batch, n unfinished sentences, W draws per sentence, R = n * W rows, S source length, V vocabulary
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
"""Picks the next tokens (R,) int64. Arguments: logits (R, V) float32; mask (R, V) bool, True = forbidden, or None to
forbid PAD, UNK and SOS; sentence indices (n,) int64, W rows for each; path length in tokens, this one included.
"""


def sampler(source: Tensor, config: SearchConfig, draws: int, steps: int) -> Choose:
    """Return a function that draws the next tokens: `draws` paths of at most `steps` tokens per row of `source` (B, S).

    The draws of a sentence depend only on its ids, the seed and the number of the draw, not on other rows.
    """
    number = widest_float(source.device)
    noise = uniform_noise(source, config.seed, draws, steps).to(number).clamp(max=1 - torch.finfo(number).eps / 2)
    noise = noise.to(source.device)  # (B, W, steps)

    def draw(logits: Tensor, forbidden: Tensor | None, sentences: Tensor, length: int) -> Tensor:
        # Sums in the order of ids: in the order of probabilities, rounding could swap neighbours and change the draw.
        sums = probabilities(logits, forbidden, config).cumsum(dim=1)  # (R, V)
        wanted = noise[sentences, :, length - 1].view(-1, 1) * sums[:, -1:]  # (R, 1)
        places = torch.searchsorted(sums, wanted, right=True).squeeze(1)
        return places.clamp(max=logits.size(1) - 1)  # out of range only if probabilities are NaN

    return draw


def probabilities(logits: Tensor, forbidden: Tensor | None, config: SearchConfig) -> Tensor:
    """Return the distribution (R, V) that tokens are drawn from, for logits (R, V) float32; see `Choose`.

    Temperature applies first, then `top_k` (Fan et al. 2018), then `top_p` (nucleus sampling, Holtzman et al. 2020
    §3.1): the smallest set of most likely tokens whose probability reaches it. Ties keep the lowest ids.
    """
    if forbidden is None:
        logits = logits.clone()
        logits[:, :FIRST_PRODUCED] = -torch.inf
    else:
        logits = logits.masked_fill(forbidden, -torch.inf)
    logits = (logits - logits.amax(dim=1, keepdim=True)) / config.temperature  # at most 0, so no overflow
    if config.top_k:
        best, tokens = largest(logits, config.top_k)
        logits = torch.full_like(logits, -torch.inf).scatter(1, tokens, best)
    if config.top_p < 1:
        ordered, tokens = logits.sort(dim=1, descending=True, stable=True)
        shares = ordered.softmax(dim=1, dtype=widest_float(logits.device))
        before = shares.cumsum(dim=1) - shares  # (R, V) probability of all more likely tokens
        nucleus = ordered.masked_fill(before >= config.top_p, -torch.inf)
        logits = torch.full_like(logits, -torch.inf).scatter(1, tokens, nucleus)
    return logits.softmax(dim=1, dtype=widest_float(logits.device))


def uniform_noise(source: Tensor, seed: int, draws: int, steps: int) -> Tensor:
    """Return uniform noise (B, draws, steps) float64, 0 ≤ u < 1, on the CPU.

    Each number depends only on the seed, the sentence's ids, the draw and the step, not on the batch. The key of a
    counter-based generator (Philox, Salmon et al. 2011) is made from the first three; its counter is the step.
    """
    bits = np.zeros((len(source), draws, steps), np.uint64)
    for number, row in enumerate(source.cpu()):
        ids = row[row != PAD].numpy().astype("<i8").tobytes()
        for draw in range(draws):
            prefix = np.array([seed, draw], dtype="<i8").tobytes()
            key = hashlib.blake2b(prefix + ids, digest_size=16).digest()
            bits[number, draw] = np.random.Philox(key=np.frombuffer(key, "<u8").astype(np.uint64)).random_raw(steps)
    # The upper 53 bits, which a float64 holds exactly.
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
