"""The verb translate, as a user meets it: a line for each row of a table, and its messages for impossible arguments."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from translator.cli import main

TABLES = {
    "unnamed.tsv": ("1\tabc\n\n2\thgf dd\n", "2"),
    "rows.csv": ('id,text\n1,"abc"\n\n2,"hgf\ndd"\n', "text"),
    "rows.jsonl": ('{"text": "abc"}\n\n{"id": 2, "text": "hgf dd"}\n', "text"),
    "nested.jsonl.gz": ('{"a": {"en": "abc"}}\n{"a": {"en": ""}}\n{"a": {"en": "hgf\\ndd"}}\n', "a.en"),
}


@pytest.mark.parametrize("name", TABLES)
def test_translate_gives_a_line_for_each_row_of_a_column(
    name: str, random_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def translate(*arguments: str) -> str:
        assert main(["translate", "--run", str(random_run), *arguments]) == 0
        return capsys.readouterr().out

    content, column = TABLES[name]
    table = tmp_path / name
    data = content.encode()
    table.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    expected = translate("abc", "", "hgf dd")
    assert translate("--input", str(table), "--column", column) == expected
    output = tmp_path / "out.txt"
    translate("--input", str(table), "--column", column, "--output", str(output))
    assert output.read_text(encoding="utf-8") == expected


FILES = {
    "in.txt": "abc\n",
    "a.jsonl": '{"text": "abc"}\n{"text": 3}\n',
    "a.csv": "text\nThe dog, and the cat.\n",
    "a.tsv": "text\tid\nabc\t1\n",
    "short.tsv": "abc\t1\nabc\n",
}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        # Tables without their column.
        (["--input", "a.jsonl"], "a.jsonl is JSON Lines: say which column is to be translated"),
        (["--input", "in.txt", "--column", "1"], "--column 1 chooses a column of TSV, CSV or JSON Lines, and "),
        (["--input", "a.tsv", "--column", "txt"], "no column `txt`; did you mean `text`?"),
        (["--input", "short.tsv", "--column", "2"], "short.tsv, line 2: it is no row as the others are"),
        (["--input", "a.csv", "--column", "text"], "a.csv, line 2: it is no row as the others are"),
        (["--input", "short.tsv", "--column", "9"], "no column `9`. A number counts them from 1. Columns: 1, 2"),
        (["--input", "a.jsonl", "--column", "text"], "line 2: the row has no text in column"),
        # Options that do not go together.
        (["--column", "text", "abc"], "--column needs --input FILE"),
        (["--n-best", "2", "abc"], "`search.method: greedy` finds one translation of a sentence, not 2"),
        (["--n-best", "0", "abc"], "--n-best 0 is too small; give 1 or more"),
        (["--attention", "abc"], "--attention is a matrix, which --format text cannot hold; use --format jsonl"),
        (["--scores", "abc"], "--scores does not fit plain text; add --format tsv or --format jsonl"),
        (["--input", "in.txt", "abc"], "text is given both as arguments and as --input"),
        (["--input", "in.txt", "--output", "none/out.txt"], "the folder of the output none/out.txt does not exist"),
        (["--set", "model.d_model=32", "abc"], "a trained run cannot take these settings"),
        (["abc", "caf\udce9"], "argument 2 is not UTF-8; convert it first"),
        (["--prefix", "\udce9", "abc"], "--prefix is not UTF-8; convert it first"),
    ],
)
def test_translate_refuses_impossible_arguments_with_one_message(
    flags: list[str], message: str, random_run: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content, encoding="utf-8")
    output = ["--output", "out.txt"] if "--input" in flags and "--output" not in flags and "abc" not in flags else []
    assert main(["translate", "--run", str(random_run), *flags, *output]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("translator: ") == 1
    assert captured.out == ""
    assert {path.name for path in tmp_path.iterdir()} == FILES.keys()
