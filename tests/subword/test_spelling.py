"""Spelling: typos are corrected to frequent words of the training text, and nothing else is changed."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from translator.data.augmentation import with_typos
from translator.errors import SubwordError
from translator.subword import spelling
from translator.subword.model import read_word_counts
from translator.subword.spelling import FREQUENT, RARE, SpellingCorrector, count_words, write_word_counts

FAR_APART = ("children", "beautiful", "window", "yesterday", "mountain")
COUNTS = dict.fromkeys(FAR_APART, FREQUENT) | {"invade": FREQUENT, "rare": RARE - 1, "teh": 1}
NAMES = Path(__file__).with_name("names.txt").read_text().split()
EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))


@given(st.sampled_from(FAR_APART), st.integers(0, 10**6), st.sampled_from(["{}", "It: {}!", '"a {}," (b)', "a—{}…"]))
def test_each_typo_of_the_robustness_test_is_corrected(word: str, seed: int, place: str) -> None:
    mistyped = with_typos(word, 1.0, Random(seed))
    assert SpellingCorrector(COUNTS)(place.format(mistyped)) == place.format(word)


@pytest.mark.parametrize("place", ["{} is it.", '"{}, it is I!"', "I am {}.", "IT IS {}."])
def test_no_name_is_corrected(place: str) -> None:
    # Each name is one letter away from a frequent word.
    frequent_words = [f"{name}x".lower() for name in NAMES]
    correct = SpellingCorrector(dict.fromkeys(frequent_words, FREQUENT))
    assert correct("mina") == "minax"

    names = [name.upper() if place.isupper() else name for name in NAMES]
    texts = [place.format(name) for name in names]
    assert [correct(text) for text in texts] == texts


@pytest.mark.parametrize("text", EXAMPLES["uncorrected"])
def test_what_is_no_clear_typing_error_stays_unchanged(text: str) -> None:
    assert SpellingCorrector(COUNTS)(text) == text


@pytest.mark.parametrize(("other_words", "corrected"), [(0, "there"), (10**7, "theer")])
def test_a_correction_needs_to_be_more_frequent_in_a_larger_text(other_words: int, corrected: str) -> None:
    counts = {"there": FREQUENT - 1, "of": other_words}
    assert SpellingCorrector(counts)("theer") == corrected


@pytest.mark.parametrize(("typed", "meant"), EXAMPLES["capitalized"])
def test_a_capitalized_word_is_corrected_only_to_a_word_that_opens_a_sentence(typed: str, meant: str) -> None:
    counts = dict.fromkeys(("this", "where", "then", "they"), FREQUENT)
    assert SpellingCorrector(counts)(typed) == meant


def test_another_vowel_is_corrected_in_a_long_word_only() -> None:
    counts = dict.fromkeys(("separate", "rose"), FREQUENT)
    assert SpellingCorrector(counts)("seperate rosa") == "separate rosa"


# --- the words of the training text ---


@given(st.lists(st.text("abAB 'é۱.", max_size=20), max_size=5))
def test_words_are_counted_in_lower_case(texts: list[str]) -> None:
    lower_case_text = " ".join(texts).lower()
    assert count_words(texts) == Counter(re.findall("[ab]+", lower_case_text))


def test_the_most_frequent_words_are_written_first_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling, "_MAX_STORED_WORDS", 2)
    file = tmp_path / "words.tsv"
    write_word_counts(file, {"rare": 1, "of": 3, "a": 3})
    assert file.read_text() == "a\t3\nof\t3\n"
    assert read_word_counts(file) == {"a": 3, "of": 3}


def test_a_damaged_file_of_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("elephants\n")
    with pytest.raises(SubwordError, match=r"words\.tsv is damaged"):
        read_word_counts(tmp_path / "words.tsv")
