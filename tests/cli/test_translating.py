"""The verb translate, as a user meets it: its output, and its messages for impossible arguments."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.untrained import untrained_run
from translator import Translator
from translator.cli import main
from translator.inference.translation import Translation

Lines = list[str]


@pytest.fixture
def run(tiny: Any) -> Path:
    return untrained_run(tiny("search.beam_size=3", "batching.max_length=12")).path


def translate(capsys: pytest.CaptureFixture[str], run: Path, *arguments: str) -> Lines:
    assert main(["translate", "--run", str(run), *arguments]) == 0
    return capsys.readouterr().out.split("\n")[:-1]


def without_attention(translation: Translation) -> dict[str, Any]:
    """Return a translation as JSON holds it, without its attention."""
    values: dict[str, Any] = json.loads(json.dumps(translation.to_json()))
    values.pop("attention", None)
    return values


def test_translate_prints_what_the_python_api_returns(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["abc", "", "hgf dd"]
    search = ("--search", "beam", "--n-best", "2", "--prefix", "ca")
    output = ("--format", "jsonl", "--scores", "--alignment")
    printed = [json.loads(line) for line in translate(capsys, run, *search, *output, *texts)]
    assert [record["source"] for record in printed] == texts

    translator = Translator.load(run, overrides=["search.method=beam"])
    n_best = translator.translations(texts, count=2, prefixes=["ca"] * 3, attention=True)
    for record, translations in zip(printed, n_best, strict=True):
        expected = [without_attention(translation) for translation in translations]
        assert record["translations"] == expected


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of four lines, of which the second is empty and the last long."""
    path = tmp_path / "in.txt"
    path.write_bytes(b"abc\r\n\nhgf dd\n" + b"abc " * 30)
    return path


def lines_of(file: Path) -> Lines:
    return file.read_text(encoding="utf-8").split("\n")[:-1]


def test_translate_writes_a_file_as_tsv(
    run: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.tsv"
    texts = translate(capsys, run, "--input", str(source))
    flags = ["--output", str(output), "--format", "tsv", "--scores"]
    translate(capsys, run, "--input", str(source), *flags)
    rows = [line.split("\t") for line in lines_of(output)]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert [row[3] for row in rows] == texts
    assert [len(row) for row in rows] == [6] * 4


TABLES = {
    "rows.tsv": ("text\tid\nabc\t1\n\nhgf dd\t2\n", "text"),
    "unnamed.tsv": ("1\tabc\n\n2\thgf dd\n", "2"),
    "rows.csv": ('id,text\n1,"abc"\n\n2,"hgf\ndd"\n', "text"),
    "rows.jsonl": ('{"text": "abc"}\n\n{"id": 2, "text": "hgf dd"}\n', "text"),
    "nested.jsonl.gz": ('{"a": {"en": "abc"}}\n{"a": {"en": ""}}\n{"a": {"en": "hgf\\ndd"}}\n', "a.en"),
}


@pytest.mark.parametrize("name", TABLES)
def test_translate_gives_a_line_for_each_row_of_a_column(
    name: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, column = TABLES[name]
    table = tmp_path / name
    data = content.encode()
    table.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    expected = translate(capsys, run, "abc", "", "hgf dd")
    arguments = ("--input", str(table), "--column", column)
    assert translate(capsys, run, *arguments) == expected

    output = tmp_path / "out.txt"
    translate(capsys, run, *arguments, "--output", str(output))
    assert lines_of(output) == expected


@pytest.mark.parametrize(
    ("name", "content", "flags", "message"),
    [
        ("a.jsonl", '{"text": "abc"}\n', [], "a.jsonl is JSON Lines: say which column is to be translated"),
        ("a.csv.gz", "text\nabc\n", [], "a.csv.gz is CSV: say which column"),
        ("a.txt", "abc\n", ["--column", "1"], "--column 1 chooses a column of TSV, CSV or JSON Lines, and "),
        ("a.tsv", "text\tid\nabc\t1\n", ["--column", "txt"], "no column `txt`; did you mean `text`?"),
        ("a.tsv", "abc\t1\nabc\n", ["--column", "2"], "a.tsv, line 2: it is no row as the others are"),
        (
            "a.csv",
            "text\nThe dog, and the cat.\n",
            ["--column", "text"],
            "a.csv, line 2: it is no row as the others are",
        ),
        ("a.tsv", "abc\t1\n", ["--column", "9"], "no column `9`. A number counts them from 1. Columns: 1, 2"),
        ("a.jsonl", '{"text": "abc"}\n{"text": 3}\n', ["--column", "text"], "line 2: the row has no text in column"),
    ],
)
def test_translate_refuses_a_table_without_its_column(
    name: str, content: str, flags: Lines, message: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / name
    table.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    output = ["--output", str(tmp_path / "out.txt")]
    assert main(["translate", "--run", str(run), "--input", str(table), *flags, *output]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--column", "text", "abc"], "--column needs --input FILE"),
        (["--n-best", "2", "abc"], "`search.method: greedy` finds one translation of a sentence, not 2"),
        (["--search", "beam", "--n-best", "6", "abc"], "set `search.beam_size` to 6 or more"),
        (["--n-best", "0", "abc"], "--n-best 0 is too small; give 1 or more"),
        (["--attention", "abc"], "--attention is a matrix, which --format text cannot hold; use --format jsonl"),
        (
            ["--format", "tsv", "--attention", "abc"],
            "--attention is a matrix, which --format tsv cannot hold",
        ),
        (["--scores", "abc"], "--scores does not fit plain text; add --format tsv or --format jsonl"),
        (["--alignment", "abc"], "--alignment does not fit plain text"),
        (["--input", "in.txt", "abc"], "text is given both as arguments and as --input"),
        (["--input", ".", "--output", "out.txt"], "cannot read .: this is a folder"),
        (["--input", "in.txt", "--output", "none/out.txt"], "the folder of the output none/out.txt does not exist"),
        (["--set", "model.d_model=32", "abc"], "a trained run cannot take these settings"),
        (["--set", "search.beam_size=0", "abc"], "the changed configuration of "),
        (["abc", "caf\udce9"], "argument 2 is not UTF-8; convert it first"),
        (["--prefix", "\udce9", "abc"], "--prefix is not UTF-8; convert it first"),
    ],
)
def test_translate_refuses_impossible_arguments_with_one_message(
    flags: Lines, message: str, random_run: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("abc\n", encoding="utf-8")
    Path("latin.txt").write_bytes("abc\ncaf\xe9\n".encode("latin-1"))
    assert main(["translate", "--run", str(random_run), *flags]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("translator: ") == 1
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert not list(tmp_path.glob("out.txt*"))
