"""Detection of exact repetitions by 8-byte keys of folded texts, with 16 bytes of memory per pair."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Keys = NDArray[np.uint64]  # (N, 2): for each pair, the keys of its English and of its Persian side
Mask = NDArray[np.bool_]  # (N,) whether each of N pairs is chosen
Numbers = NDArray[np.int64]


def pair_keys(folded: Iterable[tuple[str, str]]) -> Keys:
    """Return the keys (N, 2) of N folded pairs. Equal texts have equal keys; different texts almost never do."""
    digests: list[bytes] = []
    for pair in folded:
        for text in pair:
            digests.append(hashlib.blake2b(text.encode(), digest_size=8).digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def scrambled(values: Hashes, seed: int) -> Hashes:
    """Return `values` scrambled by `seed`: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), a bijection."""
    scrambled = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF)
    scrambled = (scrambled ^ (scrambled >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    scrambled = (scrambled ^ (scrambled >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return scrambled ^ (scrambled >> np.uint64(31))


def whole_pairs(keys: Keys) -> Hashes:
    """Return one key (N,) for both sides of each pair."""
    return scrambled(keys[:, 0], 0) ^ keys[:, 1]  # one side is scrambled, so that equal sides do not cancel out


def beyond_cap(keys: Hashes, cap: int) -> Mask:
    """Return for each key (N,) whether at least `cap` earlier ones are equal."""
    order = np.argsort(keys, kind="stable")  # equal keys keep their order
    ordered_keys = keys[order]
    # A key is beyond the cap if the one `cap` places before it, in this order, is equal.
    is_beyond = np.zeros(len(keys), dtype=np.bool_)
    is_beyond[order[cap:]] = ordered_keys[cap:] == ordered_keys[: max(0, len(keys) - cap)]
    return is_beyond
