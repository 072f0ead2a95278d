"""Agreement with the references in punctuation marks, and English marks where Persian ones belong."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from translator.evaluation.diagnosis.finding import Agreement, Finding, Flag, finding, listed
from translator.evaluation.scored_set import ScoredSet

MARKS: Final = '.،؛؟!:«»…()-,;?"'
"""Each is looked at by itself; two full stops and more are an ellipsis."""
ENGLISH_FOR: Final[Mapping[str, str]] = {",": "،", ";": "؛", "?": "؟"}
"""English marks, and what Persian writes instead."""
_ELLIPSIS: Final = re.compile(r"\.{2,}")
_INSIDE: Final = re.compile(r"(?<=\d)[.,:\-](?=\d)|(?<=[A-Za-z])[-.,](?=[A-Za-z])|&\w+;")
"""Marks that belong to a number, a Latin word or an entity."""
_NOT_A_MARK: Final = re.compile(f"[^{re.escape(MARKS)}]+")


def find_punctuation(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses with other marks, or another number of one, than the reference that agrees best."""
    flags = []
    ours_of_all: Counter[str] = Counter()
    theirs_of_all: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for number, hypothesis in enumerate(scored.hypotheses):
        ours = marks_of(hypothesis)
        candidates = [marks_of(reference) for reference in scored.references[number]]
        theirs = min(candidates, key=lambda one: ((ours - one).total() + (one - ours).total(), sorted(one.items())))
        ours_of_all += ours
        theirs_of_all += theirs
        matched += ours & theirs
        if ours != theirs:
            extra, missing = ours - theirs, theirs - ours
            note = [f"too many: {listed(extra)}"] if extra else []
            note += [f"missing: {listed(missing)}"] if missing else []
            flags.append(Flag(number, extra.total() + missing.total(), "; ".join(note)))
    return finding(
        "punctuation",
        "The translation has other punctuation marks than the reference, or not as many.",
        of=len(scored.hypotheses),
        flags=flags,
        examples=examples,
        agreements={
            mark: Agreement(matched[mark], ours_of_all[mark], theirs_of_all[mark])
            for mark in MARKS
            if ours_of_all[mark] or theirs_of_all[mark]
        },
    )


def find_english_punctuation(scored: ScoredSet, examples: int) -> Finding:
    """Return the hypotheses with English marks for which Persian has its own, beyond those of every reference."""
    flags = []
    for number, hypothesis in enumerate(scored.hypotheses):
        extra = english_marks_of(hypothesis)
        for reference in scored.references[number] if extra else ():
            extra -= english_marks_of(reference)
        if extra:
            note = "، ".join(f"{mark} for {ENGLISH_FOR[mark]}" for mark in extra)
            flags.append(Flag(number, extra.total(), note))
    return finding(
        "english_punctuation",
        "The translation has an English comma, semicolon or question mark that no reference has.",
        of=len(scored.hypotheses),
        flags=flags,
        examples=examples,
    )


def marks_of(text: str) -> Counter[str]:
    """Return how often each of `MARKS` stands in `text`, those inside numbers and Latin words left out."""
    return Counter(_NOT_A_MARK.sub("", _ELLIPSIS.sub("…", _INSIDE.sub(" ", text))))


def english_marks_of(text: str) -> Counter[str]:
    """Return how often each English mark that Persian writes otherwise stands in `text`."""
    marks = marks_of(text)
    return Counter({mark: marks[mark] for mark in ENGLISH_FOR if marks[mark]})
