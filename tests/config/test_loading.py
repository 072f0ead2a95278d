"""A configuration is either valid, or all its mistakes are reported together, each with its place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.config import Config, load_config, parse_config, resolved_yaml
from translator.config.loading import config_of, shipped_recipes
from translator.config.paths import present_path
from translator.corpus.sources import source_files
from translator.errors import ConfigError

SOURCES = "corpus: {sources: [{name: a, path: a.zip}]}\n"
MINIMAL = "run: {directory: runs/x, seed: 1}\n" + SOURCES


def problem(text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "recipe.yaml", overrides)
    return str(caught.value)


def mistakes(text: str, *overrides: str) -> list[str]:
    return [line.strip() for line in problem(text, *overrides).splitlines()[1:]]


def test_all_mistakes_are_reported_together_with_their_lines() -> None:
    text = (
        "run: {directory: runs/x, seed: -1}\n"
        "corpus:\n"
        "  sources:\n"
        "    - {name: a, path: a.zip}\n"
        "    - {name: b, pth: b.zip}\n"
        "    - {name: c, source_path: x}\n"
        "training:\n"
        "  max_stepz: 5\n"
        '  warmup_steps: "9"\n'
        "  schedule: cosin\n"
        "model: {heads: 7}\n"
        "beam_size: 3\n"
        "evaluation: {test_sets: [{name: a, path: x}, 5]}\n"
    )
    assert problem(text, "batching.max_length=x").startswith("recipe.yaml has 10 mistakes:")
    assert mistakes(text, "batching.max_length=x") == [
        "line 1: run.seed: expected a number greater than or equal to 0, got -1",
        "line 5: corpus.sources.1.pth: unknown key; did you mean `path`?",
        "line 6: corpus.sources.2.source_path: give either `path` or both `source_path` and `target_path` "
        "(path: null, source_path: 'x', target_path: null)",
        "line 8: training.max_stepz: unknown key; did you mean `max_steps`?",
        "line 9: training.warmup_steps: expected a valid integer, got '9'",
        "line 10: training.schedule: expected 'inverse_sqrt', 'cosine' or 'constant', got 'cosin'",
        "line 11: model.heads: `heads` must divide `d_model` (heads: 7, d_model: 512)",
        "line 12: beam_size: unknown key; did you mean `search.beam_size`?",
        "line 13: evaluation.test_sets.1: expected a section of keys, got 5",
        "--set batching.max_length=x: batching.max_length: expected a valid integer, got 'x'",
    ]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("model: {norm: off}", "model.norm: expected 'pre' or 'post', got false"),
        ("subword: {joint: 'yes'}", "subword.joint: expected true or false, got 'yes'"),
        ("evaluation: {metrics: {bleu: 1}}", "evaluation.metrics: expected a list, got a section"),
        ("evaluation: {metrics: []}", "evaluation.metrics: expected a list with at least one item, got a list"),
        ("training: {processes: 1000}", "training.processes: expected 'auto', got 1000; or: expected a number"),
        ("search:", "search: this section is empty; give it keys or leave it out"),
        ("search: {7: 1}", "search.7: unknown key; keys of this section: method, beam_size, length_penalty"),
        ("evaluation: {test_sets: [{path: a}]}", "evaluation.test_sets.0.name: this key is required"),
        (
            "evaluation: {test_sets: [{name: -a, path: a}]}",
            "evaluation.test_sets.0.name: expected letters, digits, `_`",
        ),
        (
            "evaluation: {external_metrics: [{name: judge, command: 'judge {src}'}]}",
            "evaluation.external_metrics.0.command: `command` must be a command of a shell, with no other braces",
        ),
        (r'training: {initialize_from: "a\0b"}', r"training.initialize_from: expected a path without control chara"),
    ],
)
def test_a_wrong_value_is_explained_in_words_of_the_recipe(section: str, expected: str) -> None:
    (mistake,) = mistakes(MINIMAL + section)
    assert mistake.startswith(f"line 3: {expected}")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("corpus.sources.7.path=x", "corpus.sources is a list of 1 items; give an index, counted from 0"),
        ("run.seed.x=1", "run.seed is a single value and has no keys"),
        ("model.d_model=[1", "the value is line 1, column 3: not valid YAML"),
        ("model.heads={a: 1, a: 2}", "a: duplicate key; remove one"),
        (f"model.heads={'x' * 99}", "model.heads: expected a valid integer, got '" + "x" * 56 + "..."),
        ("a..b=1", "write it as key.path=value"),
    ],
)
def test_a_mistake_in_an_override_is_reported_at_that_override(override: str, expected: str) -> None:
    assert f"--set {override}: {expected}" in problem(MINIMAL, override)


def test_overrides_change_items_of_a_list_append_to_it_and_add_sections() -> None:
    overrides = ["corpus.sources.0.path=b.zip", "corpus.sources.1.name=c", "corpus.sources.1.path=c.zip"]
    config = parse_config(MINIMAL, "recipe.yaml", [*overrides, "training.learning_rate=3E-4"])
    assert [source.path for source in config.corpus.sources] == ["b.zip", "c.zip"]
    assert config.training.learning_rate == 3e-4


@pytest.mark.parametrize(
    ("sections", "override", "expected"),
    [
        (
            "corpus:\n  sources: [{name: a, path: a, use: x}]\n",
            "corpus.sources.0.path=b",
            "line 3: corpus.sources.0.use",
        ),
        (
            SOURCES + "model: {heads: 8}\n",
            "model.d_model=60",
            "--set model.d_model=60: model.d_model: `heads` must div",
        ),
        (SOURCES + "model: {heads: x}\n", "model={heads: y}", "--set model={heads: y}: model.heads: expected a valid"),
        ("corpus: {sources: [5]}\n", "run.seed=1", "line 2: corpus.sources.0: expected a section of keys, got 5"),
        (SOURCES, "corpus.sources=[{name: b}]", "--set corpus.sources=[{name: b}]: corpus.sources.0.path: give eith"),
    ],
    ids=["keys beside it", "a conflict", "keys of an overridden section", "a list of wrong items", "a replaced list"],
)
def test_a_mistake_is_told_once_at_the_place_of_its_value(sections: str, override: str, expected: str) -> None:
    (mistake,) = mistakes("run: {directory: runs/x}\n" + sections, override)
    assert mistake.startswith(expected)


def test_an_override_changes_only_one_place_of_an_alias() -> None:
    text = "run: {directory: x}\ncorpus: {sources: [&a {name: a, path: a.zip}]}\nevaluation: {test_sets: [*a]}\n"
    config = parse_config(text, "r", ["evaluation.test_sets.0.name=b"])
    assert (config.corpus.sources[0].name, config.evaluation.test_sets[0].name) == ("a", "b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- 1\n- 2\n", "expected sections"),
        ("", "run: this key is required"),
    ],
)
def test_a_text_that_is_not_a_recipe_is_refused_with_the_reason(text: str, reason: str) -> None:
    assert reason in problem(text)


@pytest.mark.parametrize("value", ["!!bool x", "2020-13-45"])
def test_yaml_values_that_cannot_be_constructed_are_explained(value: str) -> None:
    assert "not valid YAML" in problem(MINIMAL + f"model: {{heads: {value}}}")


@given(st.text(max_size=60), st.text(alphabet='runcopsi.=0123[]{},: &*!<?\n"\\', max_size=40))
def test_neither_a_text_nor_an_override_makes_the_loader_crash(text: str, override: str) -> None:
    for recipe, overrides in ((text, []), (MINIMAL, [override])):
        try:
            assert isinstance(parse_config(recipe, "r", overrides), Config)
        except ConfigError as error:
            assert str(error)


def test_absolute_configuration_is_equal_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = [
        "corpus.sources.1={name: b, source_path: b.en, target_path: /b.fa}",
        "evaluation.test_sets=[{name: t, path: t.zip, source_member: en.txt, target_member: fa.txt}]",
    ]
    here = Path.cwd()
    config = parse_config(MINIMAL, "r", overrides)
    absolute = parse_config(resolved_yaml(config, absolute=True), "absolute")

    # Paths of the corpus become absolute; members of an archive and the run folder do not.
    assert absolute.corpus.prepared_directory == f"{here}/data/prepared"
    second_source = absolute.corpus.sources[1]
    assert second_source.source_path == f"{here}/b.en"
    assert second_source.target_path == "/b.fa"
    (test_set,) = absolute.evaluation.test_sets
    assert test_set.path == f"{here}/t.zip"
    assert test_set.source_member == "en.txt"
    assert absolute.run.directory == "runs/x"

    # In another folder, nothing is left to make absolute.
    monkeypatch.chdir(tmp_path)
    assert parse_config(resolved_yaml(absolute, absolute=True), "again") == absolute


# --- what comes with the product ---

ROOT = Path(__file__).parents[2]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the test, with a space and Persian letters in its name."""
    folder = tmp_path / "پوشهٔ من"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_shipped_recipes_and_the_sample_are_found_from_any_folder(elsewhere: Path) -> None:
    paths = sorted(ROOT.glob("configs/**/*.yaml"))
    assert sorted(shipped_recipes().values()) == paths
    assert {"sample", "mizan", "mizan-small", "reference/r1"} <= shipped_recipes().keys()
    assert load_config("reference/r1") == load_config(ROOT / "configs/reference/r1.yaml")
    files: list[Path] = []
    for source in load_config("sample").corpus.sources:
        files += source_files(source)
    folder = ROOT / "data" / "sample"
    assert files == [folder / "train.tsv", folder / "validation.tsv", folder / "test.tsv"]


def test_local_files_take_precedence_over_shipped_files(elsewhere: Path) -> None:
    local = Path("data/sample/train.tsv")
    local.parent.mkdir(parents=True)
    local.write_text("a\tb\n", encoding="utf-8")
    assert present_path("data/sample/train.tsv") == local
    Path("sample").write_text(MINIMAL.replace("runs/x", "mine"), encoding="utf-8")
    assert load_config("sample").run.directory == "mine"
    for path in ("configs/sample.yaml", "data/sample/none.tsv", "/data/sample"):
        assert present_path(path) == Path(path), "only files of the sample are taken from what is shipped"


def test_an_installed_package_finds_its_shipped_files(elsewhere: Path) -> None:
    # A package whose folder `shipped` has the recipes and the sample, as pyproject.toml tells the build.
    site = elsewhere / "site-packages"
    package = site / "translator"
    shipped = package / "shipped"
    (shipped / "data").mkdir(parents=True)
    for file in (ROOT / "translator").iterdir():
        (package / file.name).symlink_to(file)
    for name in ("configs", "data/sample"):
        (shipped / name).symlink_to(ROOT / name)

    program = (
        "from translator.config import load_config\n"
        "from translator.corpus.sources import source_files\n"
        "for source in load_config('sample').corpus.sources:\n"
        "    print(source_files(source)[0])\n"
    )
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    files = [shipped / "data" / "sample" / f"{name}.tsv" for name in ("train", "validation", "test")]
    assert done.stdout.splitlines() == [str(file) for file in files]


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
