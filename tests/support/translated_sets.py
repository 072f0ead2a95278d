"""Test sets as some system translated them, made of a few lines."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from translator.evaluation.metrics import Score, compute_scores
from translator.evaluation.results import ModelScore, ScoredSet, write_scored_set
from translator.inference.translation import Translation


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
    if references is None:
        references = hypotheses
    if sources is None:
        sources = [f"Sentence {number}." for number in range(len(hypotheses))]
    reference_tuples = []
    for texts in references:
        reference_tuples.append((texts,) if isinstance(texts, str) else texts)
    return ScoredSet(
        test_set=test_set,
        system=system,
        checkpoint=checkpoint,
        search=search,
        sources=tuple(sources),
        references=tuple(reference_tuples),
        hypotheses=tuple(hypotheses),
        origins=("held",) * len(hypotheses),
        scores=(),
        hypothesis_scores=hypothesis_scores,
        reference_scores=reference_scores,
        rare_shares=(),
    )


def scored(
    hypotheses: Sequence[str],
    references: Sequence[str | tuple[str, ...]] = ("در باز است.", "دو عمو دارید.", "باران می\u200cبارد."),
    sources: Sequence[str] = ("The door is open.", "You have two uncles.", "It rains."),
    **names: str,
) -> ScoredSet:
    test_set = translated(hypotheses, references, sources, **names)
    scores = compute_scores(hypotheses, test_set.references, metrics=("bleu", "chrf"))
    rare_shares = tuple(number / len(sources) for number in range(len(sources)))
    return replace(test_set, scores=tuple(scores), rare_shares=rare_shares)


def evaluated_run(folder: Path, *sets: ScoredSet) -> Path:
    """Make a run folder in which only an evaluation of `sets`, newest first, is saved."""
    evaluation_folder = folder / "evaluation"
    evaluation_folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("# The settings of this run, as resolved by translator.\n")
    entries = []
    for test_set in sets:
        score = Score(
            test_set=test_set.test_set,
            metric="bleu",
            score=1.0,
            signature="s",
            normalization="raw",
            search=test_set.search,
            checkpoint=test_set.checkpoint,
            sentences=len(test_set.sources),
        )
        entries.append(score.to_json())
        write_scored_set(evaluation_folder, test_set)
    (evaluation_folder / "scores.json").write_text(json.dumps(entries))
    return folder


_WORDS = ["می‌رود", "می رود", "میرود", "او", "و", "کتاب‌ها", "نه نه نه", "در در", "house", "NATO", "a", "12", "۱۲"]
_MARKS = ["،", "؛", "؟", "«", "»", "...", ".", ",", "?"]
_INVISIBLE = ["\u200c", "\u202e", "\u2067", "\x00", "\x1b[2J", "\n", "\ud800", "\u064e", "\ufeff", "\u2028"]
_RARE_CHARACTERS = ["\u0640", "\ufffd", "😀", "👩‍👩‍👧", "１２", "½", "²", "<b>", "&amp;"]
_LOOKED_AT = st.sampled_from([*_WORDS, *_MARKS, *_INVISIBLE, *_RARE_CHARACTERS])
HOSTILE = st.lists(_LOOKED_AT | st.text(max_size=8), max_size=12).map(" ".join)
"""Any text, and often text that a diagnosis looks at."""


@st.composite
def hostile_sets(draw: st.DrawFn, max_sentences: int = 6) -> ScoredSet:
    """Draw a test set of hostile text, with one to three references for each sentence, with model scores or without."""
    number = st.floats(allow_nan=True, allow_infinity=True)
    score = st.builds(model_score, HOSTILE, number, number, st.integers(0, 9), st.integers(0, 3), st.booleans())
    references = st.tuples(*[HOSTILE] * draw(st.integers(1, 3)))
    row = st.tuples(HOSTILE, HOSTILE, references, score, score)
    rows = draw(st.lists(row, min_size=1, max_size=max_sentences))
    sources, hypotheses, references_of_rows, hypothesis_scores, reference_scores = zip(*rows, strict=True)
    has_scores = draw(st.booleans())
    return translated(
        hypotheses,
        references_of_rows,
        sources,
        hypothesis_scores=hypothesis_scores if has_scores else None,
        reference_scores=reference_scores if has_scores else None,
    )
