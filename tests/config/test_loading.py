"""A recipe with its overrides becomes a configuration, wherever it and its files are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from translator.config import load_config, parse_config, resolved_yaml
from translator.config.loading import shipped_recipes
from translator.config.paths import with_shipped_sample
from translator.corpus.sources import source_files

MINIMAL = "run: {directory: runs/x}\ncorpus: {sources: [{name: a, path: a.zip}]}\n"


def test_overrides_change_items_of_a_list_append_to_it_and_add_sections() -> None:
    overrides = ["corpus.sources.0.path=b.zip", "corpus.sources.1.name=c", "corpus.sources.1.path=c.zip"]
    config = parse_config(MINIMAL, "recipe.yaml", [*overrides, "training.learning_rate=3E-4"])
    assert [source.path for source in config.corpus.sources] == ["b.zip", "c.zip"]
    assert config.training.learning_rate == 3e-4


def test_an_override_changes_only_one_place_of_an_alias() -> None:
    text = "run: {directory: x}\ncorpus: {sources: [&a {name: a, path: a.zip}]}\nevaluation: {test_sets: [*a]}\n"
    config = parse_config(text, "r", ["evaluation.test_sets.0.name=b"])
    assert (config.corpus.sources[0].name, config.evaluation.test_sets[0].name) == ("a", "b")


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
    assert with_shipped_sample("data/sample/train.tsv") == local
    Path("sample").write_text(MINIMAL.replace("runs/x", "mine"), encoding="utf-8")
    assert load_config("sample").run.directory == "mine"
    for path in ("configs/sample.yaml", "data/sample/none.tsv", "/data/sample"):
        assert with_shipped_sample(path) == Path(path), "only files of the sample are taken from what is shipped"


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
