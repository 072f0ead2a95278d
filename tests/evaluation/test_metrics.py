"""Scores, intervals and signatures equal sacreBLEU's; each text variant forgives more than the last; spBLEU."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import sacrebleu.tokenizers.tokenizer_spm
import sacrebleu.utils
import sentencepiece
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from translator.config import MetricName, NormalizationConfig
from translator.errors import InputError
from translator.evaluation.metrics import RAW, Score, compute_scores, spbleu_lacks, text_variants

HYPOTHESES = ["من به خانه می‌روم.", "او کتاب را خواند."]
REFERENCES = ["من به خانه مي‌روم.", "او کتاب خوبی را خواند ."]
ALL: tuple[MetricName, ...] = ("chrf++", "bleu_intl", "chrf", "bleu", "ter")
WORDS = ["در", "باز", "است", "و", "او", "به", "خانه", "می\u200cرود", "کتاب", "را", "خواند"]
SPBLEU_MODEL = "flores200sacrebleuspm"


def sentences(count: int, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(3, 9))) for _ in range(count)]


@pytest.mark.parametrize("count", ["equal", "variable"])
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
def test_score_interval_and_signature_equal_those_of_sacrebleu(name: MetricName, metric: Any, count: str) -> None:
    hypotheses, first, second = (sentences(30, seed) for seed in (1, 2, 3))
    references: list[tuple[str, ...]] = list(zip(first, second, strict=True))
    sides: list[list[Any]] = [first, second]
    if count == "variable":  # half of the sentences lack the second
        references = [texts[: 1 + number % 2] for number, texts in enumerate(references)]
        sides[1] = [text if number % 2 else None for number, text in enumerate(second)]
    found = compute_scores(hypotheses, references, metrics=(name,), bootstrap_samples=100)[-1]
    expected = metric.corpus_score(hypotheses, sides, n_bootstrap=100)
    assert found.score == expected.score
    assert found.interval is not None
    # In single precision.
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(expected._ci, abs=1e-5)
    assert sum(found.interval) / 2 == pytest.approx(expected._mean, abs=1e-5)
    assert found.signature == str(metric.get_signature())
    assert found.signature.startswith(f"nrefs:{'2' if count == 'equal' else 'var'}|bs:100|seed:12345|")


@pytest.mark.parametrize("texts", [("بله.", " "), ()])
def test_scoring_refuses_a_sentence_with_a_blank_or_no_reference(texts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="sentence 2 of test set `flores` has no reference, or a blank one"):
        compute_scores(HYPOTHESES, [("بله.",), texts], metrics=ALL, test_set="flores")


def test_raw_bleu_13a_is_always_computed_and_listed_first() -> None:
    for metrics in (ALL, ALL[:1]):
        found = compute_scores(HYPOTHESES, REFERENCES, metrics=metrics, normalization=NormalizationConfig())
        assert (found[0].metric, found[0].normalization) == ("bleu", "raw")
        assert "tok:13a" in found[0].signature
        labels = ["raw", "normalizer-2 on both sides", "normalizer-2, ZWNJ as space, on both sides"]
        raw = ["bleu", *(name for name in metrics if name != "bleu")]
        assert [(one.metric, one.normalization) for one in found] == [
            *((name, RAW) for name in raw),
            *((name, label) for label in labels[1:] for name in metrics),
        ]
    others = [variant.label for variant in text_variants(NormalizationConfig(digits="ascii"))]
    assert [label.endswith("digits=ascii") for label in others] == [False, True, True]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "wrong"),
    [
        ("او می‌رود .", "او می‌رود .", (False, False, False)),
        ("او مي‌رود", "او می‌رود", (True, False, False)),
        ("او می رود", "او می‌رود", (True, True, False)),
        ("او میرود", "او می‌رود", (True, True, True)),
    ],
)
def test_each_text_variant_forgives_more_differences(hypothesis: str, reference: str, wrong: tuple[bool, ...]) -> None:
    """Raw: nothing. Normalized: Arabic letters. ZWNJ as space: also a half-space typed as a space, not one left out."""
    found = compute_scores([hypothesis], [reference], metrics=("ter",), normalization=NormalizationConfig())
    assert tuple(score.score > 0 for score in found if score.metric == "ter") == wrong


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (HYPOTHESES, REFERENCES[:1], "cannot score 2 translations against 1 references of test set `flores`"),
        ([], [], "cannot score 0 translations against 0 references"),
    ],
)
def test_scoring_refuses_empty_or_unequal_inputs(hypotheses: list[str], references: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compute_scores(hypotheses, references, metrics=ALL, test_set="flores")


def test_a_score_round_trips_through_its_scores_json_entry() -> None:
    entry = compute_scores(HYPOTHESES, REFERENCES, metrics=("bleu",), test_set="t")[0].to_json()
    expected = ["test_set", "metric", "score", "signature", "normalization", "search", "checkpoint", "sentences"]
    expected += ["left_out"]
    assert list(entry) == expected
    assert Score(**entry).to_json() == entry
    with_interval = compute_scores(HYPOTHESES, REFERENCES, metrics=("bleu",), bootstrap_samples=40)[0].to_json()
    assert list(with_interval) == [*expected, "interval"]
    assert compute_scores(["", ""], REFERENCES, metrics=("bleu",), bootstrap_samples=40)[0].interval == (0, 0)


def test_length_ratio_is_computed_from_bleu_tokens() -> None:
    hypotheses, references = ["او رفت.", "در باز است"], [("او به خانه رفت.", "او دیروز به خانه رفت."), ("در باز است",)]
    found = compute_scores(hypotheses, references, metrics=("length_ratio",), bootstrap_samples=40)[-1]
    assert (found.score, found.shown) == (6 / 8, "0.750 (0.600–1.000)")
    assert found.interval == (3 / 5, 1.0), "resamples take one sentence twice, or both"
    assert "nrefs:var|bs:40|seed:12345|" in found.signature
    assert "tok:13a" in found.signature


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sacrebleu.utils, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(sacrebleu.tokenizers.tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def test_spbleu_needs_its_model_on_disk_and_never_downloads_it(models: Path) -> None:
    lack = spbleu_lacks()
    assert lack is not None
    assert str(models / SPBLEU_MODEL) in lack
    assert "https://" in lack
    (models / SPBLEU_MODEL).write_bytes(b"<html>not found</html>")
    assert spbleu_lacks() == lack, "a damaged file is as good as none"
    model = io.BytesIO()
    words = iter(["سلام دنیا", "در باز است", "او رفت"] * 20)
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=words, model_writer=model, vocab_size=19, minloglevel=2)
    (models / SPBLEU_MODEL).write_bytes(model.getvalue())
    assert spbleu_lacks() is None
    texts = ["در باز است او رفت"]
    found = compute_scores(texts, texts, metrics=("spbleu",))[-1]
    assert found.score == pytest.approx(100)
    assert "tok:flores200" in found.signature
