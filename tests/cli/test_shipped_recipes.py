"""The verb recipe: what it prints, and what it writes."""

from pathlib import Path

import pytest

from translator.cli import main
from translator.config import load_config

CONFIGS = Path(__file__).parents[2] / "configs"


def test_recipes_are_listed_in_80_columns_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"sample", "mizan", "mizan-small", "reference/r5"} <= set(lines)
    assert max(map(len, lines)) <= 80
    assert main(["recipe", "sample"]) == 0
    assert capsys.readouterr().out == (CONFIGS / "sample.yaml").read_text(encoding="utf-8")


def test_a_copied_recipe_names_the_schema_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["recipe", "reference/r5", "--output", "mine/own.yaml"]) == 0
    assert "translator train --config mine/own.yaml" in capsys.readouterr().out
    assert load_config("mine/own.yaml") == load_config("reference/r5")
    first_line = Path("mine/own.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first_line == f"# yaml-language-server: $schema={CONFIGS.resolve() / 'schema.json'}"
