"""The score of any part of a test set is the score of that part alone, whatever the spelling."""

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import MetricName, NormalizationConfig
from translator.evaluation.metrics import compute_scores
from translator.evaluation.sentence_counts import count_sentences
from translator.evaluation.text_variants import RAW_TEXT, text_variants

METRICS: tuple[MetricName, ...] = ("bleu", "bleu_intl", "chrf", "chrf++", "ter", "length_ratio")
TEXT = st.text("ابپ\u200c كی .،1a", min_size=1, max_size=25)


@settings(deadline=None, max_examples=25)
@given(rows=st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=8), data=st.data())
def test_a_part_scores_as_it_would_alone(rows: list[tuple[str, str, str]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    whole = count_sentences([row[0] for row in rows], [row[1:] for row in rows], METRICS, [RAW_TEXT])
    part = [rows[number] for number in chosen]
    alone = compute_scores([row[0] for row in part], [row[1:] for row in part], metrics=METRICS)
    scores = {one.metric: one.score(np.array(chosen)) for one in whole}
    assert scores == pytest.approx({one.metric: one.score for one in alone})


@settings(deadline=None, max_examples=25)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_what_a_spelling_does_not_change_need_not_be_counted_again(rows: list[tuple[str, str]]) -> None:
    hypotheses, references = [row[0] for row in rows], [row[1:] for row in rows]
    variants = text_variants(NormalizationConfig())
    together = count_sentences(hypotheses, references, METRICS, variants)
    apart = [one for variant in variants for one in count_sentences(hypotheses, references, METRICS, [variant])]
    for ours, expected in zip(together, apart, strict=True):
        assert (ours.metric, ours.normalization) == (expected.metric, expected.normalization)
        assert np.array_equal(ours.counts, expected.counts)
        assert ours.signature == expected.signature


def test_the_length_ratio_is_that_of_bleus_tokens() -> None:
    hypotheses, references = ["او رفت.", "در باز است"], ["او به خانه رفت.", "در باز است"]
    found = compute_scores(hypotheses, references, metrics=("length_ratio",))[-1]
    bleu = sacrebleu.corpus_bleu(hypotheses, [references])
    assert found.score == bleu.sys_len / bleu.ref_len == 6 / 8
    assert "tok:13a" in found.signature
    assert found.shown == "0.750"
