"""`translator export`, as a person types it."""

from pathlib import Path

import pytest
from export.runs import small_run

from translator.cli import main


def test_export_says_what_is_there_now(
    subword_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = str(small_run(tmp_path, subword_folder).path), str(tmp_path / "out")
    assert main(["export", "--run", run, "--to", "ctranslate2", "--quantization", "int8", out]) == 0
    printed = capsys.readouterr().out
    assert f"{out} is ready (" in printed
    assert f"translator translate --run {out} --engine ctranslate2" in printed
    assert main(["export", "--run", run, "--to", "marian", out]) == 2
    assert "the folder is not empty" in capsys.readouterr().err
    assert main(["evaluate", "--run", out]) == 2
    assert f"{out} is an export, which has no sentences of its own; name some: --test-set" in capsys.readouterr().err
