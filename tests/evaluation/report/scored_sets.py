"""Small scored sets for the tests of the report."""

from collections.abc import Sequence

from translator.evaluation.metrics import compute_scores
from translator.evaluation.scored_set import ScoredSet

SOURCES = ("The door is open.", "You have two uncles.", "It rains.")
REFERENCES = ("در باز است.", "دو عمو دارید.", "باران می\u200cبارد.")
REFERENCES_OF_EACH = tuple((text,) for text in REFERENCES)
HYPOTHESES = ("در باز است.", "سه عمو داری.", "باران NATO")


def scored_set(
    hypotheses: Sequence[str] = HYPOTHESES,
    *,
    sources: Sequence[str] = SOURCES,
    references: Sequence[Sequence[str]] = REFERENCES_OF_EACH,
    test_set: str = "small",
    system: str = "run",
    checkpoint: str = "step-000010",
    search: str = "beam-5",
) -> ScoredSet:
    scores = compute_scores(hypotheses, [tuple(texts) for texts in references], metrics=("bleu", "chrf"))
    return ScoredSet(
        test_set=test_set,
        system=system,
        checkpoint=checkpoint,
        search=search,
        sources=tuple(sources),
        references=tuple(tuple(texts) for texts in references),
        hypotheses=tuple(hypotheses),
        origins=(test_set,) * len(sources),
        scores=tuple(scores),
        rare_shares=tuple(number / len(sources) for number in range(len(sources))),
    )
