"""The JSON schema accepts what the loader accepts, as far as a schema can, and rejects unknown keys and wrong types."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from translator.config import config_schema, resolved_yaml, schema_text
from translator.config.document import apply_override, parse_document
from translator.config.loader import parse_config
from translator.shipped import shipped_recipes

CONFIGS = Path(__file__).parents[2] / "configs"
RECIPES = sorted(CONFIGS.rglob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(config_schema())


def complaints(text: str, *overrides: str) -> list[str]:
    """Return what the schema has to say against a recipe."""
    document = parse_document(text, "recipe")
    for override in overrides:
        apply_override(document, override)
    return [error.message for error in VALIDATOR.iter_errors(document.values)]


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(config_schema())


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_it_accepts_every_recipe_as_written_and_as_resolved(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert complaints(text) == []
    assert complaints(resolved_yaml(parse_config(text, path.name))) == []


@pytest.mark.parametrize(
    "override",
    [
        "trainer=1",
        "model.dmodel=512",
        "corpus.sources.0.paht=x",
        "corpus.filters.max_word=3",
        "model.d_model=wide",
        "model.heads=0",
        "training.schedule=linear",
        "training.learning_rate=-1",
        "corpus.sources=[]",
    ],
)
def test_it_rejects_what_the_loader_rejects(override: str) -> None:
    text = (CONFIGS / "sample.yaml").read_text(encoding="utf-8")
    assert complaints(text, override) != []


def test_every_key_has_its_meaning_for_an_editor_to_show() -> None:
    schema = config_schema()
    sections: list[dict[str, Any]] = [schema, *schema["$defs"].values()]
    lacking = [
        key for section in sections for key, value in section["properties"].items() if "description" not in value
    ]
    assert lacking == []
    assert all(section["additionalProperties"] is False for section in sections)


def test_the_file_beside_the_recipes_is_up_to_date() -> None:
    written = (CONFIGS / "schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == config_schema(), "write it anew: make schema"
    assert written == schema_text()


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_first_line_of_every_recipe_leads_to_it(path: Path) -> None:
    line = path.read_text(encoding="utf-8").partition("\n")[0]
    assert line.startswith("# yaml-language-server: $schema="), "an editor finds the schema by this line"
    assert (path.parent / line.partition("=")[2]).resolve() == CONFIGS / "schema.json"
    assert path in {recipe.path for recipe in shipped_recipes()}
