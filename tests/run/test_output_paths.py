"""Output paths given by a user: links are kept, only regular files are replaced, and no input or file of a run."""

import errno
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from translator.errors import InputError, StorageError
from translator.run.files import write_text
from translator.run.folder import MARK
from translator.run.output_paths import output_stream, refuse_input_as_output, resolve_output, write_output

WRITE = """
from translator.run.output_paths import write_output
print("before")
for path in ("/dev/fd/1", "/dev/stdout"):
    write_output(path, "متن\\n")
"""


@pytest.mark.parametrize("old", ["old", None])
def test_a_link_stays_and_its_target_is_written_on_success(tmp_path: Path, old: str | None) -> None:
    target = tmp_path / "deep" / "target.txt"
    target.parent.mkdir()
    if old is not None:
        target.write_text(old)
        target.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to("deep/target.txt")

    with pytest.raises(KeyError), output_stream(link) as stream:
        stream.write("half")
        raise KeyError
    assert target.exists() == (old is not None)
    write_output(link, "متن\n")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "متن\n"
    assert target.stat().st_mode & 0o777 == (0o600 if old is not None else 0o644)
    assert list(target.parent.iterdir()) == [target], "no temporary file is left"


def test_paths_that_are_not_regular_files_are_refused_and_unchanged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    closed = os.open(tmp_path, os.O_RDONLY)
    os.close(closed)
    for path, words in [
        (tmp_path / "pipe", "it is a pipe or a device, not a file"),
        (Path(os.devnull), "not a file; choose another path, or write to /dev/stdout"),
        (tmp_path, "this is a folder"),
        (tmp_path / "missing" / "file", "does not exist; first run: mkdir"),
        (tmp_path / "circle", "form a circle"),
        (Path(f"/dev/fd/{closed}"), "no such stream open for writing"),
    ]:
        for work in (resolve_output, lambda path: write_output(path, "x")):
            with pytest.raises(StorageError, match=words):
                work(path)
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_is_a_stream_that_is_not_truncated(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("earlier\n")
    with log.open("a") as file:
        subprocess.run([sys.executable, "-c", WRITE], stdout=file, check=True)
    assert log.read_text(encoding="utf-8") == "earlier\nbefore\nمتن\nمتن\n"


def test_a_folder_that_takes_no_file_is_told_with_the_name_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = PermissionError(errno.EACCES, "denied", str(tmp_path / "tmp1a2b"))
    monkeypatch.setattr(tempfile, "TemporaryFile", Mock(side_effect=error))
    with pytest.raises(StorageError, match=rf"^cannot write {re.escape(str(tmp_path / 'out.txt'))}: permission denied"):
        resolve_output(tmp_path / "out.txt")


# --- what may not be an output ---


def refusal(output: Path | str, *inputs: Path | str) -> str:
    """Return why a command that reads `inputs` may not write `output`; nothing if it may."""
    try:
        refuse_input_as_output(inputs, output)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("output", "is_of_the_run"),
    [
        ("config.yaml", True),
        ("checkpoints/new.txt", True),
        ("../link", True),
        ("notes.txt", False),
        ("pictures/curves.png", False),
        ("../config.yaml", False),
    ],
)
def test_only_a_file_that_the_program_made_for_a_run_is_no_output(
    tmp_path: Path, output: str, is_of_the_run: bool
) -> None:
    run = tmp_path / "run"
    for name in ("checkpoints", "pictures"):
        (run / name).mkdir(parents=True)
    write_text(run / "config.yaml", MARK)
    (tmp_path / "link").symlink_to(run / "config.yaml")
    assert (f"is a file of the run {run}; give another output" in refusal(run / output)) == is_of_the_run
