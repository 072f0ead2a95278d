"""Scores agree with sacreBLEU's command line, carry signatures, and refuse what cannot be scored."""

from typing import Any

import pytest
import sacrebleu

from translator.config import MetricName, NormalizationConfig
from translator.errors import InputError
from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.text_variants import normalization_label

HYPOTHESES = ["من به خانه می‌روم.", "او کتاب را خواند."]
REFERENCES = ["من به خانه مي‌روم.", "او کتاب خوبی را خواند ."]
ALL: tuple[MetricName, ...] = ("chrf++", "bleu_intl", "chrf", "bleu")


def test_scores_are_sacrebleus() -> None:
    found = {score.metric: score for score in compute_scores(HYPOTHESES, REFERENCES, metrics=ALL)}
    expected: dict[MetricName, Any] = {
        "bleu": sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="13a"),
        "bleu_intl": sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="intl"),
        "chrf": sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]),
        "chrf++": sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2),
    }
    assert {name: score.score for name, score in found.items()} == {
        name: value.score for name, value in expected.items()
    }
    parts: dict[MetricName, str] = {"bleu": "tok:13a", "bleu_intl": "tok:intl", "chrf": "nw:0", "chrf++": "nw:2"}
    for name, part in parts.items():
        assert part in found[name].signature
        assert f"version:{sacrebleu.__version__}" in found[name].signature


def test_bleu_13a_on_raw_text_comes_first_also_unasked() -> None:
    only: tuple[MetricName, ...] = ("chrf",)
    for metrics in (ALL, only):
        first = compute_scores(HYPOTHESES, REFERENCES, metrics=metrics, normalization=NormalizationConfig())[0]
        assert (first.metric, first.normalization) == ("bleu", "raw")
        assert "tok:13a" in first.signature


def test_raw_and_normalized_on_both_sides() -> None:
    # The normalizer makes Arabic yeh Persian and closes the space before the full stop: both sides become alike.
    references = ["من به خانه مي‌روم .", "او کتاب را خواند ."]
    hypotheses = ["من به خانه می‌روم.", "او كتاب را خواند."]
    scores = compute_scores(
        hypotheses, references, metrics=("bleu", "chrf"), normalization=NormalizationConfig(), test_set="x"
    )
    assert [(score.metric, score.normalization == "raw") for score in scores] == [
        ("bleu", True),
        ("chrf", True),
        ("bleu", False),
        ("chrf", False),
        ("bleu", False),
        ("chrf", False),
    ]
    raw, normalized = scores[1], scores[3]
    assert raw.score < 99
    assert normalized.score == pytest.approx(100)
    assert "both sides" in normalized.normalization
    assert {score.sentences for score in scores} == {2}


def test_other_rules_have_another_name() -> None:
    assert normalization_label(NormalizationConfig()) == "normalizer-2 on both sides"
    assert normalization_label(NormalizationConfig(digits="ascii")) == "normalizer-2 on both sides digits=ascii"


def test_sides_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match=r"2 translations against 1 references of test set `flores`: .* same number"):
        compute_scores(HYPOTHESES, REFERENCES[:1], metrics=ALL, test_set="flores")


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to score of test set `flores`: there is not one sentence"):
        compute_scores([], [], metrics=ALL, test_set="flores")


def test_a_score_is_the_entry_of_the_design() -> None:
    score = compute_scores(HYPOTHESES, REFERENCES, metrics=("bleu",), test_set="t", search="greedy", checkpoint="c")[0]
    entry = score.to_json()
    assert list(entry) == [
        "test_set",
        "metric",
        "score",
        "signature",
        "normalization",
        "search",
        "checkpoint",
        "sentences",
    ]
    assert Score(**entry) == score


def test_empty_hypotheses_score_zero() -> None:
    assert compute_scores(["", ""], REFERENCES, metrics=("bleu",))[0].score == 0
