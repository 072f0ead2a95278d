"""Random numbers of sampling that belong to a sentence, not to the batch it stands in.

B batch, S source length
"""

import hashlib

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.special_tokens import PAD


def uniform_noise(source: Tensor, seed: int, draws: int, steps: int) -> Tensor:
    """Return (B, draws, steps) float64 numbers, uniform over 0 ≤ u < 1, on the CPU.

    Each depends only on the seed, the ids of its sentence, its draw and its step: a counter-based generator (Philox,
    Salmon et al. 2011) gets its key from the first three and counts the steps.

    Args:
        source: (B, S) int64 ids, filled with PAD.
        seed: of all.
        draws: sequences wanted for each sentence.
        steps: numbers wanted for each of them.
    """
    rows = [row[row != PAD].numpy().astype("<i8").tobytes() for row in source.cpu()]
    numbers = [[_sequence(row, seed, draw, steps) for draw in range(draws)] for row in rows]
    return torch.from_numpy(np.array(numbers, dtype=np.float64).reshape(len(rows), draws, steps))


def _sequence(sentence: bytes, seed: int, draw: int, steps: int) -> npt.NDArray[np.float64]:
    """Return the numbers of one draw."""
    prefix = np.array([seed, draw], dtype="<i8").tobytes()
    key = hashlib.blake2b(prefix + sentence, digest_size=16).digest()
    bits = np.random.Philox(key=np.frombuffer(key, dtype="<u8").astype(np.uint64)).random_raw(steps)
    # The upper 53 bits: as many as a float64 holds exactly.
    return (np.asarray(bits, dtype=np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
