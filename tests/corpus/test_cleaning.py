"""A chunk of pairs is cleaned on its own, and where chunks begin and end changes nothing."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import FilterConfig, NormalizationConfig
from translator.corpus import cleaning
from translator.corpus.cleaning import Chunk, CleanChunk, Cleaner, chunks_of
from translator.corpus.duplicates import text_key
from translator.corpus.sources import Pair

CLEANER = Cleaner(NormalizationConfig(), FilterConfig())
TEXT = st.text(st.sampled_from("ab یكک\u200c\u2028\x85\r\x0b .,،۱2"), max_size=12)


def chunks(pairs: Iterable[Pair], filtered: bool = True) -> list[Chunk]:
    return list(chunks_of(iter(pairs), 7, "book", filtered))


def english_lines(cleaned: CleanChunk) -> list[str]:
    return cleaned.normalized[0].decode().split("\n")[:-1]


def test_good_pairs_are_kept_normalized_and_raw() -> None:
    (chunk,) = chunks([Pair(3, "Yes , it is .", "بله ، كتاب ."), Pair(4, "", "خالی"), Pair(5, "No.", "نه.")])
    cleaned = CLEANER(chunk)
    assert (cleaned.number, cleaned.read, cleaned.dropped) == (7, 3, Counter(empty=1))
    assert cleaned.lines.tolist() == [3, 5]
    assert cleaned.normalized == (b"Yes, it is.\nNo.\n", "بله، کتاب.\nنه.\n".encode())
    assert cleaned.raw == (b"Yes , it is .\nNo.\n", "بله ، كتاب .\nنه.\n".encode())
    assert cleaned.keys == (text_key("yes it is") + text_key("no"), text_key("بله کتاب") + text_key("نه"))
    assert cleaned.folded.texts == ["yesitis|بلهکتاب", "no|نه"]
    (example,) = cleaned.examples.chosen()["empty"]
    assert (example.line, example.source, example.target) == (4, "", "خالی")


def test_a_test_set_loses_its_empty_pairs_only() -> None:
    pairs = [Pair(1, "English", "English"), Pair(2, " ", "x"), Pair(3, "", "", "invalid_utf8")]
    (chunk,) = chunks(pairs, filtered=False)
    cleaned = CLEANER(chunk)
    assert english_lines(cleaned) == ["English"]
    assert cleaned.dropped == Counter(empty=1, invalid_utf8=1)


def test_defects_are_counted() -> None:
    pairs = [Pair(1, "", "", "invalid_utf8"), Pair(2, "", "", "line_too_long"), Pair(3, "", "", "invalid_utf8")]
    (chunk,) = chunks(pairs)
    cleaned = CLEANER(chunk)
    assert (cleaned.read, cleaned.dropped) == (3, Counter(invalid_utf8=2, line_too_long=1))
    assert [example.line for example in cleaned.examples.chosen()["invalid_utf8"]] == [1, 3]
    assert cleaned.normalized == (b"", b"")
    assert len(cleaned.lines) == len(cleaned.folded.texts) == 0


def test_chunks_end_by_pairs_and_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "_PAIRS", 3)
    monkeypatch.setattr(cleaning, "_CHARACTERS", 10)
    pairs = [Pair(line, "a" * size, "b") for line, size in enumerate([1, 1, 1, 20, 1, 7, 4], start=1)]
    assert [chunk.lines for chunk in chunks(pairs)] == [[1, 2, 3], [4], [5, 6], [7]]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=12), st.integers(1, 5))
def test_chunking_changes_nothing(texts: list[tuple[str, str]], size: int) -> None:
    pairs = [Pair(line, source, target) for line, (source, target) in enumerate(texts, start=1)]
    (whole,) = (CLEANER(chunk) for chunk in chunks(pairs))
    parts = [CLEANER(chunk) for start in range(0, len(pairs), size) for chunk in chunks(pairs[start : start + size])]
    assert sum((part.dropped for part in parts), Counter()) == whole.dropped
    for side in (0, 1):
        assert b"".join(part.normalized[side] for part in parts) == whole.normalized[side]
        assert b"".join(part.raw[side] for part in parts) == whole.raw[side]
        assert b"".join(part.keys[side] for part in parts) == whole.keys[side]
    assert np.concatenate([part.folded.bands for part in parts]).tolist() == whole.folded.bands.tolist()
    merged = parts[0].examples
    for part in parts[1:]:
        merged.merge(part.examples)
    assert merged.chosen() == whole.examples.chosen()
    assert len(whole.lines) == whole.normalized[0].count(b"\n") == whole.raw[1].count(b"\n")
