"""Intervals are sacreBLEU's own, without its memory."""

from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from translator.config import MetricName
from translator.evaluation import bootstrap
from translator.evaluation.bootstrap import interval, resampled_sums
from translator.evaluation.metrics import compute_scores

WORDS = ["در", "باز", "است", "و", "او", "به", "خانه", "می\u200cرود", "کتاب", "را", "خواند"]


def sentences(count: int, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(3, 9))) for _ in range(count)]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("bleu", BLEU(tokenize="13a", force=True)),
        ("bleu_intl", BLEU(tokenize="intl", force=True)),
        ("chrf", CHRF()),
        ("chrf++", CHRF(word_order=2)),
        ("ter", TER()),
    ],
)
def test_score_interval_and_signature_are_sacrebleus(name: MetricName, metric: Any) -> None:
    hypotheses, first, second = (sentences(30, seed) for seed in (1, 2, 3))
    found = compute_scores(hypotheses, list(zip(first, second, strict=True)), metrics=(name,), bootstrap_samples=100)[
        -1
    ]
    expected = metric.corpus_score(hypotheses, [first, second], n_bootstrap=100)
    assert found.score == expected.score
    assert found.interval is not None
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(expected._ci, rel=1e-5)
    assert found.signature == str(metric.get_signature())
    assert "bs:100|seed:12345" in found.signature


def test_how_many_are_drawn_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(1).integers(0, 9, size=(17, 3)).astype(np.float64)
    whole = resampled_sums(counts, 60)
    monkeypatch.setattr(bootstrap, "_DRAWN_AT_ONCE", 40)
    assert np.array_equal(resampled_sums(counts, 60), whole)
    assert whole.shape == (60, 3)


def test_the_interval_leaves_out_a_fortieth_at_either_end() -> None:
    assert interval([float(value) for value in range(80)]) == (2.0, 77.0)
