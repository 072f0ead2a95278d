"""Each key declares its effect; shipped recipes are complete; the schema agrees."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from translator.config import Config, load_config, parse_config
from translator.config.document import RecipeLoader
from translator.config.keys import effects
from translator.config.loading import shipped_recipes
from translator.config.writing import resolved_yaml, schema_text

ROOT = Path(__file__).parents[2]
MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"
SCHEMA = json.loads(schema_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_every_key_declares_the_effect_of_changing_it() -> None:
    without_effect = {path for path, effect in effects(Config) if effect is None}
    sections = {"corpus.normalization", "corpus.filters", "corpus.split", "training.augmentation"}
    assert without_effect == sections | Config.model_fields.keys()
    keys = {"run.seed", "corpus.sources", "corpus.sources.weight", "corpus.filters.duplicates"}
    assert keys <= dict(effects(Config)).keys()


def test_every_shipped_recipe_has_a_run_folder_of_its_own() -> None:
    directories = [load_config(name).run.directory for name in shipped_recipes()]
    assert len(directories) >= 6
    assert len(set(directories)) == len(directories)


def test_every_key_of_a_shipped_recipe_has_a_comment() -> None:
    key = re.compile(r"^ +(- )?[a-z_]+:")
    for path in shipped_recipes().values():
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not key.match(line) or "#" in line, f"{path}: {line}"


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipes_copy_numbers_and_addresses_or_say_why_not(name: str) -> None:
    config = load_config(name)
    copies = config.subword.placeholders, config.training.augmentation.copies
    text = shipped_recipes()[name].read_text(encoding="utf-8")
    assert copies == (
        (0, 0) if "# No `subword.placeholders`: the published system copies nothing" in text else (8, 0.1)
    )


# --- the JSON schema ---


@pytest.mark.parametrize("name", shipped_recipes())
def test_the_schema_accepts_every_shipped_recipe_and_its_resolved_form(name: str) -> None:
    text = shipped_recipes()[name].read_text(encoding="utf-8")
    config = parse_config(text, name)
    resolved = resolved_yaml(config)
    assert parse_config(resolved, "resolved") == config
    for recipe in (text, resolved):
        values = yaml.load(recipe, RecipeLoader)  # noqa: S506 - a safe one
        assert [error.message for error in VALIDATOR.iter_errors(values)] == []


def test_an_editor_finds_the_schema_from_every_shipped_recipe() -> None:
    for path in shipped_recipes().values():
        line = path.read_text(encoding="utf-8").partition("\n")[0]
        start, _, link = line.partition("=")
        assert start == "# yaml-language-server: $schema"
        assert (path.parent / link).resolve() == ROOT / "configs" / "schema.json"


def test_the_file_of_the_schema_is_up_to_date() -> None:
    written = (ROOT / "configs" / "schema.json").read_text(encoding="utf-8")
    assert written == schema_text(), "write it anew: make schema"


@pytest.mark.parametrize(("clock", "minutes"), [("steps", None), ("minutes", 5.0)])
def test_the_limit_of_time_ends_a_schedule_by_the_clock_only(clock: str, minutes: float | None) -> None:
    training = f"training: {{schedule: cosine, schedule_clock: {clock}, max_minutes: 5}}\n"
    assert parse_config(MINIMAL + training, "recipe.yaml").training.schedule_settings.minutes == minutes
