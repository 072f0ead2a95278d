"""The rules that drop a pair: examples on both sides of each limit, and the switches."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from translator.config import FilterConfig, NormalizationConfig, SourceConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.filters import PAIR_RULES, PairFilter, Sides

EXAMPLES = yaml.safe_load(Path(__file__).with_name("filter_examples.yaml").read_text(encoding="utf-8"))
KEYS = {"no_words": False, "max_words": None, "max_length_ratio": None, "min_target_script": None}
BY_DEFAULT = PairFilter(FilterConfig())
WITHOUT_KEYS = PairFilter(FilterConfig.model_validate({**KEYS, "max_untranslated": None}))
"""The filter without the rules that have a key."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example['rule']} {example['limit']}")
def test_a_rule_drops_pairs_beyond_its_limit_and_keeps_the_others(example: dict[str, Any]) -> None:
    (check,) = [rule.check for rule in PAIR_RULES if rule.name == example["rule"]]
    for outcome in ("dropped", "kept"):
        for source, target in example.get(outcome, ()):
            sides = Sides.of(source, target)
            assert check(sides, example["limit"]) is (outcome == "dropped"), (source, target)


FIRST_BROKEN = [
    *((example["rule"], example["first"]) for example in EXAMPLES if "first" in example),
    ("too_many_words", ("a " * 100 + "a", "در " * 100 + "باز")),
    ("too_many_characters", ("a" * 1001, "ب" * 1000)),
]


@pytest.mark.parametrize(("rule", "pair"), FIRST_BROKEN, ids=[rule for rule, _ in FIRST_BROKEN])
def test_the_first_broken_rule_is_named_and_its_key_switches_it_off(rule: str, pair: tuple[str, str]) -> None:
    assert BY_DEFAULT.broken_rule(*pair) == rule
    other_rule = "repetition" if rule == "too_many_words" else None
    has_key = rule in ("no_words", "too_many_words", "length_ratio", "target_script", "untranslated")
    assert WITHOUT_KEYS.broken_rule(*pair) == (other_rule if has_key else rule)


def test_0_is_a_limit() -> None:
    no_copies = PairFilter(FilterConfig.model_validate({**KEYS, "max_untranslated": 0.0}))
    assert no_copies.broken_rule("See Sara and Tom at", "Sara and Tom at را ببین") == "untranslated"


def test_the_clean_sample_keeps_every_pair() -> None:
    normalizer = Normalizer(NormalizationConfig())
    for pair in read_pairs(SourceConfig(name="x", path="data/sample/train.tsv", max_pairs=3000)):
        assert BY_DEFAULT.broken_rule(normalizer.source(pair.source), normalizer.target(pair.target)) is None
