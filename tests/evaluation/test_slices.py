"""Parts of a test set: every sentence in one part of each kind, each part with its own scores."""

import sacrebleu

from translator.evaluation.metrics import counts_of_scores
from translator.evaluation.slices import Slice, slice_scores

SOURCES = ["one", "a b c d e", "a b c d e f", "w " * 41, "q " * 40]
HYPOTHESES = ["یک", "آ ب پ ت ث", "آ ب پ ت ث ج", "و", "ق"]
REFERENCES = ["یک", "آ ب پ ت", "ج چ", "و و", "ق"]


def slices(rare: list[float], origins: list[str]) -> list[Slice]:
    counts = counts_of_scores(HYPOTHESES, REFERENCES, ("bleu", "chrf"))
    return slice_scores("toy", "step-000005", "greedy", counts, SOURCES, rare, origins)


def test_lengths_are_words_and_bounds_belong_to_the_shorter_part() -> None:
    found = slices([], ["toy"] * 5)
    assert {one.kind for one in found} == {"length"}, "one source is no comparison, and rare words are not known"
    assert [(one.part, one.sentences) for one in found] == [
        ("1–5 words", 2),
        ("6–10 words", 1),
        ("21–40 words", 1),
        ("over 40 words", 1),
    ]


def test_a_part_has_the_scores_of_its_sentences() -> None:
    found = slices([], ["a", "b", "a", "b", "b"])
    part = next(one for one in found if one.part == "a")
    assert (part.kind, part.sentences) == ("source", 2)
    pairs = [HYPOTHESES[0], HYPOTHESES[2]], [[REFERENCES[0], REFERENCES[2]]]
    assert part.scores == {"bleu": sacrebleu.corpus_bleu(*pairs).score, "chrf": sacrebleu.corpus_chrf(*pairs).score}


def test_shares_of_rare_words() -> None:
    found = [one for one in slices([0.0, 0.1, 0.11, 0.25, 1.0], ["toy"] * 5) if one.kind == "rare words"]
    assert [(one.part, one.sentences) for one in found] == [
        ("none", 1),
        ("up to 10%", 1),
        ("10–25%", 2),
        ("over 25%", 1),
    ]
    assert found[0].to_json()["scores"]["chrf"] > 99
