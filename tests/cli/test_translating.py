"""The verb translate, as a person meets it: what comes out, and what is said of what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest
from untrained import untrained_run

from translator import Translator
from translator.cli import main

Lines = list[str]


@pytest.fixture
def run(tiny: Any) -> Path:
    """The folder of a run that was never trained."""
    return untrained_run(tiny("search.beam_size=3", "batching.max_length=12")).path


def translate(capsys: pytest.CaptureFixture[str], run: Path, *arguments: str) -> Lines:
    """Return the lines that the verb prints."""
    assert main(["translate", "--run", str(run), *arguments]) == 0
    return capsys.readouterr().out.split("\n")[:-1]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the verb, which must fail, and return its one message."""
    assert main(["translate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err[captured.err.rindex("translator: ") :]


def test_the_verb_says_what_python_says(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["abc", "", "hgf dd"]
    flags = ("--search", "beam", "--n-best", "2", "--format", "jsonl", "--scores", "--alignment", "--prefix", "ca")
    printed = [json.loads(line) for line in translate(capsys, run, *flags, *texts)]
    translator = Translator.load(run, overrides=["search.method=beam"])
    found = translator.translations(texts, count=2, prefixes=["ca"] * 3, attention=True)
    assert [record["source"] for record in printed] == texts
    for record, translations in zip(printed, found, strict=True):
        expected = [translation.to_json() for translation in translations]
        for one in expected:
            one.pop("attention", None)
        assert record["translations"] == expected


def test_a_file_in_every_form(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_bytes(b"abc\r\n\nhgf dd\n" + b"abc " * 30)
    plain = translate(capsys, run, "--input", str(source))
    assert len(plain) == 4
    assert plain[1] == ""
    assert translate(capsys, run, "--input", str(source), "--output", str(output)) == []
    assert output.read_text(encoding="utf-8").split("\n")[:-1] == plain
    translate(capsys, run, "--input", str(source), "--output", str(output), "--format", "tsv", "--scores")
    rows = [line.split("\t") for line in output.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert [row[3] for row in rows] == plain
    assert all(len(row) == 6 for row in rows)


def test_an_ensemble(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert translate(capsys, run, "--run", str(run), "abc") == translate(capsys, run, "abc")


def test_draws(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--search", "sampling", "--n-best", "4", "--format", "tsv")
    lines = translate(capsys, run, *flags, "abc")
    assert len(lines) == 4
    assert len({line.split("\t")[3] for line in lines}) > 1
    assert translate(capsys, run, *flags, "abc") == lines, "the seed is the same"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--n-best", "2", "abc"], "`search.method: greedy` finds one translation of a sentence, not 2"),
        (["--search", "beam", "--n-best", "4", "abc"], "set `search.beam_size` to 4 or more"),
        (["--n-best", "0", "abc"], "--n-best 0: a text has at least one translation"),
        (["--search", "sampling", "--beam", "4", "abc"], "--beam 4 means nothing with --search sampling"),
        (["--attention", "abc"], "--attention, a matrix, has no place in --format text; add --format jsonl"),
        (["--scores", "abc"], "--scores has no place in plain text"),
        (["--output", "out.txt", "abc"], "--output needs --input FILE"),
        (["--input", "in.txt", "abc"], "text is given as arguments and as --input"),
        (["--input", "none.txt", "--output", "out.txt"], "cannot read none.txt: it is not there"),
        (["--input", "none.txt"], "cannot read none.txt: it is not there"),
        (["--input", ".", "--output", "out.txt"], "cannot read .: this is a folder"),
        (["--input", "in.txt", "--output", "in.txt"], "the output in.txt is the input itself"),
        (["--input", "in.txt", "--output", "none/out.txt"], "the folder of the output none/out.txt is not there"),
        (["--input", "latin.txt", "--output", "out.txt"], "line 2 of the input is not UTF-8 (byte 4 of the line)"),
        (["--checkpoint", "77", "abc"], "no checkpoint `77`"),
        (["--device", "cuda:99", "abc"], "run.device is `cuda:99`"),
        (["--run", "nowhere", "abc"], "no run at nowhere"),
        (["--set", "model.d_model=32", "abc"], "a trained run cannot take these settings"),
        (["--processes", "-1", "abc"], "search.processes"),
        (["--beam", "0", "abc"], "--beam 0: a beam is at least 1 hypothesis wide"),
        (["--set", "search.beam_size=0", "abc"], "what is set for "),
        (["abc", "caf\udce9"], "argument 2 is not UTF-8; convert it first"),
        (["--prefix", "\udce9", "abc"], "--prefix is not UTF-8; convert it first"),
    ],
)
def test_what_cannot_be(
    flags: Lines,
    message: str,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("abc\n", encoding="utf-8")
    Path("latin.txt").write_bytes("abc\ncaf\xe9\n".encode("latin-1"))
    assert message in complaint(capsys, "--run", str(run), *flags)
    assert not Path("out.txt").exists()
    assert not Path("out.txt.partial").exists()
