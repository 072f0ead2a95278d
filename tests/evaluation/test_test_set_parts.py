"""Parts of a test set: which sentences belong to each, and their scores."""

from dataclasses import replace

import sacrebleu

from tests.support.translated_sets import translated
from translator.evaluation.test_set_parts import Part, score_parts

SOURCES = ["one", "a b c d e", "a b c d e f", "w " * 41, "q " * 40]
HYPOTHESES = ["یک", "آ ب پ ت ث", "آ ب پ ت ث ج", "و", "ق"]
REFERENCES = ["یک", "آ ب پ ت", "ج چ", "و و", "ق"]


def parts(rare_shares: tuple[float, ...] = (), origins: str = "ttttt") -> list[Part]:
    test_set = translated(HYPOTHESES, REFERENCES, SOURCES)
    return score_parts(replace(test_set, rare_shares=rare_shares, origins=tuple(origins)))


def test_sentences_are_grouped_by_the_number_of_source_words() -> None:
    assert [(part.kind, part.name, part.sentences) for part in parts()] == [
        ("length", "1–5 words", 2),
        ("length", "6–10 words", 1),
        ("length", "21–40 words", 1),
        ("length", "over 40 words", 1),
    ]


def test_sentences_are_grouped_by_the_share_of_rare_words() -> None:
    rare_parts = [part for part in parts(rare_shares=(0.0, 0.1, 0.11, 0.25, 1.0)) if part.kind == "rare words"]
    assert [(part.name, part.sentences) for part in rare_parts] == [
        ("none", 1),
        ("up to 10%", 1),
        ("10–25%", 2),
        ("over 25%", 1),
    ]


def test_sentences_of_a_single_source_are_no_part() -> None:
    assert all(part.kind == "length" for part in parts(origins="ttttt"))


def test_a_part_is_scored_on_its_own_sentences_only() -> None:
    part = next(part for part in parts(origins="ababb") if part.name == "a")
    assert (part.kind, part.sentences) == ("source", 2)
    hypotheses = [HYPOTHESES[0], HYPOTHESES[2]]
    references = [[REFERENCES[0], REFERENCES[2]]]
    assert part.scores == {
        "bleu": sacrebleu.corpus_bleu(hypotheses, references).score,
        "chrf": sacrebleu.corpus_chrf(hypotheses, references).score,
    }
