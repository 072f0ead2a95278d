"""The verb recipe: what it prints, and what it writes."""

from pathlib import Path

import pytest

from tests.support.complaints import complaint
from translator.cli import main
from translator.config import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe"]) == 0
    table = capsys.readouterr().out.splitlines()[2:]
    names = {line.split()[0] for line in table}
    assert {"sample", "mizan", "mizan-small", "reference/r5"} <= names


def test_a_recipe_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "sample"]) == 0
    assert capsys.readouterr().out == (CONFIGS / "sample.yaml").read_text(encoding="utf-8")


def test_a_recipe_is_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe", "sample", "--output", "mine/own.yaml"]) == 0
    assert "translator train --config mine/own.yaml" in capsys.readouterr().out
    assert load_config("mine/own.yaml") == load_config("sample")


@pytest.mark.parametrize("name", ["sample", "reference/r5"])
def test_a_copied_recipe_names_the_schema_where_it_is(name: str) -> None:
    assert main(["recipe", name, "--output", "own.yaml"]) == 0
    first_line = Path("own.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first_line == f"# yaml-language-server: $schema={CONFIGS.resolve() / 'schema.json'}"


def test_an_unknown_recipe_is_refused_with_the_names_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown recipe `sampel`; shipped recipes: " in complaint(capsys, "recipe", "sampel")
