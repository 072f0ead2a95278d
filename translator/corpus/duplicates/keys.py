"""Exact duplicates and leaks, found on 8-byte keys of folded texts: vectorised, and 16 bytes of memory a pair."""

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.normalize import fold

Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

KEY_BYTES: Final = 8
SIDE_LEAK_RULES: Final = ("source_held_out", "target_held_out")
"""A pair that is dropped because its folded source, or else its folded target, stands in a split it must not know."""
NEAR_HELD_OUT: Final = "near_held_out"
"""A pair that is dropped because it nearly repeats one of a named test set."""
LEAK_RULES: Final = (*SIDE_LEAK_RULES, NEAR_HELD_OUT)


@dataclass(frozen=True)
class PairKeys:
    """Keys of the two sides of some pairs, in their order."""

    source: Keys
    target: Keys

    def __getitem__(self, chosen: Mask) -> "PairKeys":
        """Return the keys of the pairs that a boolean mask chooses."""
        return PairKeys(self.source[chosen], self.target[chosen])


def text_key(text: str) -> bytes:
    """Return the 8-byte key of a text: equal for texts that `fold` makes equal, and hardly ever for others."""
    return folded_key(fold(text))


def folded_key(folded: str) -> bytes:
    """Return what `text_key` does, of a text that has been through `fold` already."""
    return hashlib.blake2b(folded.encode("utf-8"), digest_size=KEY_BYTES).digest()


def keys_from_bytes(source: bytes | bytearray, target: bytes | bytearray) -> PairKeys:
    """Return the keys whose bytes were strung together with `text_key` or `folded_key`, as many on both sides."""
    return PairKeys(np.frombuffer(bytes(source), dtype="<u8"), np.frombuffer(bytes(target), dtype="<u8"))


def join_keys(parts: list[PairKeys]) -> PairKeys:
    """Return the keys of several lists of pairs, one after another."""
    nothing = np.empty(0, dtype=np.uint64)
    return PairKeys(
        np.concatenate([nothing, *(part.source for part in parts)]),
        np.concatenate([nothing, *(part.target for part in parts)]),
    )


def mix(values: Keys, seed: int) -> Keys:
    """Return `values` scrambled by `seed`: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), a bijection."""
    scrambled = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF)
    scrambled = (scrambled ^ (scrambled >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    scrambled = (scrambled ^ (scrambled >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return scrambled ^ (scrambled >> np.uint64(31))


def whole_pairs(keys: PairKeys) -> Keys:
    """Return one key for the two sides of each pair."""
    return mix(keys.source, 0) ^ keys.target  # scrambled on one side, so that a pair of equal sides is nothing special


def first_occurrences(keys: PairKeys) -> Mask:
    """Say of each pair whether it is the first with its two sides."""
    first = np.zeros(len(keys.source), dtype=np.bool_)
    first[np.unique(whole_pairs(keys), return_index=True)[1]] = True
    return first


def leaks(keys: PairKeys, held_out: PairKeys) -> tuple[Mask, Mask]:
    """Say of each pair whether its source, and else whether its target, is one of those `held_out`."""
    source = np.isin(keys.source, held_out.source)
    return source, np.isin(keys.target, held_out.target) & ~source
