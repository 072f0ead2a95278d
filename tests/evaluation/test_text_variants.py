"""Three spellings, each forgiving more than the one before, each with a name of its own."""

from translator.config import NormalizationConfig
from translator.evaluation.metrics import compute_scores
from translator.evaluation.text_variants import RAW, text_variants


def scores(hypothesis: str, reference: str) -> list[float]:
    found = compute_scores([hypothesis], [reference], metrics=("ter",), normalization=NormalizationConfig())
    return [score.score for score in found if score.metric == "ter"]


def test_raw_forgives_nothing() -> None:
    assert scores("او می‌رود .", "او می‌رود .") == [0, 0, 0]


def test_normalization_forgives_arabic_letters() -> None:
    raw, normalized, folded = scores("او مي‌رود", "او می‌رود")
    assert raw > 0 == normalized == folded


def test_folding_forgives_a_half_space_that_is_written_as_a_space() -> None:
    raw, normalized, folded = scores("او می رود", "او می‌رود")
    assert raw == normalized > 0 == folded


def test_a_half_space_that_is_left_out_is_a_mistake() -> None:
    assert scores("او میرود", "او می‌رود")[2] > 0


def test_every_spelling_has_a_name_and_so_has_another_rule() -> None:
    labels = [variant.label for variant in text_variants(NormalizationConfig())]
    assert labels[0] == RAW
    assert len(set(labels)) == 3
    assert "ZWNJ as space" in labels[2]
    assert all("both sides" in label for label in labels[1:])
    others = [variant.label for variant in text_variants(NormalizationConfig(digits="ascii"))]
    assert [label.endswith("digits=ascii") for label in others] == [False, True, True]
