"""Each filter, its edge, its switch, and the order in which they are counted."""

import itertools
from pathlib import Path

import pytest

from translator.config import FilterConfig, NormalizationConfig, SourceConfig
from translator.corpus.filters import FILTER_RULES, PairFilter
from translator.corpus.normalize import Normalizer
from translator.corpus.sources import read_pairs

MIZAN = Path("../shared/data/mizan.zip")


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("The door is open.", "در باز است.", None),
        ("", "در باز است.", "empty"),
        ("The door", "", "empty"),
        (" ", "در", "empty"),
        ("a " * 100 + "a", "در " * 100 + "باز", "too_many_words"),
        ("a " * 99 + "a", "در " * 99 + "باز", None),
        ("a" * 1001, "ب" * 1000, "too_many_characters"),
        ("a" * 1000, "ب" * 1000, None),
        ("a" * 20, "ب" * 5, None),
        ("a" * 20, "ب" * 4, "length_ratio"),
        ("a" * 4, "ب" * 20, "length_ratio"),
        ("a" * 19, "ب", None),
        ("дом и сад", "خانه و باغ", "source_script"),
        ("дом home", "خانه و باغ", None),
        ("در باز است.", "The door is open.", "source_script"),
        ("The door", "The door", "target_script"),
        ("HTML", "HTML‌های", "target_script"),
        ("HTML", "زبان‌های HTML", None),
        ("1999", "۱۹۹۹", None),
        ("é ñ", "آب", None),
    ],
)
def test_first_broken_rule(source: str, target: str, rule: str | None) -> None:
    assert PairFilter(FilterConfig()).broken_rule(source, target) == rule


def test_every_filter_but_empty_can_be_switched_off() -> None:
    nothing = PairFilter(
        FilterConfig(
            max_words=None,
            max_characters=None,
            max_length_ratio=None,
            min_source_script=None,
            min_target_script=None,
            duplicates=False,
        )
    )
    assert nothing.broken_rule("متن " * 2000, "x") is None
    assert nothing.broken_rule("", "x") == "empty"


def test_several_spaces_are_not_words() -> None:
    assert PairFilter(FilterConfig(max_words=2)).broken_rule("a    b", "آ    ب") is None


def test_rules_have_names_of_their_own() -> None:
    assert len(set(FILTER_RULES)) == len(FILTER_RULES) == 7


@pytest.mark.skipif(not MIZAN.exists(), reason="the real corpora are not in ../shared/data")
def test_clean_mizan_passes() -> None:
    normalizer, pair_filter = Normalizer(NormalizationConfig()), PairFilter(FilterConfig())
    pairs = list(itertools.islice(read_pairs(SourceConfig(name="mizan", path=str(MIZAN))), 5000))
    passed = sum(
        pair_filter.broken_rule(normalizer.source(pair.source), normalizer.target(pair.target)) is None
        for pair in pairs
    )
    assert passed >= 0.97 * len(pairs)
