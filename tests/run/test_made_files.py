"""A file that this program did not make is never replaced; what it made is recognised by its content."""

import os
from pathlib import Path

import pytest

from translator.errors import InputError
from translator.run.files import write_text
from translator.run.folder import MARK
from translator.run.made_files import MadeFiles, filled_folder
from translator.run.output_paths import refuse_input_as_output


def make(folder: Path, text: str, made_from: str = "a") -> None:
    with MadeFiles(folder).writing(folder / "file", made_from):
        write_text(folder / "file", text)


def test_a_made_file_is_current_until_it_or_its_origin_changes(tmp_path: Path) -> None:
    make(tmp_path, "text")
    assert MadeFiles(tmp_path).is_current(tmp_path / "file", "a")
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "b")
    (tmp_path / "file").write_text("changed", encoding="utf-8")
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "a")


def test_a_made_file_may_be_replaced_or_deleted(tmp_path: Path) -> None:
    make(tmp_path, "text")
    make(tmp_path, "other")
    (tmp_path / "file").unlink()
    make(tmp_path, "again")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "again"


@pytest.mark.parametrize("kind", ["file", "link", "broken link", "folder"])
def test_a_file_of_the_user_is_never_replaced(tmp_path: Path, kind: str) -> None:
    path, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    elsewhere.write_text("precious", encoding="utf-8")
    if kind == "file":
        path.write_text("precious", encoding="utf-8")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere" if kind == "link" else "nowhere")
    before = path.lstat()
    with pytest.raises(InputError, match=r"file was not made by this command, or has been changed since"):
        make(tmp_path, "text")
    after = path.lstat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert elsewhere.read_text(encoding="utf-8") == "precious"


def test_a_made_file_that_the_user_has_changed_is_not_replaced(tmp_path: Path) -> None:
    make(tmp_path, "text")
    (tmp_path / "file").write_text("edited", encoding="utf-8")
    with pytest.raises(InputError, match="move it away, or give another --output"):
        make(tmp_path, "other")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "edited"


def test_a_file_whose_writing_was_cut_short_is_ours(tmp_path: Path) -> None:
    with pytest.raises(KeyError), MadeFiles(tmp_path).writing(tmp_path / "file", "a"):
        write_text(tmp_path / "file", "whole, but not yet noted")
        raise KeyError
    assert not MadeFiles(tmp_path).is_current(tmp_path / "file", "a")
    make(tmp_path, "again")


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"file": 1}'])
def test_without_a_record_every_file_is_the_users(tmp_path: Path, damage: str) -> None:
    make(tmp_path, "text")
    (tmp_path / ".translator-made.json").write_text(damage, encoding="utf-8")
    with pytest.raises(InputError, match="was not made by this command"):
        make(tmp_path, "text")


@pytest.mark.parametrize("name", ["input", "./input", "link", "hard", "folder-link/input"])
def test_an_input_is_no_output_by_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("input").write_text("x", encoding="utf-8")
    Path("link").symlink_to("input")
    os.link("input", "hard")
    Path("folder-link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is the input itself; give another output"):
        refuse_input_as_output(["other", "input"], name)


def test_an_open_descriptor_of_the_input_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("x", encoding="utf-8")
    with (tmp_path / "input").open("a") as stream, pytest.raises(InputError, match="is the input itself"):
        refuse_input_as_output([tmp_path / "input"], f"/dev/fd/{stream.fileno()}")


def test_another_file_may_be_replaced(tmp_path: Path) -> None:
    for name in ("input", "output"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    refuse_input_as_output([tmp_path / "input", tmp_path / "missing"], tmp_path / "output")


def test_a_refused_verb_leaves_nothing_in_the_folder_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious", encoding="utf-8")
    verb = filled_folder(tmp_path, [], [tmp_path / "file"])
    with pytest.raises(InputError, match="was not made by this command"), verb:
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


FILES_OF_A_RUN = (
    "config.yaml",
    "run.json",
    "log.txt",
    ".lock",
    "subword/source.model",
    "held_out/test.jsonl",
    "checkpoints/step-000001/model.safetensors",
    "checkpoints/new.txt",
    "evaluation/scores.json",
    "evaluation/sample.source.txt",
)
FILES_OF_THE_USER = (
    "notes.txt",
    "evaluation/curves.png",
    "evaluation/new.txt",
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


def test_a_file_of_an_export_is_no_output(run: Path) -> None:
    for name in ("export.json", "model.bin"):
        write_text(run / name, "{}")
    with pytest.raises(InputError, match="is a file of the run"):
        refuse_input_as_output([], run / "model.bin")
    refuse_input_as_output([], run / "new.txt")


def test_a_link_to_a_file_of_a_run_is_no_output(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run / "config.yaml")
    with pytest.raises(InputError, match="is a file of the run"):
        refuse_input_as_output([], tmp_path / "link")
