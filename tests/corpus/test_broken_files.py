"""Broken archives, tables, folders and disks through the whole preparation, and through the real command."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus.broken_corpora import (
    COUNT,
    aligned_numbers,
    config_of,
    contents,
    mounted,
    one_line,
    refusal,
    remount,
    rows,
    sides,
    table,
)
from corpus.sources.corpora import PACKERS, folder_of, one_file, two_files, zip_file

from translator.cli import main
from translator.config import SourceConfig
from translator.corpus import prepare_corpus
from translator.errors import CorpusError, StorageError

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def members() -> dict[str, bytes]:
    english, persian = sides(rows())
    return {"en.txt": english, "fa.txt": persian}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst", ".zip"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_cut_off(tmp_path: Path, suffix: str, kept: float) -> None:
    if suffix == ".zip":
        source = zip_file(tmp_path / "text.zip", members())
    else:
        source = one_file(tmp_path / f"text.tsv{suffix}", PACKERS[suffix](table(rows())))
    path = Path(str(source.path))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    message = refusal(source, tmp_path / "prepared")
    assert message.startswith(f"{path} is damaged or was cut off (")
    assert message.endswith("; get the file again")


def overwritten(path: Path, signature: bytes, offset: int, new: bytes) -> None:
    """Overwrite bytes of a file at an offset from the first place where a signature stands."""
    content = bytearray(path.read_bytes())
    place = content.index(signature) + offset
    content[place : place + len(new)] = new
    path.write_bytes(content)


def test_encrypted_zip(tmp_path: Path) -> None:
    source = zip_file(tmp_path / "text.zip", members())
    overwritten(tmp_path / "text.zip", b"PK\x03\x04", 6, b"\1")
    overwritten(tmp_path / "text.zip", b"PK\x01\x02", 8, b"\1")
    message = refusal(source, tmp_path / "prepared")
    assert message.endswith("the member `en.txt` is encrypted; unpack it and pack it without a password")


def test_zip_whose_numbers_lead_to_before_its_beginning(tmp_path: Path) -> None:
    source = zip_file(tmp_path / "text.zip", members())
    overwritten(tmp_path / "text.zip", b"PK\x05\x06", 16, b"\xff\xff\xff\x7f")  # where the directory is said to be
    message = refusal(source, tmp_path / "prepared")
    assert message.startswith(f"{tmp_path / 'text.zip'} is damaged (")
    assert message.endswith("; get the file again")


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt", "inside/../../outside.txt", "C:\\outside.txt"])
def test_hostile_name_in_a_zip(tmp_path: Path, name: str) -> None:
    (tmp_path / "corpora").mkdir()
    source = zip_file(tmp_path / "corpora" / "text.zip", {**members(), name: b"x"})
    before = contents(tmp_path / "corpora")
    assert f"text.zip is refused: the member `{name}` " in refusal(source, tmp_path / "prepared")
    assert contents(tmp_path / "corpora") == before
    assert not (tmp_path / "outside.txt").exists()


def test_zip_that_unpacks_to_absurdly_much(tmp_path: Path) -> None:
    path = tmp_path / "text.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("en.txt", b"House\n" * (12 << 20))
        archive.writestr("fa.txt", b"x\n")
    message = refusal(SourceConfig(name="text", path=str(path)), tmp_path / "prepared")
    assert "text.zip: the member `en.txt` unpacks to more than 67,108,864 bytes from " in message


def test_zip_in_a_zip(tmp_path: Path) -> None:
    zip_file(tmp_path / "inner.zip", members())
    inner = (tmp_path / "inner.zip").read_bytes()
    source = zip_file(tmp_path / "text.zip", {"en.txt": inner, "fa.txt": inner})
    message = refusal(source, tmp_path / "prepared")
    assert "text.zip, member en.txt holds a zip archive: packed twice; unpack it once" in message


@pytest.mark.parametrize(("line", "told"), [("House 41.", "1 column"), ("House 41.\tخانه\t0.98", "3 columns")])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_table_without_two_columns(tmp_path: Path, suffix: str, line: str, told: str) -> None:
    lines = table(rows()).split(b"\n")
    lines[40] = line.encode()
    source = one_file(tmp_path / f"text.tsv{suffix}", PACKERS[suffix](b"\n".join(lines)))
    message = refusal(source, tmp_path / "prepared")
    assert message.startswith(f"{source.path}, line 41: {told} where two are expected (English, one tab, Persian)")


def test_folder_with_a_text_that_has_no_partner(tmp_path: Path) -> None:
    english, persian = sides(rows())
    source = folder_of(tmp_path / "folder", {"a.en": english, "a.fa": persian, "b.en": english})
    message = refusal(source, tmp_path / "prepared")
    assert message.startswith(f"the folder {tmp_path / 'folder'}: b.en (English) has no Persian partner of the same")
    assert message.endswith("It holds: a.en, a.fa, b.en")


def test_second_source_that_is_broken_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    good = one_file(tmp_path / "good.tsv", table(rows())).model_copy(update={"name": "good"})
    bad = one_file(tmp_path / "text.tsv.gz", PACKERS[".gz"](table(rows()))[:-9])
    settings = config_of(bad, tmp_path / "prepared").model_copy(update={"sources": (good, bad)})
    with pytest.raises(CorpusError, match="is damaged or was cut off"):
        prepare_corpus(settings)
    assert contents(tmp_path / "prepared") == {}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 20 MiB in memory."""
    with mounted(tmp_path / "disk", "size=20m") as place:
        yield place


def test_corpus_on_a_disk_that_may_only_be_read(disk: Path, tmp_path: Path) -> None:
    source = two_files(disk, *sides(rows()))
    remount(disk, "ro")
    corpus = prepare_corpus(config_of(source, tmp_path / "prepared"))
    assert aligned_numbers(corpus) == set(range(1, COUNT + 1))


def test_prepared_folder_that_may_not_be_written(disk: Path, tmp_path: Path) -> None:
    source = two_files(tmp_path, *sides(rows()))
    (disk / "prepared").mkdir()
    remount(disk, "ro")
    with pytest.raises(StorageError) as caught:
        prepare_corpus(config_of(source, disk / "prepared"))
    message = one_line(str(caught.value))
    assert message.startswith(f"cannot write {disk / 'prepared'}")
    assert message.endswith(": the file system is read-only; choose a folder on a writable one")
    remount(disk, "rw")
    assert contents(disk) == {"prepared": None}


@pytest.mark.parametrize("left", [4, 60, 160, 300])
def test_full_disk(disk: Path, tmp_path: Path, left: int) -> None:
    """Whatever is being written when so many KiB are used up: candidates, splits or the report."""
    settings = config_of(two_files(tmp_path, *sides(rows(1000))), disk / "prepared", validation=300, test=300)
    remount(disk, f"size={left}k")
    with pytest.raises(StorageError) as caught:
        prepare_corpus(settings)
    assert one_line(str(caught.value)).endswith(
        "the disk is full; free some space there and run the same command again"
    )
    assert contents(disk) == {"prepared": None}
    remount(disk, "size=20m")
    assert aligned_numbers(prepare_corpus(settings)) == set(range(1, 1001))


Verb = Callable[[Path, str], tuple[int, str, str]]
"""Runs `translator prepare` with an override, and returns its exit code, output and errors."""


def in_a_process(recipe: Path, override: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "translator", "prepare", "--config", str(recipe), "--set", override]
    done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def in_this_process(capfd: pytest.CaptureFixture[str]) -> Verb:
    def verb(recipe: Path, override: str) -> tuple[int, str, str]:
        return main(["prepare", "--config", str(recipe), "--set", override]), *capfd.readouterr()

    return verb


def complaint(verb: Verb, recipe: Path, override: str) -> str:
    """Run a verb that must fail, and return its one message."""
    code, output, errors = verb(recipe, override)
    assert (code, output) == (2, "")
    assert "Traceback" not in errors
    bar, _, message = errors.partition("translator: ")
    assert all(line.startswith("cleaning ") for line in bar.split("\r") if line.strip())
    assert message.endswith("\n")
    return one_line(message[:-1])


def test_the_command_says_it_in_one_line(tiny_recipe: Path, disk: Path, in_this_process: Verb) -> None:
    folder = tiny_recipe.parent / "داده‌ی خراب"
    folder.mkdir()
    english, persian = sides(rows())
    two_files(folder, english, persian[:-5])
    as_two_files = f'[{{name: text, source_path: "{folder}/text.en", target_path: "{folder}/text.fa"}}]'
    message = complaint(in_a_process, tiny_recipe, f"corpus.sources={as_two_files}")
    assert message.startswith(f"{folder}/text.fa, line 60: not UTF-8 (byte 0xd8 at byte offset ")
    two_files(folder, english, b"\n".join(persian.split(b"\n")[5:]))
    message = complaint(in_this_process, tiny_recipe, f"corpus.sources={as_two_files}")
    assert message.startswith("corpus source `text`: the two sides differ in length: ")
    zip_file(folder / "text.zip", members())
    (folder / "text.zip").write_bytes((folder / "text.zip").read_bytes()[:-30])
    message = complaint(in_this_process, tiny_recipe, f'corpus.sources=[{{name: text, path: "{folder}/text.zip"}}]')
    assert message == f"{folder}/text.zip is damaged or was cut off (File is not a zip file); get the file again"
    assert contents(tiny_recipe.parent / "prepared") == {}
    remount(disk, "size=8k")
    message = complaint(in_this_process, tiny_recipe, f"corpus.prepared_directory={disk}/prepared")
    assert message.endswith("the disk is full; free some space there and run the same command again")
    assert not [name for name in contents(disk) if "partial" in name or "corpus" in name]
