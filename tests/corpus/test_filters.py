"""The rules that drop a pair: examples on both sides of each limit, the switches, and arbitrary text."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import FilterConfig, NormalizationConfig, SourceConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.filters import PAIR_RULES, PairFilter, Sides

EXAMPLES = yaml.safe_load(Path(__file__).with_name("filter_examples.yaml").read_text(encoding="utf-8"))
CHECKS = {rule.name: rule.check for rule in PAIR_RULES}
KEYS = {rule.name: rule.limit for rule in PAIR_RULES if isinstance(rule.limit, str)}
ALL_OFF = {
    "no_words": False,
    "max_words": None,
    "max_length_ratio": None,
    "min_target_script": None,
    "max_untranslated": None,
}
FIRST_BROKEN = {
    "replacement_character": ("The caf\ufffd is open.", "کافه باز است."),
    "no_words": ("12:30", "۱۲:۳۰"),
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
    "repetition": ("he went in and he went in and he went in and", "او رفت تو و او رفت تو و او رفت تو و او رفت تو و"),
}
"""For each rule but `empty`, a pair that breaks it and no rule before it."""


def breaks(rule: str, limit: float, source: str, target: str) -> bool:
    words = source.split(), target.split()
    return CHECKS[rule](Sides((source, target), words, (set(words[0]), set(words[1]))), limit)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['rule']} {example['limit']}")
def test_a_rule_drops_pairs_beyond_its_limit_and_keeps_the_others(example: dict[str, Any]) -> None:
    for outcome in ("dropped", "kept"):
        for source, target in example.get(outcome, ()):
            is_broken = breaks(example["rule"], example["limit"], source, target)
            assert is_broken is (outcome == "dropped"), (source, target)


@pytest.mark.parametrize("rule", FIRST_BROKEN)
def test_the_first_broken_rule_is_named_and_its_key_switches_it_off(rule: str) -> None:
    pair = FIRST_BROKEN[rule]
    assert PairFilter(FilterConfig()).broken_rule(*pair) == rule
    without_keys = PairFilter(FilterConfig.model_validate(ALL_OFF))
    if rule != "too_many_words":  # its example also repeats
        assert without_keys.broken_rule(*pair) == (None if rule in KEYS else rule)


def test_every_rule_has_examples() -> None:
    assert FIRST_BROKEN.keys() | {"empty"} == CHECKS.keys()
    assert {example["rule"] for example in EXAMPLES} | {"no_words"} == CHECKS.keys()
    assert ALL_OFF.keys() == set(KEYS.values())


def test_0_is_a_limit() -> None:
    no_copies = PairFilter(FilterConfig.model_validate({**ALL_OFF, "max_untranslated": 0.0}))
    assert no_copies.broken_rule("See Sara and Tom at", "Sara and Tom at را ببین") == "untranslated"


TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="aب ال۱2.،<>@&;{}()/\\_\u200c\ufffd", max_size=80),
    st.lists(st.sampled_from(["the", "12", "۱۲", "در", "هذا", "www.x.y", "<b>", "http://x"]), max_size=40).map(
        " ".join
    ),
)


@settings(deadline=None)
@given(TEXT, TEXT)
def test_any_pair_is_judged(source: str, target: str) -> None:
    rule = PairFilter(FilterConfig()).broken_rule(source, target)
    assert rule is None or breaks(rule, _limit_of(rule), source, target)


def _limit_of(rule: str) -> float:
    (limit,) = [known.limit for known in PAIR_RULES if known.name == rule]
    return float(getattr(FilterConfig(), limit) if isinstance(limit, str) else limit)


def test_the_clean_sample_keeps_every_pair() -> None:
    normalizer = Normalizer(NormalizationConfig())
    pair_filter = PairFilter(FilterConfig())
    for pair in read_pairs(SourceConfig(name="x", path="data/sample/train.tsv", max_pairs=5000)):
        assert pair_filter.broken_rule(normalizer.source(pair.source), normalizer.target(pair.target)) is None
