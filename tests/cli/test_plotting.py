"""The verbs `plot ...`: each writes its picture, and refuses wrong arguments."""

import re
import shutil
from pathlib import Path

import pytest

from translator.cli import main


@pytest.mark.parametrize(
    "arguments",
    [
        ["attention", "--run", "{run}", "abc", "--layer", "1", "--head", "all", "--kind", "encoder"],
        ["curves", "{run}", "--metric", "loss", "--over", "minutes", "--smooth", "2"],
    ],
)
def test_plot_writes_a_picture(arguments: list[str], trained_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.svg"
    filled = [argument.format(run=trained_folder / "run") for argument in arguments]
    assert main(["plot", *filled, "--output", str(output)]) == 0
    assert output.read_bytes().startswith(b"<?xml")


def test_two_runs_in_folders_of_one_name_are_told_apart(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parent in ("first", "second"):
        shutil.copytree(trained_folder / "run", tmp_path / parent / "run", symlinks=True)
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "curves", "first/run", "second/run", "--output", "a.svg"]) == 0
    labels = re.sub("[\u202a-\u202e]", "", Path("a.svg").read_text(encoding="utf-8"))
    assert "<!-- first/run -->" in labels
    assert "<!-- second/run -->" in labels


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{folder}/none"], "no run at"),
        (["{folder}/none", "--smooth", "0"], "give a number of at least 1"),
    ],
)
def test_plot_refuses_wrong_arguments(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert main(["plot", "curves", *filled, "--output", str(tmp_path / "a.svg")]) == 2
    assert message in capsys.readouterr().err
