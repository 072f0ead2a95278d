"""Test sets as some system translated them, made of a few lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from translator.evaluation.scored_set import ScoredSet


@dataclass(frozen=True)
class ModelScore:
    """What a diagnosis looks at of a `Translation`."""

    text: str
    score: float
    normalized_score: float
    tokens: int = 5
    pieces: int = 1
    finished: bool = True


def translated(
    hypotheses: Sequence[str],
    references: Sequence[str | tuple[str, ...]] | None = None,
    sources: Sequence[str] | None = None,
    *,
    system: str = "system",
    checkpoint: str = "step-000001",
    search: str = "beam-5",
    hypothesis_scores: Any = None,
    reference_scores: Any = None,
) -> ScoredSet:
    """Return a test set; without references, the hypotheses are perfect, and sources are numbered."""
    several = [(one,) if isinstance(one, str) else one for one in (hypotheses if references is None else references)]
    return ScoredSet(
        test_set="held",
        system=system,
        checkpoint=checkpoint,
        search=search,
        sources=tuple(sources or (f"Sentence {number}." for number in range(len(hypotheses)))),
        references=tuple(several),
        hypotheses=tuple(hypotheses),
        origins=("held",) * len(hypotheses),
        scores=(),
        hypothesis_scores=hypothesis_scores,
        reference_scores=reference_scores,
        rare_shares=(),
    )


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "می‌رود",
                    "می رود",
                    "میرود",
                    "او",
                    "و",
                    "کتاب‌ها",
                    "نه نه نه",
                    "در در",
                    "house",
                    "NATO",
                    "a",
                    "12",
                    "۱۲",
                ),
                *("،", "؛", "؟", "«", "»", "...", ".", ",", "?", "\u200c", "\u202e", "\u2067", "\x00", "\x1b[2J", "\n"),
                *(
                    "\ud800",
                    "😀",
                    "👩‍👩‍👧",
                    "\u064e",
                    "\u0640",
                    "\ufeff",
                    "\ufffd",
                    "１２",
                    "½",
                    "²",
                    "\u2028",
                    "<b>",
                    "&amp;",
                ),
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map(" ".join)
"""Any text, and often text that a diagnosis looks at."""


def hostile_sets(most: int = 6) -> st.SearchStrategy[ScoredSet]:
    """Return test sets of any text, some with several references, some with the model's scores."""

    def rows(references: int, scored: bool) -> st.SearchStrategy[ScoredSet]:
        number = st.floats(allow_nan=True, allow_infinity=True)
        score = st.builds(ModelScore, HOSTILE, number, number, st.integers(0, 9), st.integers(0, 3), st.booleans())
        row = st.tuples(HOSTILE, HOSTILE, st.tuples(*[HOSTILE] * references), score, score)
        return st.lists(row, min_size=1, max_size=most).map(
            lambda rows: translated(
                [row[1] for row in rows],
                [row[2] for row in rows],
                [row[0] for row in rows],
                hypothesis_scores=tuple(row[3] for row in rows) if scored else None,
                reference_scores=tuple(row[4] for row in rows) if scored else None,
            )
        )

    return st.tuples(st.integers(1, 3), st.booleans()).flatmap(lambda choice: rows(*choice))
