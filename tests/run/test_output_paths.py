"""Output paths given by a user: links are kept, only regular files are replaced, and no input or file of a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from translator.errors import InputError, StorageError
from translator.run.files import write_text
from translator.run.folder import MARK
from translator.run.output_paths import output_stream, refuse_input_as_output, resolve_output, write_output

WRITE = "import sys; from translator.run.output_paths import *; print('before'); write_output(sys.argv[1], 'متن\\n')"


@pytest.mark.parametrize("name", ["deep/target.txt", "target.txt"])
@pytest.mark.parametrize("old", ["old", None])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, name: str, old: str | None) -> None:
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    if old is not None:
        target.write_text(old)
        target.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "second")
    (tmp_path / "second").symlink_to(name)

    resolve_output(link)
    write_output(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    expected_mode = 0o600 if old is not None else 0o644
    assert target.stat().st_mode & 0o777 == expected_mode
    assert list(target.parent.glob(".*")) == [], "no temporary file is left"


def test_output_stream_replaces_the_file_only_on_success(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyError), output_stream(path) as stream:
        stream.write("half")
        raise KeyError
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]

    with output_stream(path) as stream:
        print("خط", file=stream)
        assert path.read_text() == "old"
    assert path.read_text(encoding="utf-8") == "خط\n"


def test_paths_that_are_not_regular_files_are_refused_and_unchanged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "circle").symlink_to("circle")
    closed = os.open(tmp_path, os.O_RDONLY)
    os.close(closed)
    for path, words in [
        (tmp_path / "pipe", "it is a pipe or a device, not a file"),
        (tmp_path / "link", "it is a pipe or a device, not a file"),
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


@pytest.mark.parametrize("path", ["/dev/fd/1", "/dev/stdout"])
def test_standard_output_is_a_stream_that_is_not_truncated(tmp_path: Path, path: str) -> None:
    log = tmp_path / "log"
    log.write_text("earlier\n")
    command = [sys.executable, "-c", WRITE, path]
    with log.open("a") as file:
        subprocess.run(command, stdout=file, check=True)
    assert log.read_text(encoding="utf-8") == "earlier\nbefore\nمتن\n"


# --- what may not be an output ---


@pytest.mark.parametrize("name", ["input", "./input", "link", "hard", "folder-link/input"])
def test_an_input_is_no_output_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("input").write_text("x", encoding="utf-8")
    Path("link").symlink_to("input")
    os.link("input", "hard")
    Path("folder-link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is the input itself; give another output"):
        refuse_input_as_output(["other", "input"], name)


def test_another_file_may_be_replaced(tmp_path: Path) -> None:
    for name in ("input", "output"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    refuse_input_as_output([tmp_path / "input", tmp_path / "missing"], tmp_path / "output")


FILES_OF_A_RUN = (
    "config.yaml",
    "run.json",
    "log.txt",
    "subword/source.model",
    "held_out/test.json",
    "checkpoints/step-000001/model.safetensors",
    "checkpoints/new.txt",
    "evaluation/scores.json",
    "evaluation/sample.source.txt",
)
FILES_OF_THE_USER = (
    "notes.txt",
    "pictures/curves.png",
    "../config.yaml",
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    for name in ("subword", "held_out", "checkpoints/step-000001", "evaluation", "pictures"):
        (run / name).mkdir(parents=True)
    write_text(run / "config.yaml", MARK)
    for name in ("scores.json", "sample.source.txt", "curves.png"):
        write_text(run / "evaluation" / name, "x")
    return run


@pytest.mark.parametrize("name", FILES_OF_A_RUN)
def test_a_file_that_the_program_made_for_a_run_is_no_output(run: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"is a file of the run \S*run; give another output"):
        refuse_input_as_output([], run / name)


@pytest.mark.parametrize("name", FILES_OF_THE_USER)
def test_other_files_in_a_run_folder_may_be_outputs(run: Path, name: str) -> None:
    refuse_input_as_output([], run / name)


def test_a_link_to_a_file_of_a_run_is_no_output(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run / "config.yaml")
    with pytest.raises(InputError, match="is a file of the run"):
        refuse_input_as_output([], tmp_path / "link")
