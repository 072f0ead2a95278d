"""Whatever goes wrong, what a user had before a command is still there after it, and the next attempt works."""

import shutil
from pathlib import Path

import pytest

from tests.fence.short_runs import steps, train_short, weights
from tests.fence.small_language import all_pairs, statement
from tests.support.command_line import Finished, translator
from tests.support.faults import Faults

ENGLISH, PERSIAN = statement("book", "new")
FULL = "the disk is full; free some space there and run the same command again"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A text to translate, alone in its folder."""
    file = tmp_path / "books" / "book.en"
    file.parent.mkdir()
    file.write_text(f"{ENGLISH}\n" * 3, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def operations(folder: Path) -> list[tuple[str, str]]:
    """What a run on a disk with room does to its checkpoints, in order."""
    with Faults(folder / "roomy" / "checkpoints") as faults:
        assert train_short(folder / "roomy").code == 0
    return faults.operations


@pytest.fixture(scope="module")
def engine(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small run for translations, which may write their engine into it."""
    return shutil.copytree(small_run, tmp_path_factory.mktemp("engine") / "run", symlinks=True)


def translate(run: Path, text: Path, output: Path) -> Finished:
    return translator("translate", "--run", run, "--input", text, "--output", output)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its path in it, but the locks of runs."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


# --- what is there already ---


def test_an_input_is_never_the_output(engine: Path, book: Path) -> None:
    before = contents(book.parent)
    link, hard_link = book.with_name("link.en"), book.with_name("hard-link.en")
    link.symlink_to(book)
    hard_link.hardlink_to(book)
    for output in (book, link, hard_link):
        refused = translate(engine, book, output)
        assert refused.code == 2
        assert f"the output {output} is the input itself; give another output" in refused.err
    assert contents(book.parent)["book.en"] == before["book.en"]


@pytest.mark.parametrize("file", ["config.yaml", "checkpoints/last/model.safetensors", "evaluation/scores.json"])
def test_a_file_of_a_run_is_never_the_output(engine: Path, book: Path, file: str) -> None:
    before = (engine / file).read_bytes()
    refused = translate(engine, book, engine / file)
    assert refused.code == 2
    assert f"is a file of the run {engine}; give another output" in refused.err
    assert (engine / file).read_bytes() == before


def test_a_translation_replaces_its_output_and_nothing_beside_it(engine: Path, book: Path) -> None:
    names = ["book.fa.bak", "book.fa.partial", "book.fa.tmp", ".book.fa", ".book.fa.12345678.tmp"]
    for name in names:
        book.with_name(name).write_text("mine", encoding="utf-8")
    output = book.with_name("book.fa")
    output.write_text("an older translation\n", encoding="utf-8")
    assert translate(engine, book, output).code == 0
    assert output.read_text(encoding="utf-8") == f"{PERSIAN}\n" * 3
    assert set(contents(book.parent)) == {*names, "book.en", "book.fa"}
    assert {book.with_name(name).read_text(encoding="utf-8") for name in names} == {"mine"}


def test_a_folder_of_somebody_else_becomes_no_run_and_no_export(folder: Path, small_run: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    (theirs / "notes.txt").write_text("mine", encoding="utf-8")
    refused = train_short(theirs)
    assert refused.code == 2
    assert f"{theirs} is not empty and not a run" in refused.err
    refused = translator("export", "--run", small_run, "--to", "safetensors", theirs)
    assert refused.code == 2
    assert "existing files are never overwritten" in refused.err
    assert contents(theirs) == {"notes.txt": b"mine"}


def test_notes_in_a_run_stay_while_it_is_trained_on(folder: Path) -> None:
    run = folder / "notes"
    assert train_short(run, "training.max_steps=2").code == 0
    notes = [run / "notes.txt", run / "checkpoints" / "notes.txt", run / "tensorboard" / "notes.txt"]
    notes += [run / "checkpoints" / "step-000002-copy" / "notes.txt", run / "subword" / "notes.txt"]
    for note in notes:
        note.parent.mkdir(exist_ok=True)
        note.write_text("mine", encoding="utf-8")
    assert train_short(run, "training.keep_checkpoints=1", "training.checkpoint_every=1").code == 0
    assert steps(run) == [8]
    assert [note.read_text(encoding="utf-8") for note in notes] == ["mine"] * len(notes)


# --- a full disk ---


@pytest.mark.parametrize("operation", ["write", "rename"])
def test_a_full_disk_leaves_the_older_checkpoint_and_the_same_command_goes_on(
    folder: Path, operations: list[tuple[str, str]], operation: str
) -> None:
    moments = [
        number for number, (name, path) in enumerate(operations, start=1) if name == operation and "step-000008" in path
    ]
    run = folder / f"full-{operation}"
    with Faults(run / "checkpoints", at=moments[0], kind="full") as disk:
        failed = train_short(run)
    assert disk.struck
    assert failed.code == 2
    assert FULL in failed.err
    files = ("model.safetensors", "optimizer.safetensors", "state.json")
    assert set(contents(run / "checkpoints")) == {f"step-000004/{file}" for file in files}

    assert train_short(run).code == 0
    assert weights(run) == weights(folder / "roomy")


def test_a_full_disk_leaves_the_older_translation_at_every_moment(engine: Path, book: Path) -> None:
    output = book.parent / "out" / "book.fa"
    output.parent.mkdir()
    with Faults(output.parent) as counted:
        assert translate(engine, book, output).code == 0
    whole = output.read_bytes()
    for moment in range(1, len(counted.operations)):
        output.write_text("an older translation\n", encoding="utf-8")
        with Faults(output.parent, at=moment, kind="full") as disk:
            result = translate(engine, book, output)
        assert disk.struck
        if result.code == 2:
            assert FULL in result.err
            assert output.read_text(encoding="utf-8") == "an older translation\n", counted.operations[moment - 1]
            assert translate(engine, book, output).code == 0
        assert contents(output.parent) == {"book.fa": whole}, counted.operations[moment - 1]


def test_a_translation_that_was_stopped_by_a_full_disk_goes_on_where_it_was(engine: Path, tmp_path: Path) -> None:
    sources = [f"{english} {number}" for number in range(3) for english, _ in all_pairs()]
    text = tmp_path / "long.en"
    text.write_text("".join(f"{source}\n" for source in sources), encoding="utf-8")
    output = tmp_path / "out" / "long.fa"
    output.parent.mkdir()
    with Faults(output.parent) as counted:
        assert translate(engine, text, output).code == 0
    whole = output.read_bytes()
    output.unlink()
    writes = [number for number, (name, _) in enumerate(counted.operations, start=1) if name == "write"]
    assert len(writes) > 3, "the text has several parts"
    with Faults(output.parent, at=writes[2], kind="full"):
        assert translate(engine, text, output).code == 2
    assert translate(engine, text, output).code == 0
    assert output.read_bytes() == whole


def test_a_full_disk_leaves_no_half_of_an_export(small_run: Path, tmp_path: Path) -> None:
    place = tmp_path / "exports"
    place.mkdir()
    export = ("export", "--run", small_run, "--to", "safetensors", place / "model")
    with Faults(place) as counted:
        assert translator(*export).code == 0
    whole = set(contents(place))
    writes = [number for number, (name, _) in enumerate(counted.operations, start=1) if name in ("write", "rename")]
    for moment in (writes[0], writes[-1]):
        shutil.rmtree(place)
        place.mkdir()
        with Faults(place, at=moment, kind="full") as disk:
            failed = translator(*export)
        assert disk.struck
        assert failed.code == 2
        assert FULL in failed.err
        assert list(place.iterdir()) == []
    assert translator(*export).code == 0
    assert set(contents(place)) == whole
