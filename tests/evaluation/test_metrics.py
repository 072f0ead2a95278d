"""The order of scores, the length ratio, and spBLEU."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu.tokenizers.tokenizer_spm
import sacrebleu.utils

from translator.config import NormalizationConfig
from translator.evaluation.metrics import compute_scores, spbleu_lacks
from translator.evaluation.text_variants import RAW, text_variants

HYPOTHESES = ["من به خانه می‌روم.", "او کتاب را خواند."]
REFERENCES = [("من به خانه مي‌روم.",), ("او کتاب خوبی را خواند .",)]


def test_labels_name_the_changed_rules_and_only_raw_text_has_bleu_unasked() -> None:
    variants = text_variants(NormalizationConfig(digits="ascii"))
    labels = ["normalizer-3 on both sides digits=ascii", "normalizer-3, ZWNJ as space, on both sides digits=ascii"]
    assert list(variants) == [RAW, *labels]
    scores = compute_scores(HYPOTHESES, REFERENCES, metrics=("chrf",), variants=variants)
    chrf = [("chrf", label) for label in variants]
    assert [(score.metric, score.normalization) for score in scores] == [("bleu", RAW), *chrf]


def test_the_interval_of_empty_translations_is_zero() -> None:
    assert compute_scores(["", ""], REFERENCES, metrics=("bleu",), intervals=True)[0].interval == (0, 0)


def test_length_ratio_counts_bleu_tokens_and_its_interval_resamples_sentences() -> None:
    """A sentence has 3 of 5 tokens, and the other one 3 of 3."""
    hypotheses = ["او رفت.", "در باز است"]
    references = [("او به خانه رفت.", "او دیروز به خانه رفت."), ("در باز است",)]
    score = compute_scores(hypotheses, references, metrics=("length_ratio",), intervals=True)[-1]
    assert score.score == 6 / 8
    assert "nrefs:var|bs:40|seed:12345|" in score.signature
    assert "tok:13a" in score.signature
    assert score.interval is not None
    low, high = score.interval
    assert 0.5 < low < 6 / 8 < high <= 1, "resamples have ratios of 3/5, 6/8 and 1"
    assert replace(score, interval=(0.6, 1.0)).shown == "0.750 (0.600–1.000)"


def test_spbleu_names_its_missing_model_and_is_computed_with_it(
    random_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sacrebleu.utils, sacrebleu.tokenizers.tokenizer_spm):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path))
    place = tmp_path / "models" / "flores200sacrebleuspm"
    assert str(place) in str(spbleu_lacks())
    place.parent.mkdir()
    shutil.copyfile(random_run / "subword" / "source.model", place)
    assert spbleu_lacks() is None
    score = compute_scores(["abc def"], [("abc def",)], metrics=("spbleu",))[-1]
    assert score.score == pytest.approx(100)
    assert "tok:flores200" in score.signature


def test_the_interval_of_ter_may_lie_above_100() -> None:
    hypotheses = ["او دیروز به خانه رفت", "در باز است و هوا سرد است"]
    score = compute_scores(hypotheses, [("نه",), ("آری",)], metrics=("ter",), intervals=True)[-1]
    assert score.interval is not None
    low, high = score.interval
    assert 100 < low <= score.score <= high
