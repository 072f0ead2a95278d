"""All mistakes of a recipe are reported together, each once and at its place."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from translator.config import Config, parse_config
from translator.config.loading import config_of
from translator.errors import ConfigError

RIGHT = "run: {directory: runs/x, seed: 1}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"
MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case["says"][:60])
def test_every_mistake_is_told_once_at_its_place(case: dict[str, Any]) -> None:
    recipe = case.get("recipe", RIGHT + case.get("sections", ""))
    with pytest.raises(ConfigError) as caught:
        parse_config(recipe, "recipe.yaml", case.get("set", ()))
    told = [line.strip() for line in str(caught.value).splitlines() if not line.endswith(("mistake:", "mistakes:"))]
    for line, beginning in zip(told, case["says"].splitlines(), strict=True):
        assert line.startswith(beginning)


@pytest.mark.parametrize("depth", [1_000, 100_000], ids=["libyaml", "PyYAML"])
def test_lists_that_are_nested_too_deeply_are_refused(depth: int) -> None:
    with pytest.raises(ConfigError, match="not valid YAML: maximum recursion depth exceeded"):
        parse_config("[" * depth + "]" * depth, "recipe.yaml")


def test_mistakes_in_computed_values_are_listed_without_lines() -> None:
    values = {
        "run": {"directory": "x"},
        "corpus": {"sources": [{"name": "a", "path": "b"}]},
        "model": {"heads": 3},
    }
    with pytest.raises(ConfigError) as caught:
        config_of(values, "the plan", ["training.max_stepz=1"])
    message = str(caught.value)
    assert message.startswith("the plan has 2 mistakes:\n")
    assert "  computed value: model.heads: " in message
    assert "  --set training.max_stepz=1: training.max_stepz: " in message
    assert "training" not in values, "the values are unchanged"


@given(st.text(max_size=60), st.text(alphabet='runcopsi.=0123[]{},: &*!<?\n"\\', max_size=40))
def test_neither_a_text_nor_an_override_makes_the_loader_crash(text: str, override: str) -> None:
    for recipe, overrides in ((text, []), (RIGHT, [override])):
        try:
            assert isinstance(parse_config(recipe, "r", overrides), Config)
        except ConfigError as error:
            assert str(error)
