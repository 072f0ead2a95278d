"""Each key has a help, an effect and a range; keys that do not go together are refused; the schema agrees."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from translator.config import Config, SourceConfig, load_config, parse_config
from translator.config.document import RecipeLoader
from translator.config.keys import effects
from translator.config.loading import shipped_recipes
from translator.config.writing import resolved_yaml, schema_text
from translator.errors import ConfigError

ROOT = Path(__file__).parents[2]
MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"
SCHEMA = json.loads(schema_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def mistakes(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml", overrides)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def test_every_key_declares_the_effect_of_changing_it() -> None:
    without_effect = {path for path, effect in effects(Config) if effect is None}
    sections = {"corpus.normalization", "corpus.filters", "corpus.split", "training.augmentation"}
    assert without_effect == sections | Config.model_fields.keys()
    keys = {"run.seed", "corpus.sources", "corpus.sources.weight", "corpus.filters.duplicates"}
    assert keys <= dict(effects(Config)).keys()


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        (
            "subword:\n  byte_fallback: true\n  vocabulary_size: 260\n",
            "line 5: subword.vocabulary_size: `vocabulary_size` must exceed 260 with `byte_fallback` "
            "(vocabulary_size: 260, byte_fallback: true)",
        ),
        (
            "subword:\n  model_type: char\n  byte_fallback: true\n",
            "line 4: subword.model_type: `model_type: char` forb",
        ),
        ("subword:\n  case: fold\n  joint: true\n", "line 4: subword.case: `case: fold` cannot be combined with"),
        ("subword:\n  placeholders: 8\n", "line 4: subword.placeholders: `subword.placeholders` and `training.augm"),
        ("training:\n  augmentation: {copies: 0.1}\n", "line 4: training.augmentation.copies: `subword.placeholders` "),
        (
            "training:\n  initialization: counts\nsubword:\n  vocabulary_size: 10001\n",
            "line 4: training.initialization: `training.initialization: counts` cannot be combined with",
        ),
        (
            "training:\n  initialization: counts\nmodel:\n  tied_embeddings: all\nsubword:\n  joint: true\n",
            "line 4: training.initialization: `training.initialization: counts` cannot be combined with",
        ),
        ("model:\n  heads: 3\n  d_model: 15\n", "line 5: model.d_model: `positions: sinusoidal` needs an even `d_mod"),
        ("model:\n  heads: 4\n  d_model: 12\n  positions: rotary\n", "line 6: model.positions: `positions: rotary` ne"),
        ("training:\n  warmup_steps: 0\n", "line 4: training.warmup_steps: `schedule: inverse_sqrt` needs `warmup_"),
        ("training:\n  schedule: cosine\n  schedule_clock: minutes\n", "line 5: training.schedule_clock: `schedule_"),
        ("search:\n  min_length_ratio: 2.5\n", "line 4: search.min_length_ratio: `min_length_ratio` must not exceed"),
        ("model:\n  tied_embeddings: all\n", "line 4: model.tied_embeddings: `model.tied_embeddings: all` needs `su"),
        ("model:\n  max_positions: 100\n", "line 4: model.max_positions: `batching.max_length` must not exceed"),
        ("batching:\n  tokens_per_batch: 100\n", "line 4: batching.tokens_per_batch: `tokens_per_batch` must be at"),
    ],
)
def test_a_broken_rule_is_reported_at_the_key_that_the_recipe_sets(sections: str, expected: str) -> None:
    (mistake,) = mistakes(MINIMAL + sections)
    assert mistake.startswith(expected)


@pytest.mark.parametrize(
    ("source", "broken_rule"),
    [
        ("path: x", None),
        ("source_path: y, target_path: z", None),
        ("path: x, source_member: p, target_member: q", None),
        ("source_path: x", "give either `path`"),
        ("max_pairs: 5", "give either `path`"),
        ("path: x, source_path: y, target_path: z", "give either `path`"),
        ("path: x, source_member: y", "must be given together"),
        ("source_path: y, target_path: z, source_member: p, target_member: q", "must be given together"),
        ("path: x, source_column: y", "must be given together"),
        ("path: x, source_column: y, target_column: y", "must be different columns"),
        ("source_path: y, target_path: z, source_column: 1, target_column: 2", "need a table as `path`"),
    ],
)
def test_a_source_takes_either_one_path_or_one_path_per_side(source: str, broken_rule: str | None) -> None:
    values = yaml.safe_load("{name: a, " + source + "}")
    if broken_rule is None:
        assert SourceConfig(**values)
    else:
        with pytest.raises(ValueError, match=broken_rule):
            SourceConfig(**values)


@pytest.mark.parametrize(
    "change",
    ["training.augmentation.typos=0.1", "training.augmentation.final_punctuation=0.1", "evaluation.robustness=true"],
)
def test_english_is_not_changed_where_it_is_the_target(change: str) -> None:
    (mistake,) = mistakes(MINIMAL, "corpus.direction=fa-en", "subword.case=keep", change)
    assert "`corpus.direction: fa-en` cannot be combined with changes to English" in mistake


@pytest.mark.parametrize(("first", "second"), [("auto", "test"), ("test", "auto"), ("test", "test")])
def test_sources_that_share_a_split_need_different_names(first: str, second: str) -> None:
    sources = f"    - {{name: a, path: a, use: {first}}}\n    - {{name: a, path: b, use: {second}}}\n"
    (mistake,) = mistakes("run: {directory: x}\ncorpus:\n  sources:\n" + sources)
    assert mistake.startswith("line 5: corpus.sources.1.name: `name` is taken by an earlier source")


def test_sources_of_different_splits_may_share_a_name() -> None:
    sources = "[{name: a, path: a, use: train}, {name: a, path: b, use: test}]"
    config = parse_config(f"run: {{directory: x}}\ncorpus: {{sources: {sources}}}", "r")
    assert len(config.corpus.sources) == 2


def test_a_repeated_name_of_a_test_set_is_refused() -> None:
    sets = "evaluation:\n  test_sets:\n    - {name: a, path: x}\n    - {name: b, path: x}\n    - {name: b, path: y}\n"
    first, third = mistakes(MINIMAL + sets)
    assert first.startswith("line 5: evaluation.test_sets.0.name: ")
    assert third.startswith("line 7: evaluation.test_sets.2.name: ")


def test_every_shipped_recipe_has_a_run_folder_of_its_own() -> None:
    directories = [load_config(name).run.directory for name in shipped_recipes()]
    assert len(directories) >= 6
    assert len(set(directories)) == len(directories)


def test_every_key_of_a_shipped_recipe_has_a_comment() -> None:
    key = re.compile(r"^ +(- )?[a-z_]+:")
    for path in shipped_recipes().values():
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not key.match(line) or "#" in line, f"{path}: {line}"


WITHOUT_PLACEHOLDERS = {
    "reference/r1": "the published system copies nothing",
    "reference/r2": "the published system copies nothing",
    "reference/r5": "the published system copies nothing",
}
"""Shipped recipes whose models translate numbers and addresses piece by piece, each with the reason."""


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipes_copy_numbers_and_addresses(name: str) -> None:
    config = load_config(name)
    if name in WITHOUT_PLACEHOLDERS:
        assert config.subword.placeholders == 0
        text = shipped_recipes()[name].read_text(encoding="utf-8")
        assert f"# No `subword.placeholders`: {WITHOUT_PLACEHOLDERS[name]}" in text
    else:
        assert (config.subword.placeholders, config.training.augmentation.copies) == (8, 0.1)


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
