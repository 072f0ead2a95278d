"""A fitted confidence is calibrated: of the sentences with a confidence of 70%, 70% are good."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from translator.config import SearchConfig
from translator.evaluation.confidence_fit import fit, judgement, keep_confidence, predict
from translator.inference.confidence import read_confidence
from translator.inference.translation import Translation
from translator.run.folder import RunFolder


def test_the_fit_finds_the_probabilities_that_made_the_data() -> None:
    draws = np.random.default_rng(1)
    inputs = np.column_stack([np.ones(8000), draws.normal([-1, 3, 0], [0.5, 0.7, 0.3], (8000, 3))])
    true = predict(np.array([-2.0, 1.5, 1.2, -2.5]), inputs)
    good = draws.random(8000) < true
    found = predict(fit(inputs[:4000], good[:4000]), inputs[4000:])
    assert np.abs(found - true[4000:]).mean() < 0.05
    measured = judgement(found, good[4000:])
    assert measured["calibration_error"] < 0.05


@pytest.mark.parametrize("good", [[True] * 40, [False] * 40, [True] * 20 + [False] * 20])
def test_data_without_a_doubt_give_a_finite_fit(good: list[bool]) -> None:
    inputs = np.column_stack([np.ones(40), np.linspace(20, -20, 40)])
    found = predict(fit(inputs, np.array(good)), inputs)
    assert np.all((found > 0.5) == good)


def test_the_error_is_by_how_much_the_tenths_miss_their_shares() -> None:
    measured = judgement(np.array([0.9, 0.8, 0.3, 0.2]), np.array([True, False, True, False]))
    assert measured["calibration_error"] == pytest.approx((0.1 + 0.8 + 0.7 + 0.2) / 4)


def test_no_sentence_is_judged_by_a_fit_on_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Among the sentences with even numbers the good ones have high scores; among the others they have low ones.
    run = RunFolder(tmp_path)
    (run.checkpoints_folder / "step-000001").mkdir(parents=True)
    translations = []
    for number in range(80):
        is_good, is_high = number % 4 < 2, number % 4 in (0, 3)
        score = -1.0 if is_high else -9.0
        text = "نامه" if is_good else "x"
        translations.append([Translation(text, score, score, tokens=1, pieces=1, finished=True, source_tokens=1)])
    translator = SimpleNamespace(search=SearchConfig(), translations=lambda sources: translations)
    monkeypatch.setattr("translator.evaluation.confidence_fit.Translator.load", lambda *_, **options: translator)
    keep_confidence(run, [(str(number), "نامه") for number in range(80)])
    confidence = read_confidence(run.confidence_file, "step-000001")
    assert confidence is not None
    assert confidence.measured["calibration_error"] > 0.9
