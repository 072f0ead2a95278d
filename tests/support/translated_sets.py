"""Test sets as some system translated them, made of a few lines."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from translator.corpus.held_out import HeldOutSet
from translator.evaluation.metrics import compute_scores
from translator.evaluation.results import ScoredSet, save_set


def translated(
    hypotheses: Sequence[str],
    references: Sequence[str | tuple[str, ...]] | None = None,
    sources: Sequence[str] | None = None,
    *,
    test_set: str = "held",
    system: str = "system",
    checkpoint: str = "step-000001",
    search: str = "beam-5",
    left_out: tuple[int, ...] = (),
    cut_off: tuple[int, ...] | None = (),
) -> ScoredSet:
    """Return a test set without scores; without references, the hypotheses are perfect, and sources are numbered."""
    if references is None:
        references = hypotheses
    if sources is None:
        sources = [f"Sentence {number}." for number in range(len(hypotheses))]
    text = HeldOutSet(
        name=test_set,
        sources=tuple(sources),
        references=tuple((texts,) if isinstance(texts, str) else texts for texts in references),
        origins=(test_set,) * len(sources),
        left_out=left_out,
    )
    return ScoredSet(
        text=text, system=system, checkpoint=checkpoint, search=search, hypotheses=tuple(hypotheses), cut_off=cut_off
    )


def with_scores(translated_set: ScoredSet) -> ScoredSet:
    """Return the set with BLEU and chrF."""
    references = translated_set.text.references
    return translated_set.with_scores(compute_scores(translated_set.hypotheses, references, metrics=("bleu", "chrf")))


def evaluated_run(folder: Path, *sets: ScoredSet) -> Path:
    """Make a run folder in which only an evaluation of `sets`, newest first, is saved."""
    (folder / "evaluation").mkdir(parents=True)
    (folder / "config.yaml").write_text("# The settings of this run, as resolved by translator.\n")
    for translated_set in reversed(sets):
        save_set(folder / "evaluation", with_scores(translated_set))
    return folder


_WORDS = ["می‌رود", "می رود", "میرود", "او", "و", "کتاب‌ها", "نه نه نه", "در در", "house", "NATO", "a", "12", "۱۲"]
_MARKS = ["،", "؛", "؟", "«", "»", "...", ".", ",", "?"]
_INVISIBLE = ["\u200c", "\u202e", "\u2067", "\x00", "\x1b[2J", "\n", "\ud800", "\u064e", "\ufeff", "\u2028"]
_RARE_CHARACTERS = ["\u0640", "\ufffd", "😀", "👩‍👩‍👧", "１２", "½", "²", "<b>", "&amp;"]
_LOOKED_AT = st.sampled_from([*_WORDS, *_MARKS, *_INVISIBLE, *_RARE_CHARACTERS])
HOSTILE = st.lists(_LOOKED_AT | st.text(max_size=8), max_size=12).map(" ".join)
"""Any text, and often text that a diagnosis looks at."""
