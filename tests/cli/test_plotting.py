"""The verb `plot curves`: runs of one name."""

import re
import shutil
from pathlib import Path

import pytest

from translator.cli import main


def test_two_runs_in_folders_of_one_name_are_told_apart(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parent in ("first", "second"):
        shutil.copytree(trained_folder / "run", tmp_path / parent / "run", symlinks=True)
    monkeypatch.chdir(tmp_path)
    curves = ["plot", "curves", "first/run", "second/run", "--output", "a.svg"]
    assert main([*curves, "--metric", "loss", "--over", "minutes", "--smooth", "2"]) == 0
    labels = re.sub("[\u202a-\u202e]", "", Path("a.svg").read_text(encoding="utf-8"))
    assert "<!-- first/run -->" in labels
    assert "<!-- second/run -->" in labels
