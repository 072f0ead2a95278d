"""The model card says what the model is, and its code works as it stands."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from export.runs import config_of, small_run

from translator import Translator
from translator.evaluation.metrics import Score
from translator.evaluation.score_file import add_scores
from translator.export import FORMATS, export_run

SENTENCE = "The children are at school."


def score(value: float, checkpoint: str) -> Score:
    return Score(
        test_set="tatoeba",
        metric="bleu",
        score=value,
        signature="nrefs:1|tok:13a",
        normalization="raw",
        search="beam-5",
        checkpoint=checkpoint,
        sentences=7,
        interval=(value - 1.0, value + 1.0),
    )


@pytest.mark.parametrize("name", FORMATS)
def test_the_code_works(name: str, subword_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small_run(tmp_path, subword_folder)
    path = export_run(run.path, name, tmp_path / "out")
    (code,) = re.findall(r"```python\n(.*?)```", (path / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert SENTENCE in code
    monkeypatch.chdir(path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own words
    (line,) = printed.getvalue().splitlines()
    # A model that was never trained does not end by itself, and each program has a longest length of its own.
    assert line[:4] == Translator.load(run.path).translate(SENTENCE)[:4] != ""


def test_data_licence_scores_and_rules(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    add_scores(run.evaluation_folder, [score(12.34, "step-000005"), score(98.76, "step-000001")])
    card = (export_run(run.path, "safetensors", tmp_path / "out") / "README.md").read_text(encoding="utf-8")
    assert "| sample | train | It comes with translator, Apache 2.0. |" in card
    assert "| tatoeba | test | not said; a public corpus of this name is Tatoeba" in card
    assert "CC BY 2.0 FR" in card
    assert "12.34 (11.34–13.34)" in card
    assert r"`nrefs:1\|tok:13a`" in card
    assert "98.76" not in card, "a score of other weights"
    assert "normalizer version 2" in card
    assert "digits: persian" in card
    assert "up to 60 tokens" in card


def test_what_was_not_measured_is_not_told(subword_folder: Path, tmp_path: Path) -> None:
    run = small_run(tmp_path, subword_folder)
    card = (export_run(run.path, "safetensors", tmp_path / "out") / "README.md").read_text(encoding="utf-8")
    assert "Checkpoint step-000005 was not evaluated before it was exported." in card


def test_switches_that_are_not_the_usual_ones_are_in_the_code(subword_folder: Path, tmp_path: Path) -> None:
    from translator.export.model_card import _changed

    config = config_of(tmp_path)
    rules = config.corpus.normalization.model_copy(update={"quotes": False, "digits": "latin"})
    corpus = config.corpus.model_copy(update={"normalization": rules})
    assert _changed(config) == ""
    assert _changed(config.model_copy(update={"corpus": corpus})) == "digits='latin', quotes=False"
