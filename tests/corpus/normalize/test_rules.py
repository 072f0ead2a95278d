"""The registry: one rule for each key, each doing what its examples show, and the table of the handbook in step."""

from pathlib import Path

import pytest
from corpus.normalize.strategies import NOTHING

from translator.config import NormalizationConfig
from translator.corpus.normalize import Normalizer
from translator.corpus.normalize.rules import RULES, SIDES, Rule, Side

HANDBOOK = Path(__file__).parents[3] / "docs" / "persian.md"
SIDE_NAMES = {"source": "English", "target": "Persian"}
EXAMPLES = [
    pytest.param(rule, side, before, after, id=f"{rule.key}-{rule.value}-{number}")
    for rule in RULES
    for number, (side, before, after) in enumerate(rule.examples)
]


def normalize(settings: dict[str, object], side: Side, text: str) -> str:
    normalizer = Normalizer(NormalizationConfig.model_validate(settings))
    return normalizer.source(text) if side == "source" else normalizer.target(text)


def shown(text: str) -> str:
    """Return `text` with what cannot be seen written out, as the table of the handbook has it."""
    names = {"\u200c": "<ZWNJ>", "\u00ad": "<U+00AD>", "|": "\\|"}
    hidden = {character: names.get(character, f"<U+{ord(character):04X}>") for character in text}
    return "".join(
        hidden[character] if character in names or not character.isprintable() else character for character in text
    )


def test_every_key_is_a_rule_and_every_rule_a_key() -> None:
    assert {rule.key for rule in RULES} == set(NormalizationConfig.model_fields)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.key}-{rule.value}")
def test_a_rule_says_what_it_does_with_an_example_for_each_side(rule: Rule) -> None:
    assert rule.does.endswith(".")
    assert {side for side, _, _ in rule.examples} == set(rule.sides)
    assert any(before != after for _, before, after in rule.examples)
    assert rule.sides == tuple(side for side in SIDES if side in rule.sides) != ()


@pytest.mark.parametrize(("rule", "side", "before", "after"), EXAMPLES)
def test_a_rule_alone_does_what_it_shows(rule: Rule, side: Side, before: str, after: str) -> None:
    assert normalize({**NOTHING, rule.key: rule.value}, side, before) == after


@pytest.mark.parametrize(("rule", "side", "before", "after"), EXAMPLES)
def test_the_default_rules_with_it_do_the_same(rule: Rule, side: Side, before: str, after: str) -> None:
    assert normalize({rule.key: rule.value}, side, before) == after


@pytest.mark.parametrize(("rule", "side", "before", "after"), EXAMPLES)
def test_without_the_rule_nothing_of_it_happens(rule: Rule, side: Side, before: str, after: str) -> None:
    assert normalize(NOTHING, side, before) == before
    assert normalize({**NOTHING, rule.key: rule.value}, side, after) == after


def test_the_table_of_the_handbook_shows_the_registry() -> None:
    rows = HANDBOOK.read_text(encoding="utf-8").splitlines()
    defaults = NormalizationConfig().model_dump()
    of_sides = [(rule, side) for rule in RULES for side in rule.sides]
    for rule, side in of_sides:
        before, after = next((before, after) for of, before, after in rule.examples if of == side)
        key = rule.key if rule.value is True else f"{rule.key}: {rule.value}"
        default = "on" if defaults[rule.key] == rule.value else "off"
        row = f"| `{key}` | {SIDE_NAMES[side]} | {default} | `{shown(before)}` | `{shown(after)}` |"
        assert row in rows, f"docs/persian.md should have the line\n{row}"
