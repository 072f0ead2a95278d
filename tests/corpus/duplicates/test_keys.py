"""Keys of texts, and what is found with them, against the plain way with Python sets."""

import hashlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.duplicates.keys import (
    KEY_BYTES,
    PairKeys,
    first_occurrences,
    folded_key,
    join_keys,
    keys_from_bytes,
    leaks,
    mix,
    text_key,
    whole_pairs,
)
from translator.corpus.normalize import fold

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)))


def keys_of(pairs: list[tuple[int, int]]) -> PairKeys:
    source, target = (np.array([pair[side] for pair in pairs], dtype=np.uint64) for side in (0, 1))
    return PairKeys(source, target)


def test_key_is_the_folded_text() -> None:
    assert text_key("Don't go!") == text_key("dont GO")
    assert text_key("I go") != text_key("I went")
    assert len(text_key("")) == KEY_BYTES


def test_key_of_a_text_that_is_folded_already() -> None:
    for text in ("Don't go!", "در باز است.", "?!", ""):
        assert folded_key(fold(text)) == text_key(text)


def test_key_never_changes() -> None:
    """Prepared data and hash splits of an earlier version depend on it."""
    assert text_key("The door is open.") == hashlib.blake2b(b"thedoorisopen", digest_size=8).digest()
    assert text_key("در باز است.") == hashlib.blake2b("دربازاست".encode(), digest_size=8).digest()


def test_keys_from_bytes_keep_their_order() -> None:
    texts = ["a", "b", "c"]
    keys = keys_from_bytes(b"".join(map(text_key, texts)), b"".join(map(text_key, reversed(texts))))
    assert keys.source.tolist() == keys.target.tolist()[::-1]
    assert keys.source.tobytes() == b"".join(map(text_key, texts))


@settings(deadline=None)
@given(PAIRS)
def test_first_occurrences(pairs: list[tuple[int, int]]) -> None:
    expected = [pair not in pairs[:index] for index, pair in enumerate(pairs)]
    assert first_occurrences(keys_of(pairs)).tolist() == expected


def test_whole_pairs_tell_the_sides_apart() -> None:
    keys = whole_pairs(keys_of([(1, 2), (2, 1), (1, 1), (2, 2), (1, 2)])).tolist()
    assert len(set(keys)) == 4
    assert keys[0] == keys[4]


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_leaks(pairs: list[tuple[int, int]], held_out: list[tuple[int, int]]) -> None:
    sources, targets = {pair[0] for pair in held_out}, {pair[1] for pair in held_out}
    by_source, by_target = leaks(keys_of(pairs), keys_of(held_out))
    assert by_source.tolist() == [pair[0] in sources for pair in pairs]
    assert by_target.tolist() == [pair[0] not in sources and pair[1] in targets for pair in pairs]


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_join(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    joined = join_keys([keys_of(first), keys_of(second)])
    assert list(zip(joined.source.tolist(), joined.target.tolist(), strict=True)) == first + second


def test_mix_is_splitmix64() -> None:
    """The first outputs of the published generator with seed 0."""
    assert [int(value) for value in mix(np.zeros(1, dtype=np.uint64), 0)] == [0xE220A8397B1DCDAF]
    assert [int(value) for value in mix(np.zeros(1, dtype=np.uint64), 1)] == [0x6E789E6AA1B965F4]


def test_mix_loses_nothing() -> None:
    values = np.arange(10_000, dtype=np.uint64)
    assert len(np.unique(mix(values, 7))) == len(values)
