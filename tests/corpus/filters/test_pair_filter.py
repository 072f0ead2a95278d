"""All filters together: an example for each, its switch, the order in which they are counted, any text at all."""

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import FilterConfig, NormalizationConfig, SourceConfig
from translator.corpus.filters import FILTER_RULES, MEANINGS, PairFilter
from translator.corpus.filters.rules import PAIR_RULES
from translator.corpus.normalize import Normalizer
from translator.corpus.sources import read_pairs

SHARED = Path("../shared/data")
SAMPLE = Path("data/sample")

DROPPED = {
    "replacement_character": ("The caf\ufffd is open.", "کافه باز است."),
    "too_many_words": ("a " * 100 + "a", "در " * 100 + "باز"),
    "too_many_characters": ("a" * 1001, "ب" * 1000),
    "length_ratio": ("He was standing at the window again.", "او بود."),
    "word_ratio": ("He is a man who may be at home or may be not", "مرد‌درخانه‌شاید‌باشد یانه"),
    "source_script": ("дом и сад", "خانه و باغ"),
    "target_script": ("The door", "The door"),
    "arabic": ("I do not know who wrote this book.", "لا أعرف من کتب هذا الکتاب."),
    "untranslated": ("He opened the door", "He opened the door او در را باز کرد و سپس از خانه رفت"),
    "numbers": ("Chapter 12", "فصل ۲۱"),
    "markup": ("See http://example.org/a/long/address", "این نشانی بلند را ببینید: دکمه"),
    "repetition": (
        "he went in and he went in and he went in and",
        "او رفت تو و او رفت تو و او رفت تو و او رفت تو و",
    ),
}
"""For each rule but `empty`, a pair that breaks it and no rule before it."""
SWITCHES = {
    "replacement_character": FilterConfig(replacement_character=False),
    "too_many_words": FilterConfig(max_words=None),
    "too_many_characters": FilterConfig(max_characters=None),
    "length_ratio": FilterConfig(max_length_ratio=None),
    "word_ratio": FilterConfig(max_word_ratio=None),
    "source_script": FilterConfig(min_source_script=None),
    "target_script": FilterConfig(min_target_script=None),
    "arabic": FilterConfig(max_arabic=None),
    "untranslated": FilterConfig(max_untranslated=None),
    "numbers": FilterConfig(min_number_agreement=None),
    "markup": FilterConfig(max_markup=None),
    "repetition": FilterConfig(max_repetition=None),
}
TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="aب ال۱2.،<>@&;{}()/\\_\u200c\ufffd", max_size=80),
    st.lists(st.sampled_from(["the", "12", "۱۲", "در", "هذا", "www.x.y", "<b>", "http://x"]), max_size=40).map(
        " ".join
    ),
)


def test_an_example_for_every_rule() -> None:
    assert {"empty", *DROPPED} == {"empty", *SWITCHES} == set(PAIR_RULES)


@pytest.mark.parametrize("rule", DROPPED)
def test_a_rule_drops_its_example_and_can_be_switched_off(rule: str) -> None:
    assert PairFilter(FilterConfig()).broken_rule(*DROPPED[rule]) == rule
    assert PairFilter(SWITCHES[rule]).broken_rule(*DROPPED[rule]) != rule


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The door is open.", "در باز است."),
        ("He saw her on May 12, 1990.", "او را در ۱۲ مه ۱۹۹۰ دید."),
        ("In the beginning God created the heaven and the earth.", "در ابتدا، خدا آسمانها و زمین را آفرید."),
        ("1999", "۱۹۹۹"),
        ("é ñ", "آب"),
    ],
)
def test_good_pairs_stay(source: str, target: str) -> None:
    assert PairFilter(FilterConfig()).broken_rule(source, target) is None


def test_every_filter_but_empty_can_be_switched_off() -> None:
    nothing = PairFilter(
        FilterConfig(
            replacement_character=False,
            max_words=None,
            max_characters=None,
            max_length_ratio=None,
            max_word_ratio=None,
            min_source_script=None,
            min_target_script=None,
            max_arabic=None,
            max_untranslated=None,
            min_number_agreement=None,
            max_markup=None,
            max_repetition=None,
        )
    )
    assert nothing.broken_rule("متن " * 2000, "x") is None
    assert all(nothing.broken_rule(*pair) is None for pair in DROPPED.values())
    assert nothing.broken_rule("", "x") == "empty"


def test_the_first_broken_rule_counts() -> None:
    everything = " ".join(itertools.chain(*DROPPED.values()))
    assert PairFilter(FilterConfig()).broken_rule(everything, everything) == "replacement_character"
    assert PairFilter(FilterConfig()).broken_rule("Chapter 12 www.example.org", "فصل زیبای ۲۱") == "numbers"


def test_rules_have_names_of_their_own_and_meanings() -> None:
    assert len(set(FILTER_RULES)) == len(FILTER_RULES) == 19
    assert FILTER_RULES[:3] == ("invalid_utf8", "line_too_long", "empty")
    assert FILTER_RULES[-4:] == ("duplicate", "near_duplicate", "same_source", "same_target")
    assert {*FILTER_RULES, "source_held_out", "target_held_out"} <= set(MEANINGS)
    assert all(meaning.endswith(".") for meaning in MEANINGS.values())


@settings(max_examples=300, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_any_text_has_an_answer_of_its_own(source: str, target: str, other: str) -> None:
    pair_filter = PairFilter(FilterConfig())
    rule = pair_filter.broken_rule(source, target)
    assert rule is None or rule in PAIR_RULES
    pair_filter.broken_rule(other, target)
    pair_filter.broken_rule(source, other)
    assert pair_filter.broken_rule(source, target) == rule


HOSTILE = {
    "one word": "a",
    "spaces": " ",
    "address": "a.b@",
    "at signs": "a@",
    "open tags": "<a ",
    "open calls": "a(",
    "brackets": "[[{{",
    "entities": "&a",
    "digits": "1",
    "thousands": "1,000, ",
    "many numbers": "{0} ",
    "list": "(*-#",
    "words": "ha ",
    "marks": "\u064b",
    "arabic": "ال",
    "endings": "کةا",
    "letters of several scripts": "aبд",
    "half-spaces": "می\u200c",
    "long loop": "a b c d e f g h i j k l m n o p ",
}


@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE)
def test_time_grows_with_the_text_not_with_its_square(part: str) -> None:
    everything = PairFilter(FilterConfig(max_words=None, max_characters=None, min_target_script=1.0))

    def seconds(size: int) -> float:
        source = "".join(part.replace("{0}", str(number)) for number in range(size // len(part)))
        target = "آب " + source + "۹"
        times = []
        for _ in range(3):
            start = time.process_time()
            everything.broken_rule(source, target)
            times.append(time.process_time() - start)
        return min(times)

    # A square would be 400 times as much. Below a millisecond the clock measures nothing.
    assert seconds(100_000) <= 50 * max(seconds(5_000), 0.001)


@pytest.mark.skipif(not SHARED.exists(), reason="the real corpora are not in ../shared/data")
def test_clean_mizan_passes() -> None:
    assert share_kept(SourceConfig(name="mizan", path=str(SHARED / "mizan.zip"))) >= 0.97


@pytest.mark.parametrize("name", ["train.tsv", "validation.tsv", "test.tsv"])
def test_the_sample_passes_whole(name: str) -> None:
    assert share_kept(SourceConfig(name="sample", path=str(SAMPLE / name))) == 1.0


def share_kept(source: SourceConfig) -> float:
    normalizer, pair_filter = Normalizer(NormalizationConfig()), PairFilter(FilterConfig())
    pairs = list(itertools.islice(read_pairs(source), 5000))
    return sum(
        pair_filter.broken_rule(normalizer.source(pair.source), normalizer.target(pair.target)) is None
        for pair in pairs
    ) / len(pairs)
