"""The section `search`: what does not go together, and what is written about it."""

import re
from pathlib import Path

import pytest

from translator.config import SearchConfig, parse_config
from translator.errors import ConfigError

RECIPE = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\nsearch: {max_length_ratio: 1.5}\n"
PAGE = Path(__file__).parents[2] / "docs/search.md"


def test_the_shortest_output_is_not_longer_than_the_longest() -> None:
    assert parse_config(RECIPE, "recipe.yaml", ["search.min_length_ratio=1.5"]).search.min_length_ratio == 1.5
    with pytest.raises(ConfigError) as caught:
        parse_config(RECIPE, "recipe.yaml", ["search.min_length_ratio=1.6"])
    assert "`min_length_ratio` (1.6) exceeds `max_length_ratio` (1.5)" in str(caught.value)


def test_the_page_has_every_key_with_its_default() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## All keys of `search`")[1]
    written = re.findall(r"^\| `(\w+)` \| (\S+) \|", table, re.MULTILINE)
    assert written == [(name, str(field.default)) for name, field in SearchConfig.model_fields.items()]
