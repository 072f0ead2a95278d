"""All verbs that derive a run or text from a run: which outputs they refuse."""

from pathlib import Path

import pytest

from translator.cli import main
from translator.run.files import hold_folder


@pytest.mark.parametrize(
    ("verb", "flags", "output", "locked"),
    [
        ("back-translate", {"--run": "fa-en", "--monolingual": "persian.txt"}, "back", "back"),
        ("fine-tune", {"--run": "en-fa", "--corpus": "new.tsv"}, "tune", "tune.text"),
        ("distill", {"--run": "en-fa"}, "learn", "learn.text"),
    ],
)
def test_a_folder_that_another_process_fills_is_refused(
    verb: str, flags: dict[str, str], output: str, locked: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [verb, "--output", str(folder / output)]
    for flag, name in flags.items():
        command += [flag, str(folder / name)]

    locked_folder = folder / locked
    locked_folder.mkdir()
    with hold_folder(locked_folder):
        assert main(command) == 2
    message = f"another process uses {locked_folder}; wait for it, stop it, or give another --output"
    assert message in capsys.readouterr().err
    assert [path.name for path in locked_folder.iterdir()] == [".lock"], "nothing is written"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("runs/..", "has no name of its own"),
        ("file/run", "cannot use file: a file of this name exists"),
    ],
)
def test_an_output_that_is_no_new_folder_is_refused(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert main(["distill", "--run", str(folder / "en-fa"), "--output", output]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
