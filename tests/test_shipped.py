"""What comes with the product is found wherever a person stands, in a checkout and in an installed package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from translator import shipped
from translator.config import load_config
from translator.corpus.sources import source_files
from translator.errors import ConfigError
from translator.shipped import present_path, recipe_text, shipped_recipe, shipped_recipes

ROOT = Path(__file__).parents[1]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a space and Persian letters in its name, to stand in."""
    folder = tmp_path / "پوشهٔ من"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_every_recipe_of_the_checkout_has_its_name_and_says_what_it_is() -> None:
    recipes = shipped_recipes()
    names = {path.relative_to(ROOT / "configs").with_suffix("").as_posix() for path in ROOT.glob("configs/**/*.yaml")}
    assert {recipe.name for recipe in recipes} == names
    assert {"sample", "mizan", "mizan-small", "reference/r1"} <= names
    assert all(recipe.summary.endswith(".") and "schema" not in recipe.summary for recipe in recipes)


@pytest.mark.parametrize("recipe", shipped_recipes(), ids=lambda recipe: recipe.name)
def test_a_recipe_is_loaded_by_name_as_by_path(recipe: shipped.Recipe, elsewhere: Path) -> None:
    assert load_config(recipe.name) == load_config(recipe.path)


def test_the_sample_is_found_wherever_a_person_stands(elsewhere: Path) -> None:
    files = [file for source in load_config("sample").corpus.sources for file in source_files(source)]
    assert [file.name for file in files] == ["train.tsv", "validation.tsv", "test.tsv"]
    assert all(file.is_relative_to(ROOT / "data" / "sample") for file in files)


def test_what_is_here_goes_before_what_is_shipped(elsewhere: Path) -> None:
    own = Path("data/sample/train.tsv")
    own.parent.mkdir(parents=True)
    own.write_text("a\tb\n", encoding="utf-8")
    assert present_path("data/sample/train.tsv") == own
    Path("sample").write_text("run: {directory: mine}\ncorpus: {sources: [{name: a, path: a.zip}]}\n", encoding="utf-8")
    assert load_config("sample").run.directory == "mine"


@pytest.mark.parametrize(
    "path", ["configs/sample.yaml", "data", "data/mizan.zip", "data/sample/none.tsv", "/data/sample"]
)
def test_nothing_else_is_taken_from_what_is_shipped(path: str, elsewhere: Path) -> None:
    assert present_path(path) == Path(path)


def test_a_path_that_no_file_system_has_is_left_to_whoever_opens_it(elsewhere: Path) -> None:
    path = "data/sample/" + "x" * 5000
    assert present_path(path) == Path(path)


def test_a_name_that_is_none_is_told_the_names(elsewhere: Path) -> None:
    with pytest.raises(ConfigError, match=r"no configuration file at sampel; recipes by name: .*sample, reference/r1"):
        load_config("sampel")
    assert shipped_recipe("../configs/sample") is None


def test_a_folder_of_the_name_is_not_in_the_way(elsewhere: Path) -> None:
    Path("sample").mkdir()
    assert load_config("sample").run.directory == "runs/sample"


def test_a_copied_recipe_names_the_schema_beside_it() -> None:
    path = shipped_recipe("reference/r1")
    assert path is not None
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=../schema.json\n")
    assert recipe_text(path).startswith("# yaml-language-server: $schema=schema.json\n")
    assert recipe_text(path).partition("\n")[2] == path.read_text(encoding="utf-8").partition("\n")[2]


def test_an_installed_package_finds_them_inside_itself(elsewhere: Path) -> None:
    site = elsewhere / "site-packages"
    code = site / "translator"
    (code / "shipped" / "data").mkdir(parents=True)
    for file in (ROOT / "translator").iterdir():
        (code / file.name).symlink_to(file)
    for name in ("configs", "data/sample"):  # as pyproject.toml tells the build
        (code / "shipped" / name).symlink_to(ROOT / name)
    program = (
        "from translator.config import load_config; from translator.corpus.sources import source_files\n"
        "print(*(source_files(source)[0] for source in load_config('sample').corpus.sources), sep='\\n')"
    )
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    folder = code / "shipped" / "data" / "sample"
    assert done.stdout.splitlines() == [str(folder / f"{name}.tsv") for name in ("train", "validation", "test")]
