"""Reranking: the hypotheses of a beam are ordered by the models of both directions."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.tiny_recipe import write_recipe
from tests.support.untrained import untrained_run
from translator import Translator
from translator.config import parse_config
from translator.inference.reranking import WEIGHT, rerank
from translator.inference.text.segments import Segment
from translator.inference.translation import Translation
from translator.search.loop_detection import looping_words

WORDS = "abc fed gag hhe bcd dada eh ff abcdefgh"
TEXTS = ["", "123", "ca\u00a0b", "hgf bca. ddd eee?", *WORDS.split()]


@pytest.fixture(scope="module")
def reverse_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = write_recipe(tmp_path_factory.mktemp("reverse")).read_text(encoding="utf-8")
    return untrained_run(parse_config(text, "tiny.yaml", ["corpus.direction=fa-en"]), step=6).path


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_the_first_is_the_best_of_the_beam_by_both_models(random_run: Path, reverse_run: Path, engine: str) -> None:
    settings = ["search.method=beam", "search.beam_size=8", "search.split_sentences=false", "search.precision=float32"]
    settings += ["search.max_length_ratio=0.1"]  # hypotheses are so short that the other model takes them
    settings += ["search.length_normalization=average"]  # hypotheses of any length have similar scores
    plain = Translator.load(random_run, engine=engine, overrides=settings)
    reranking = Translator.load(random_run, engine=engine, overrides=[*settings, f"search.rerank={reverse_run}"])
    reverse = Translator.load(reverse_run)

    changed = False
    all_hypotheses = plain.translations(TEXTS, count=8)
    for text, hypotheses, reranked in zip(TEXTS, all_hypotheses, reranking.translations(TEXTS, count=8), strict=True):
        expected = {}
        for hypothesis in hypotheses:
            score = hypothesis.normalized_score
            if hypothesis.pieces:
                (source,) = reverse.score([hypothesis.text], [text])
                score += WEIGHT * source.score / source.tokens
            expected[hypothesis.text] = score
        assert {translation.text: translation.normalized_score for translation in reranked} == pytest.approx(expected)
        most_loops = looping_words(text, hypotheses[0].text)
        order = []
        for translation in reranked:
            is_no_loop = looping_words(text, translation.text) <= most_loops
            order.append((is_no_loop, translation.finished, translation.normalized_score))
        assert order == sorted(order, reverse=True)
        assert reranking.translate(text) == reranked[0].text
        changed |= [translation.text for translation in reranked] != [hypothesis.text for hypothesis in hypotheses]
    assert changed


def test_a_loop_does_not_win() -> None:
    segment = Segment(line=0, source="He went home.", ids=[5], is_first=True, copied={})
    hypotheses = [Translation(text, pieces=1, tokens=4) for text in ("او رفت.", "رفت رفت رفت رفت", "او به خانه رفت.")]
    scores = dict(zip((hypothesis.text for hypothesis in hypotheses), (-3.0, -1.0, -2.0), strict=True))

    def score(texts: Sequence[str], sources: Sequence[str]) -> list[Translation]:
        return [Translation(source, score=scores[text], tokens=1) for text, source in zip(texts, sources, strict=True)]

    (reranked,) = rerank([segment], [hypotheses], score)
    assert [translation.text for translation in reranked] == ["او به خانه رفت.", "او رفت.", "رفت رفت رفت رفت"]


def test_a_text_that_is_too_long_for_the_other_model_keeps_its_order(random_run: Path, reverse_run: Path) -> None:
    settings = ["search.method=beam", "search.beam_size=3"]
    plain = Translator.load(random_run, overrides=settings)
    reranking = Translator.load(random_run, overrides=[*settings, f"search.rerank={reverse_run}"])
    text = "a" * 200
    assert reranking.translate(text) == plain.translate(text)
