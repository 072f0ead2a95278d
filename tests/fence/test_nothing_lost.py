"""Whatever goes wrong, what a user had before a command is still there after it, and the next attempt works."""

import shutil
from pathlib import Path

import pytest

from tests.fence.files import contents, read_lines, write_lines
from tests.fence.short_runs import CHECKPOINT_FILES, short, steps, weights
from tests.fence.small_language import statement
from tests.support.command_line import refusal, succeed, translator
from tests.support.faults import Faults

ENGLISH, PERSIAN = statement("book", "new")
FULL = "the disk is full; free some space there and run the same command again"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A text to translate, alone in its folder."""
    (tmp_path / "books").mkdir()
    return write_lines(tmp_path / "books" / "book.en", [ENGLISH] * 3)


@pytest.fixture(scope="module")
def engine(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run for translations, which may write their engine into it."""
    return shutil.copytree(small_run, tmp_path_factory.mktemp("engine") / "run", symlinks=True)


def translate(run: Path, text: Path, output: Path) -> tuple[str | Path, ...]:
    """Return the command that translates a file into a file."""
    return ("translate", "--run", run, "--input", text, "--output", output)


# --- what is there already ---


def test_an_input_is_never_the_output(engine: Path, book: Path) -> None:
    before = contents(book.parent)
    link, hard_link = book.with_name("link.en"), book.with_name("hard-link.en")
    link.symlink_to(book)
    hard_link.hardlink_to(book)
    for output in (book, link, hard_link):
        message = refusal(*translate(engine, book, output))
        assert f"the output {output} is the input itself; give another output" in message
    assert contents(book.parent)["book.en"] == before["book.en"]


def test_a_translation_replaces_its_output_and_nothing_beside_it(engine: Path, book: Path) -> None:
    names = ["book.fa.bak", "book.fa.partial", "book.fa.tmp", ".book.fa", ".book.fa.12345678.tmp"]
    for name in names:
        book.with_name(name).write_text("mine", encoding="utf-8")
    output = write_lines(book.with_name("book.fa"), ["an older translation"])
    succeed(*translate(engine, book, output))
    assert read_lines(output) == [PERSIAN] * 3
    assert set(contents(book.parent)) == {*names, "book.en", "book.fa"}
    assert {book.with_name(name).read_text(encoding="utf-8") for name in names} == {"mine"}


def test_notes_in_a_run_stay_while_it_is_trained_on(folder: Path) -> None:
    run = folder / "notes"
    succeed(*short(run, "training.max_steps=2"))
    notes = [run / "notes.txt", run / "checkpoints" / "notes.txt", run / "tensorboard" / "notes.txt"]
    notes += [run / "checkpoints" / "step-000002-copy" / "notes.txt", run / "subword" / "notes.txt"]
    for note in notes:
        note.parent.mkdir(exist_ok=True)
        note.write_text("mine", encoding="utf-8")
    succeed(*short(run, "training.keep_checkpoints=1", "training.checkpoint_every=1"))
    assert steps(run) == [8]
    assert [note.read_text(encoding="utf-8") for note in notes] == ["mine"] * len(notes)


# --- a full disk ---


@pytest.mark.parametrize("operation", ["write", "rename"])
def test_a_full_disk_leaves_the_older_checkpoint_and_the_same_command_goes_on(
    folder: Path, undisturbed: Path, operations: list[tuple[str, str]], operation: str
) -> None:
    moments = [
        number for number, (name, path) in enumerate(operations, start=1) if name == operation and "step-000008" in path
    ]
    run = folder / f"full-{operation}"
    with Faults(run / "checkpoints", at=moments[0], kind="full") as disk:
        assert FULL in refusal(*short(run))
    assert disk.struck
    assert set(contents(run / "checkpoints")) == {f"step-000004/{file}" for file in CHECKPOINT_FILES}

    succeed(*short(run))
    assert weights(run) == weights(undisturbed)


def test_a_full_disk_leaves_the_older_translation_at_every_moment(engine: Path, book: Path) -> None:
    output = book.parent / "out" / "book.fa"
    output.parent.mkdir()
    with Faults(output.parent) as counted:
        succeed(*translate(engine, book, output))
    whole = output.read_bytes()
    for moment in range(1, len(counted.operations)):
        write_lines(output, ["an older translation"])
        with Faults(output.parent, at=moment, kind="full") as disk:
            result = translator(*translate(engine, book, output))
        assert disk.struck
        if result.code == 2:
            assert FULL in result.err
            assert read_lines(output) == ["an older translation"], counted.operations[moment - 1]
            succeed(*translate(engine, book, output))
        assert contents(output.parent) == {"book.fa": whole}, counted.operations[moment - 1]
