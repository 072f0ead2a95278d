"""The verb `compare`: what it prints and saves, and which arguments it refuses."""

import json
from pathlib import Path

import pytest

from tests.support.translated_sets import evaluated_run, translated
from translator.cli import main

REFERENCES = ["در باز است.", "او می‌خواند.", "هوا سرد است."]


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """Two run folders that were evaluated on one test set; the second translates without a mistake."""
    first = evaluated_run(tmp_path / "first", translated(["نو"] * 3, REFERENCES, system="first"))
    second = evaluated_run(tmp_path / "second", translated(REFERENCES, REFERENCES, system="second"))
    return str(first), str(second)


def test_compare_prints_and_saves_the_comparison(
    runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "compared.json"
    scores = ["--metrics", "chrf", "--text", "raw", "folded"]
    assert main(["compare", *runs, *scores, "--json", str(saved)]) == 0
    printed = capsys.readouterr().out
    assert "held: 3 sentences; differences and p-values against first" in printed
    assert "second against first by sentence (chrF, raw): 3 better, 0 worse, 0 alike" in printed
    assert "ZWNJ as space" in printed

    (values,) = json.loads(saved.read_text(encoding="utf-8"))
    assert values["systems"] == ["first", "second"]
    assert len(values["tests"]) == 4
    assert values["tests"][0]["systems"][1]["difference"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{run}"], "a comparison needs at least two systems"),
        (["{run}", "{run}", "--json", "{folder}"], "cannot write {folder}: this is a folder"),
    ],
)
def test_compare_refuses_wrong_arguments(
    runs: tuple[str, str], arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"run": runs[0], "folder": tmp_path}
    filled_arguments = [argument.format(**names) for argument in arguments]
    assert main(["compare", *filled_arguments]) == 2
    printed = capsys.readouterr()
    assert message.format(**names) in printed.err
    assert not printed.out
