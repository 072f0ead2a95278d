"""Reranking: the hypotheses of a beam are ordered by the models of both directions."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.tiny_recipe import write_recipe
from tests.support.untrained import untrained_run
from translator import Translator
from translator.config import parse_config
from translator.inference.reranking import rerank
from translator.inference.text.segments import Segment
from translator.inference.translation import Translation


@pytest.fixture(scope="module")
def reverse_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = write_recipe(tmp_path_factory.mktemp("reverse")).read_text(encoding="utf-8")
    return untrained_run(parse_config(text, "tiny.yaml", ["corpus.direction=fa-en"]), step=6).path


def hypothesis(text: str, score: float, finished: bool = True) -> Translation:
    """Return a hypothesis of a beam; `score` is that of a token."""
    return Translation(text, normalized_score=score, pieces=1, tokens=4, finished=finished)


def test_both_models_rate_finished_hypotheses_before_others_and_loops_come_last() -> None:
    segment = Segment(line=0, source="He went home.", ids=[5], is_first=True, copied={})
    reverse_scores = {"او رفت.": -3.0, "رفت رفت رفت رفت": -1.0, "او به خانه رفت.": -2.0, "او به": -1.0}
    hypotheses = [hypothesis(text, score=-0.5, finished=text != "او به") for text in reverse_scores]
    reverse_scores["او رفت و رفت"] = -math.inf  # too long for the other model
    unrated = [hypotheses[0], hypothesis("او رفت و رفت", score=-0.6), hypotheses[2]]

    def score(texts: Sequence[str], sources: Sequence[str]) -> list[Translation]:
        return [
            Translation(source, score=reverse_scores[text], tokens=2)
            for text, source in zip(texts, sources, strict=True)
        ]

    (first, second, third, last), same = rerank([segment, segment], [hypotheses, unrated], score)
    assert same == unrated
    assert [first.text, second.text, third.text, last.text] == [
        "او به خانه رفت.",
        "او رفت.",
        "او به",
        "رفت رفت رفت رفت",
    ]
    assert first.normalized_score == pytest.approx(-0.5 + 0.3 * -2.0 / 2)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_whole_beam_is_reranked_also_where_one_text_is_wanted(
    random_run: Path, reverse_run: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setattr("translator.inference.reranking.WEIGHT", 100.0)  # the other direction decides
    # Hypotheses are so short that the other model takes them, and those of any length have similar scores.
    settings = ["search.method=beam", "search.beam_size=8", "search.max_length_ratio=0.1", "search.precision=float32"]
    settings += ["search.length_normalization=average", "search.split_sentences=false"]
    plain = Translator.load(random_run, engine=engine, overrides=settings)
    reranking = Translator.load(random_run, engine=engine, overrides=[*settings, f"search.rerank={reverse_run}"])
    texts = ["abc", "fed", "gag", "hhe", "bcd", "dada", "eh", "ff", "abcdefgh", "ca\u00a0b", "hgf bca. ddd eee?"]
    lists = reranking.translations(texts, count=8)
    best = [translations[0].text for translations in lists]
    assert best != plain.translate_lines(texts)
    assert reranking.translate_lines(texts) == best

    # Each score is that of the beam and that of the other model.
    reverse = Translator.load(reverse_run)
    for text, hypotheses, reranked in zip(texts, plain.translations(texts, count=8, scored=True), lists, strict=True):
        expected = {}
        for beam_hypothesis in hypotheses:
            (source,) = reverse.score([beam_hypothesis.text], [text])
            expected[beam_hypothesis.text] = beam_hypothesis.normalized_score + 100.0 * source.score / source.tokens
        assert {translation.text: translation.normalized_score for translation in reranked} == pytest.approx(expected)


def test_a_text_that_is_too_long_for_the_other_model_keeps_its_order(random_run: Path, reverse_run: Path) -> None:
    settings = ["search.method=beam", "search.beam_size=3"]
    plain = Translator.load(random_run, overrides=settings)
    reranking = Translator.load(random_run, overrides=[*settings, f"search.rerank={reverse_run}"])
    text = "a" * 200
    assert reranking.translate(text) == plain.translate(text)
