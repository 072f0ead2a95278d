"""Spelling: typos are corrected to frequent words of the training text, and nothing else is changed."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator import Translator
from translator.data.augmentation import with_typos
from translator.errors import SubwordError
from translator.subword import SubwordPair, spelling
from translator.subword.spelling import FREQUENT, RARE, SpellingCorrector, count_words

FAR_APART = ("children", "beautiful", "window", "yesterday", "mountain")
COUNTS = dict.fromkeys(FAR_APART, FREQUENT) | {"invade": FREQUENT, "rare": RARE - 1, "teh": 1}


@given(st.sampled_from(FAR_APART), st.integers(0, 10**6), st.sampled_from([str.lower, str.upper, str.capitalize]))
def test_each_typo_of_the_robustness_test_is_corrected(word: str, seed: int, case: Callable[[str], str]) -> None:
    text = case(word)
    assert SpellingCorrector(COUNTS)(with_typos(text, 1.0, Random(seed))) == text


def test_no_neighbours_of_an_overlong_word_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_one_mistake_away", pytest.fail)
    text = "x" * (max(map(len, FAR_APART)) + 2)
    assert SpellingCorrector(COUNTS)(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "beautiful children",  # known
        "the chldrn",  # two mistakes
        "thildren",  # the first letter is taken to be right
        "rrae teh te",  # not frequent, known, and too short
        "ask Chidren there",  # a name
        "windows windowless invaded",  # endings of frequent words
        "childrem.py www.chidren.org chidren@x.org it's-chidren chidren() /chidren chidren2",
        "کودکان chidrenها",
    ],
)
def test_words_that_are_not_clear_typos_stay_unchanged(text: str) -> None:
    assert SpellingCorrector(COUNTS)(text) == text


def test_a_typo_is_corrected_to_the_most_frequent_candidate() -> None:
    counts = {"their": 90, "there": 99, "three": 80}
    assert SpellingCorrector(counts)("THEER is theer") == "THEER is there"
    assert SpellingCorrector(counts)("Theer, THERE") == "There, THERE"
    assert SpellingCorrector({})("theer") == "theer"
    for others, meant in ((0, "there"), (10**7, "theer")):
        assert SpellingCorrector({"there": FREQUENT - 1, "of": others})("theer") == meant


@given(st.lists(st.text("abAB 'é۱.", max_size=20), max_size=5))
def test_words_are_counted_in_lower_case(texts: list[str]) -> None:
    letters = "".join(character if character in "ab" else " " for character in " ".join(texts).lower())
    assert count_words(texts) == Counter(letters.split())


def test_a_run_corrects_spelling_by_its_saved_word_counts(trained: Path, tmp_path: Path) -> None:
    words = trained / "subword" / "words.tsv"
    word, count = next((one, int(n)) for one, n in (line.split("\t") for line in words.read_text().splitlines()))
    copy = tmp_path / "copy"
    shutil.copytree(trained, copy)
    (copy / "subword" / "words.tsv").write_text(f"elephants\t{FREQUENT}\n{word}\t{count}\n")
    texts = ["the elephnats sleep", "the elephants sleep"]
    read = [segment.ids for segment in Translator.load(copy).segments(texts)]
    as_typed = [
        segment.ids for segment in Translator.load(copy, overrides=["search.correct_spelling=false"]).segments(texts)
    ]
    assert read[0] == read[1] == as_typed[1] != as_typed[0]
    words_of_old_run = copy / "subword" / "words.tsv"
    words_of_old_run.write_text("elephants\n")
    with pytest.raises(SubwordError, match=r"words\.tsv is damaged"):
        SubwordPair.load(copy / "subword")
    words_of_old_run.unlink()
    assert [segment.ids for segment in Translator.load(copy).segments(texts)] == as_typed
