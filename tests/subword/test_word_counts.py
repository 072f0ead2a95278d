"""The words of the training text with their counts, in memory and in their file."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.errors import SubwordError
from translator.subword import spelling
from translator.subword.model import read_word_counts
from translator.subword.spelling import count_words, write_word_counts


@given(st.lists(st.text("abAB 'é۱.", max_size=20), max_size=5))
def test_words_are_counted_in_lower_case(texts: list[str]) -> None:
    lower_case_text = " ".join(texts).lower()
    latin_words = re.findall("[ab]+", lower_case_text)
    assert count_words(texts) == Counter(latin_words)


def test_written_counts_are_read_back(tmp_path: Path) -> None:
    counts = {"the": 9, "a": 3, "of": 3}
    write_word_counts(tmp_path / "words.tsv", counts)
    assert read_word_counts(tmp_path / "words.tsv") == counts


def test_the_most_frequent_words_are_written_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_MAX_STORED_WORDS", 2)
    write_word_counts(tmp_path / "words.tsv", {"rare": 1, "of": 3, "a": 3})
    assert (tmp_path / "words.tsv").read_text() == "a\t3\nof\t3\n"


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("elephants\n")
    with pytest.raises(SubwordError, match=r"words\.tsv is damaged"):
        read_word_counts(tmp_path / "words.tsv")
