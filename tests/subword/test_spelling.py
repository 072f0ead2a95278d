"""Spelling: typos are corrected to frequent words of the training text, and nothing else is changed."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.data.augmentation import with_typos
from translator.subword import spelling
from translator.subword.spelling import FREQUENT, RARE, SpellingCorrector

FAR_APART = ("children", "beautiful", "window", "yesterday", "mountain")
COUNTS = dict.fromkeys(FAR_APART, FREQUENT) | {"invade": FREQUENT, "rare": RARE - 1, "teh": 1}
NAMES = Path(__file__).with_name("names.txt").read_text().split()
CODE_LIKE = (
    "https://example.org/?q={0}",
    "http://{0}.example/{0}",
    "www.{0}.org",
    "{0}@example.org",
    "/home/{0}/.config",
    "~/{0}",
    "C:\\Users\\{0}",
    "./{0}.py",
    "open {0}.txt now",
    "#{0}",
    "@{0}",
    "${0}",
    "echo ${{{0}}}",
    "--{0}=5",
    "ls -l {0}",
    "{0} = {0} + {0}",
    "if ({0} == 5) return",
    "print({0})",
    "the {0}_{0} field",
    "self.{0}",
    "std::{0}",
    "<{0}>{0}</{0}>",
    '{{"{0}": "{0}"}}',
    "run `git {0}` first",
    'the key "{0}"',
)
MISTYPED = [
    "chidren",
    "chlidren",
    "childen",
    "chilren",
    "childrem",
    "beautful",
    "beatuiful",
    "beautifull",
    "beautiul",
    "beaitiful",
    "windwo",
    "widnow",
    "wimdow",
    "winodw",
    "yesteday",
    "yestreday",
    "yesterdya",
    "moutain",
    "mountan",
    "mounatin",
]


@given(st.sampled_from(FAR_APART), st.integers(0, 10**6), st.sampled_from(["{}", "It: {}!", '"a {}," (b)', "a—{}…"]))
def test_each_typo_of_the_robustness_test_is_corrected(word: str, seed: int, place: str) -> None:
    mistyped = with_typos(word, 1.0, Random(seed))
    assert SpellingCorrector(COUNTS)(place.format(mistyped)) == place.format(word)


@pytest.mark.parametrize("place", ["{} is it.", '"{}, it is I!"', "I am {}.", "IT IS {}."])
def test_no_name_is_corrected(place: str) -> None:
    assert len(set(NAMES)) == 500
    # Each name is one letter away from a frequent word.
    frequent_words = [f"{name}x".lower() for name in NAMES]
    correct = SpellingCorrector(dict.fromkeys(frequent_words, FREQUENT))
    assert correct("mina") == "minax"

    names = [name.upper() if place.isupper() else name for name in NAMES]
    texts = [place.format(name) for name in names]
    assert [correct(text) for text in texts] == texts


def test_mistyped_words_are_corrected_outside_code() -> None:
    assert {SpellingCorrector(COUNTS)(word) for word in MISTYPED} == set(FAR_APART)


def test_no_part_of_code_is_corrected() -> None:
    correct = SpellingCorrector(COUNTS)
    texts = [form.format(word) for form in CODE_LIKE for word in MISTYPED]
    assert len(set(texts)) == 500
    assert [correct(text) for text in texts] == texts


def test_no_neighbours_of_an_overlong_word_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_one_slip_away", pytest.fail)
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
        "Chidren play",  # possibly a name
        "childken xchildren",  # no slip of a finger
        "windows windowless invaded",  # endings of frequent words
        "childrem.py www.chidren.org chidren@x.org it's-chidren chidren() /chidren chidren2",
        "کودکان chidrenها",
    ],
)
def test_words_that_are_not_clear_typos_stay_unchanged(text: str) -> None:
    assert SpellingCorrector(COUNTS)(text) == text


@pytest.mark.parametrize(("other_words", "corrected"), [(0, "there"), (10**7, "theer")])
def test_a_correction_needs_to_be_more_frequent_in_a_larger_text(other_words: int, corrected: str) -> None:
    counts = {"there": FREQUENT - 1, "of": other_words}
    assert SpellingCorrector(counts)("theer") == corrected


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("Thsi is it.", "This is it."), ("Wheere, Thsi", "Where, Thsi"), ("Thea is it", "Thea is it"), ("THSI", "THSI")],
)
def test_a_capitalized_word_is_corrected_only_to_a_word_that_opens_a_sentence(typed: str, meant: str) -> None:
    counts = dict.fromkeys(("this", "where", "then", "they"), FREQUENT)
    assert SpellingCorrector(counts)(typed) == meant


def test_another_vowel_is_corrected_in_a_long_word_only() -> None:
    counts = dict.fromkeys(("separate", "rose"), FREQUENT)
    assert SpellingCorrector(counts)("seperate rosa") == "separate rosa"
