"""The verb back-translate: the text that it reads, the pairs that it makes, and what it refuses."""

import gzip
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_runs import config_of, read_lines, sentences, to_persian, write_lines
from translator.cli import main
from translator.core import TAG
from translator.corpus.derived import synthetic_pairs
from translator.inference.translator import Translator

pytestmark = pytest.mark.usefixtures("little_effort")
PERSIAN = [to_persian(text) for text in sentences(range(900, 930))]


def back_translate(folder: Path, *flags: str, run: str = "fa-en") -> int:
    return main(["back-translate", "--run", str(folder / run), "--output", str(folder / "synthetic"), *flags])


@pytest.fixture
def flags(folder: Path, tmp_path: Path) -> list[str]:
    """A plain and a packed file of PERSIAN, with lines that are left out, and a filter that nothing passes."""
    empty = ""
    repeated = f"{PERSIAN[0]}."
    too_long = "ا " * 200
    not_utf8 = b"\xff\xfe\n"
    lines = [*PERSIAN[:20], empty, repeated, too_long]
    plain = tmp_path / "plain.txt"
    plain.write_bytes("".join(f"{line}\n" for line in lines).encode() + not_utf8)

    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress("\n".join(PERSIAN[20:]).encode()))

    impossible_filter = ["--round-trip", str(folder / "en-fa"), "--min-chrf", "100"]
    return ["--monolingual", str(plain), str(packed), *impossible_filter]


class Printed(NamedTuple):
    out: str
    err: str


@pytest.fixture
def printed(folder: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a back-translation prints that keeps no pair."""
    assert back_translate(folder, *flags) == 2
    return Printed(*capsys.readouterr())


def test_unusable_lines_are_counted_and_named(printed: Printed) -> None:
    assert "Persian lines: kept 30, empty 1, repeated 1, too long 1, not UTF-8 1" in printed.out
    assert "plain.txt: 1 line is not UTF-8 and left out (24)" in printed.err


def test_no_pair_is_left_if_no_round_trip_gives_the_same_text(printed: Printed) -> None:
    assert "no back-translated pair is left" in printed.err
    assert "Next" not in printed.out


@pytest.mark.usefixtures("printed")
def test_back_translation_writes_aligned_text(folder: Path) -> None:
    output = folder / "synthetic"
    english = read_lines(output / "translated.en")
    assert read_lines(output / "monolingual.fa") == PERSIAN
    assert english == Translator.load(folder / "fa-en").translate_lines(PERSIAN)
    assert read_lines(output / "round-trip.fa") == Translator.load(folder / "en-fa").translate_lines(english)


@pytest.mark.usefixtures("printed")
def test_translations_are_reused(folder: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert back_translate(folder, *flags) == 2
    assert capsys.readouterr().out.count("exists and is reused") == 2


def test_monolingual_text_in_another_encoding_is_refused_with_its_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.fa"
    old.write_bytes("کتاب کجاست؟\nدر باز است.\n".encode("windows-1256"))
    assert back_translate(folder, "--monolingual", str(old)) == 2
    message = capsys.readouterr().err
    assert "old.fa, line 1: not UTF-8" in message
    assert "`iconv -f WINDOWS-1256 " in message


def test_text_of_empty_lines_is_refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n", encoding="utf-8")
    assert back_translate(folder, "--monolingual", str(empty)) == 2
    assert "has text to translate" in capsys.readouterr().err
    assert list(folder.rglob("*.new")) == []


class Synthetic(NamedTuple):
    """Synthetic pairs in `path`.en and .fa, and the lines that went through the filters."""

    path: Path
    counts: dict[str, int]
    english: list[str]
    persian: list[str]


@pytest.fixture
def synthetic(folder: Path, tmp_path: Path) -> Synthetic:
    """40 pairs, of which the first four are unusable: empty, twice too long, and with a bad round trip."""
    english = sentences(range(1000, 1040))
    persian = [to_persian(text) for text in english]
    english[0] = ""
    persian[1] = persian[1] * 4
    english[2] = english[2] * 3
    scores = [50.0] * 40
    scores[3] = 0.0
    filters = config_of(folder, "fa-en").corpus.filters
    pairs, counts = synthetic_pairs(english, persian, filters, scores, 20)
    path = tmp_path / "synthetic"
    write_lines(path.with_suffix(".en"), [pair[0] for pair in pairs])
    write_lines(path.with_suffix(".fa"), [pair[1] for pair in pairs])
    return Synthetic(path=path, counts=dict(counts), english=english[4:], persian=persian[4:])


def test_synthetic_pairs_are_filtered(synthetic: Synthetic) -> None:
    assert synthetic.counts == {"kept": 36, "empty": 1, "length_ratio": 2, "round_trip": 1}
    assert read_lines(synthetic.path.with_suffix(".fa")) == synthetic.persian


def test_synthetic_english_is_tagged(synthetic: Synthetic) -> None:
    tagged = [f"{TAG} {text}" for text in synthetic.english]
    assert read_lines(synthetic.path.with_suffix(".en")) == tagged


@pytest.fixture
def texts_of_the_user(tmp_path: Path) -> Path:
    """A folder of a user with files whose names back-translate would use."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("monolingual.fa", "translated.en", "synthetic.fa"):
        (folder / name).write_text("ابپ تجچ\n", encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("monolingual", "message"),
    [
        ("texts/monolingual.fa", "monolingual.fa was not made by this command"),
        ("other.fa", "monolingual.fa was not made by this command"),
    ],
)
def test_back_translation_replaces_no_file_of_the_user(
    folder: Path, texts_of_the_user: Path, monolingual: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = texts_of_the_user.parent
    (place / "other.fa").write_text("ابپ\n", encoding="utf-8")
    before = contents(texts_of_the_user)
    command = ["back-translate", "--run", str(folder / "fa-en"), "--output", str(texts_of_the_user)]
    assert main([*command, "--monolingual", str(place / monolingual)]) == 2
    assert message in capsys.readouterr().err
    assert contents(texts_of_the_user) == before
