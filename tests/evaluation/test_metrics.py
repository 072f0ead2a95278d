"""The order of scores, the length ratio, and spBLEU."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu.tokenizers.tokenizer_spm
import sacrebleu.utils
import sentencepiece

from translator.config import MetricName, NormalizationConfig
from translator.evaluation.metrics import Score, compute_scores, spbleu_lacks
from translator.evaluation.text_variants import RAW, text_variants

HYPOTHESES = ["من به خانه می‌روم.", "او کتاب را خواند."]
REFERENCES = [("من به خانه مي‌روم.",), ("او کتاب خوبی را خواند .",)]
ALL: tuple[MetricName, ...] = ("chrf++", "bleu_intl", "chrf", "bleu", "ter")
SPBLEU_MODEL = "flores200sacrebleuspm"


@pytest.mark.parametrize("metrics", [ALL, ("chrf++",)])
def test_raw_bleu_13a_is_always_computed_and_listed_first(metrics: tuple[MetricName, ...]) -> None:
    first = compute_scores(HYPOTHESES, REFERENCES, metrics=metrics, variants=text_variants(NormalizationConfig()))[0]
    assert (first.metric, first.normalization) == ("bleu", "raw")
    assert "tok:13a" in first.signature


def test_scores_are_sorted_by_text_variant_and_then_as_the_metrics_are_given() -> None:
    scores = compute_scores(
        HYPOTHESES, REFERENCES, metrics=("ter", "bleu"), variants=text_variants(NormalizationConfig())
    )
    assert [(score.metric, score.normalization) for score in scores] == [
        ("bleu", RAW),
        ("ter", RAW),
        ("ter", "normalizer-3 on both sides"),
        ("bleu", "normalizer-3 on both sides"),
        ("ter", "normalizer-3, ZWNJ as space, on both sides"),
        ("bleu", "normalizer-3, ZWNJ as space, on both sides"),
    ]


def test_the_interval_of_empty_translations_is_zero() -> None:
    assert compute_scores(["", ""], REFERENCES, metrics=("bleu",), intervals=True)[0].interval == (0, 0)


@pytest.fixture
def length_ratio() -> Score:
    """The score of a sentence with 3 of 5 tokens and one with 3 of 3."""
    hypotheses = ["او رفت.", "در باز است"]
    references = [("او به خانه رفت.", "او دیروز به خانه رفت."), ("در باز است",)]
    return compute_scores(hypotheses, references, metrics=("length_ratio",), intervals=True)[-1]


def test_length_ratio_is_computed_from_bleu_tokens(length_ratio: Score) -> None:
    assert length_ratio.score == 6 / 8
    assert "tok:13a" in length_ratio.signature


def test_the_interval_of_length_ratio_is_that_of_resampled_sentences(length_ratio: Score) -> None:
    assert length_ratio.interval is not None
    low, high = length_ratio.interval
    assert 0.5 < low < 6 / 8 < high <= 1, "resamples have ratios of 3/5, 6/8 and 1"
    assert "nrefs:var|bs:40|seed:12345|" in length_ratio.signature


def test_a_score_is_shown_with_its_interval(length_ratio: Score) -> None:
    assert replace(length_ratio, interval=(0.6, 1.0)).shown == "0.750 (0.600–1.000)"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(sacrebleu.tokenizers.tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_spbleu_names_the_missing_model_and_its_address(models: Path) -> None:
    lack = spbleu_lacks()
    assert lack is not None
    assert str(models / SPBLEU_MODEL) in lack
    assert "https://" in lack


def test_spbleu_is_computed_with_the_model_on_disk(models: Path) -> None:
    model = io.BytesIO()
    words = iter(["سلام دنیا", "در باز است", "او رفت"] * 20)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=words, model_writer=model, vocab_size=19, minloglevel=2)
    (models / SPBLEU_MODEL).write_bytes(model.getvalue())
    assert spbleu_lacks() is None
    texts = ["در باز است او رفت"]
    score = compute_scores(texts, [(text,) for text in texts], metrics=("spbleu",))[-1]
    assert score.score == pytest.approx(100)
    assert "tok:flores200" in score.signature
