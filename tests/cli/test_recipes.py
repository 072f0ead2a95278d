"""The verbs recipe and schema."""

import json
from pathlib import Path

import pytest

from translator.cli import main
from translator.config import load_config, schema_text

CONFIGS = Path(__file__).parents[2] / "configs"


def test_without_a_name_all_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recipe"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]]
    assert {"sample", "mizan", "mizan-small", "reference/r5"} <= set(names)


def test_a_recipe_is_shown_and_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["recipe", "sample"]) == 0
    shown = capsys.readouterr().out
    assert shown == (CONFIGS / "sample.yaml").read_text(encoding="utf-8")
    assert main(["recipe", "sample", "--output", "mine/own.yaml"]) == 0
    assert "translator train --config mine/own.yaml" in capsys.readouterr().out
    assert Path("mine/own.yaml").read_text(encoding="utf-8") == shown
    assert load_config("mine/own.yaml") == load_config("sample")


def test_a_file_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("mine", encoding="utf-8")
    assert main(["recipe", "sample", "--output", str(own)]) == 2
    assert "own.yaml is there already; choose another file, or remove it first" in capsys.readouterr().err
    assert own.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recipe", "sampel"], "no recipe is called `sampel`; there are: "),
        (["recipe", "--output", "x.yaml"], "none is named; give its NAME"),
    ],
)
def test_what_cannot_be_copied(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_the_schema_is_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(schema_text())
    assert main(["schema", "--output", str(tmp_path / "schema.json")]) == 0
    assert "$schema=schema.json" in capsys.readouterr().out
    assert (tmp_path / "schema.json").read_text(encoding="utf-8") == schema_text()
