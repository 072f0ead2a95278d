"""Test sets as some system translated them, made of a few lines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from translator.evaluation.metrics import compute_scores
from translator.evaluation.results import ModelScore, ScoredSet
from translator.inference.segments import Translation


def model_score(
    text: str, score: float, normalized_score: float, tokens: int = 5, pieces: int = 1, finished: bool = True
) -> ModelScore:
    return ModelScore.of(Translation(text, score, normalized_score, tokens, pieces, finished))


def translated(
    hypotheses: Sequence[str],
    references: Sequence[str | tuple[str, ...]] | None = None,
    sources: Sequence[str] | None = None,
    *,
    test_set: str = "held",
    system: str = "system",
    checkpoint: str = "step-000001",
    search: str = "beam-5",
    hypothesis_scores: Any = None,
    reference_scores: Any = None,
) -> ScoredSet:
    """Return a test set; without references, the hypotheses are perfect, and sources are numbered."""
    several = [(one,) if isinstance(one, str) else one for one in (hypotheses if references is None else references)]
    numbered = (f"Sentence {number}." for number in range(len(hypotheses)))
    return ScoredSet(
        test_set=test_set, system=system, checkpoint=checkpoint, search=search, sources=tuple(sources or numbered),
        references=tuple(several), hypotheses=tuple(hypotheses), origins=("held",) * len(hypotheses), scores=(),
        hypothesis_scores=hypothesis_scores, reference_scores=reference_scores, rare_shares=(),
    )  # fmt: skip


def scored(
    hypotheses: Sequence[str],
    references: Sequence[str | tuple[str, ...]] = ("در باز است.", "دو عمو دارید.", "باران می\u200cبارد."),
    sources: Sequence[str] = ("The door is open.", "You have two uncles.", "It rains."),
    **names: str,
) -> ScoredSet:
    one = translated(hypotheses, references, sources, **names)
    scores = compute_scores(hypotheses, one.references, metrics=("bleu", "chrf"))
    rare = tuple(number / len(sources) for number in range(len(sources)))
    return replace(one, scores=tuple(scores), rare_shares=rare)


HOSTILE = st.lists(
    st.sampled_from([
        "می‌رود", "می رود", "میرود", "او", "و", "کتاب‌ها", "نه نه نه", "در در", "house", "NATO", "a", "12", "۱۲",
        "،", "؛", "؟", "«", "»", "...", ".", ",", "?", "\u200c", "\u202e", "\u2067", "\x00", "\x1b[2J", "\n",
        "\ud800", "😀", "👩‍👩‍👧", "\u064e", "\u0640", "\ufeff", "\ufffd", "１２", "½", "²", "\u2028", "<b>", "&amp;",
    ])
    | st.text(max_size=8),
    max_size=12,
).map(" ".join)  # fmt: skip
"""Any text, and often text that a diagnosis looks at."""


def hostile_sets(most: int = 6) -> st.SearchStrategy[ScoredSet]:
    def rows(references: int, scored: bool) -> st.SearchStrategy[ScoredSet]:
        number = st.floats(allow_nan=True, allow_infinity=True)
        score = st.builds(model_score, HOSTILE, number, number, st.integers(0, 9), st.integers(0, 3), st.booleans())
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
