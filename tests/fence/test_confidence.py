"""A run tells with each scored translation how sure it is, as far as its validation text has shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fence.files import read_json
from tests.fence.small_language import all_pairs, statement
from tests.support.command_line import refusal, succeed
from translator import Translator

SOURCE = statement("book", "old")[0]
FILE = "confidence.json"


def translation(run: Path, *options: str, text: str = SOURCE) -> dict[str, Any]:
    """Return the record of the best translation of a text."""
    result = succeed("translate", "--run", run, "--format", "jsonl", *options, text)
    best: dict[str, Any] = json.loads(result.out)["translations"][0]
    return best


@pytest.mark.parametrize(("engine", "text"), [("ctranslate2", SOURCE), ("torch", f"{SOURCE} {SOURCE}")])
def test_a_scored_translation_has_a_confidence(engine: str, text: str, small_run: Path) -> None:
    assert 0 <= translation(small_run, "--scores", "--engine", engine, text=text)["confidence"] <= 1


def test_confidence_is_told_only_with_exact_scores_of_translated_text(small_run: Path) -> None:
    assert "confidence" not in translation(small_run)
    assert "confidence" not in translation(small_run, "--scores", text="* * *")
    ((unscored,),) = Translator.load(small_run).translations([SOURCE], scored=False)
    assert unscored.confidence is None


def test_the_file_and_the_log_tell_how_right_it_is(small_run: Path) -> None:
    measured = read_json(small_run / FILE)["measured"]
    assert measured["sentences"] == 30
    assert sum(count for count, _, _ in measured["reliability"]) == 30
    log = (small_run / "log.txt").read_text(encoding="utf-8")
    assert f"calibration error {measured['calibration_error']:.3f}" in log
    assert log.count("sentences with a mean confidence of") == len(measured["reliability"])


def test_nothing_is_told_where_nothing_was_measured(small_copy: Path) -> None:
    assert "confidence" not in translation(small_copy, "--scores", "--checkpoint", "75")
    assert "confidence" not in translation(small_copy, "--scores", "--run", str(small_copy)), "of an ensemble"
    (small_copy / FILE).unlink()
    assert "confidence" not in translation(small_copy, "--scores")


@pytest.mark.parametrize("content", ["{", '{"weights": [1, 2]}'])
def test_a_damaged_file_is_one_message(content: str, small_copy: Path) -> None:
    (small_copy / FILE).write_text(content, encoding="utf-8")
    message = refusal("translate", "--run", small_copy, "--format", "jsonl", "--scores", SOURCE)
    assert message.count(FILE) == 1
    assert "is damaged" in message


def test_a_missing_file_is_made_anew(small_copy: Path) -> None:
    whole = (small_copy / FILE).read_bytes()
    (small_copy / FILE).unlink()
    succeed("train", "--config", small_copy / "config.yaml", "--set", f"run.directory={small_copy}")
    assert (small_copy / FILE).read_bytes() == whole


def test_translations_of_more_confidence_are_better(small_run: Path) -> None:
    # Of a sentence without its mark at the end, the model is not sure.
    pairs = all_pairs()
    found = Translator.load(small_run).translations([english[:-1] for english, _ in pairs])
    ranked = sorted(zip(found, pairs, strict=True), key=lambda one: one[0][0].confidence or 0.0)
    right = [translations[0].text == persian for translations, (_, persian) in ranked]
    middle = len(right) // 2
    assert sum(right[middle:]) > 1.2 * sum(right[:middle])
