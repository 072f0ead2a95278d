"""What the page knows of each sentence: texts with their differences, length, scores, findings."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sacrebleu.metrics.chrf import CHRF

from translator.evaluation.diagnosis import Diagnosis
from translator.evaluation.report.cutting import Shown, cut
from translator.evaluation.report.differences import compare_words
from translator.evaluation.report.findings import finding_label
from translator.evaluation.scored_set import ScoredSet
from translator.pages.visible import marks


@dataclass(frozen=True)
class SentenceRow:
    """One sentence as one system translated it."""

    source: Shown
    reference: Shown
    """The one that is most like the translation."""
    other_references: tuple[Shown, ...]
    hypothesis: Shown
    words: int
    """Of the translation."""
    reference_words: int
    chrf: float
    """sacreBLEU's, of this sentence alone, against all references."""

    @property
    def ratio(self) -> float | None:
        """Words of the translation for each of the reference; None where that has none."""
        return self.words / self.reference_words if self.reference_words else None


@dataclass(frozen=True)
class SentenceSet:
    """The sentences of a test set as one system translated them."""

    scored: ScoredSet
    system: str
    """A label unlike that of any other system of the page."""
    rows: Sequence[SentenceRow]
    findings: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By name, the places of the sentences that were found so."""

    @property
    def title(self) -> str:
        """The test set and the system."""
        return f"{self.scored.test_set}, {self.system}"

    @cached_property
    def labels(self) -> dict[int, list[str]]:
        """For each sentence in which something was found, what."""
        labels: dict[int, list[str]] = {}
        for name, places in self.findings.items():
            for place in places:
                labels.setdefault(place, []).append(finding_label(name))
        return labels

    @cached_property
    def model_scores(self) -> list[float | None] | None:
        """What the model thinks of each translation, normalized by length; None where nobody knows."""
        scores = self.scored.hypothesis_scores
        if scores is None:
            return None
        return [one.normalized_score if math.isfinite(one.normalized_score) else None for one in scores]


def sentence_set(scored: ScoredSet, system: str, diagnosis: Diagnosis | None = None) -> SentenceSet:
    """Return all sentences of `scored` with what the page shows of them."""
    chrf = CHRF()
    rows = [
        _row(chrf, source, references, hypothesis)
        for source, references, hypothesis in zip(scored.sources, scored.references, scored.hypotheses, strict=True)
    ]
    findings = diagnosis.findings if diagnosis is not None else ()
    found = {one.name: [number - 1 for number in one.sentences] for one in findings if one.sentences}
    return SentenceSet(scored, system, rows, found)


def ordered(sets: Sequence[SentenceSet]) -> Iterator[tuple[int, int]]:
    """Yield set and place of every sentence: test set by test set, and the systems side by side."""
    tests = list(dict.fromkeys(one.scored.test_set for one in sets))
    for test in tests:
        numbers = [number for number, one in enumerate(sets) if one.scored.test_set == test]
        for place in range(max(len(sets[number].rows) for number in numbers)):
            yield from ((number, place) for number in numbers if place < len(sets[number].rows))


def sentence_data(sets: Sequence[SentenceSet], limit: int) -> dict[str, Any]:
    """Return what the page's script reads; sources that several sets share are told once.

    Args:
        limit: rows of the table that are shown at once.
    """
    sources: dict[tuple[str, ...], int] = {}
    told = []
    for one in sets:
        told.append(
            {
                "test": one.scored.test_set,
                "system": one.system,
                "sources": sources.setdefault(one.scored.sources, len(sources)),
                "references": [row.reference.to_json() for row in one.rows],
                "others": [[text.to_json() for text in row.other_references] for row in one.rows]
                if len(one.scored.references[0]) > 1
                else None,
                "hypotheses": [row.hypothesis.to_json() for row in one.rows],
                "words": [row.words for row in one.rows],
                "ratio": [None if row.ratio is None else round(row.ratio, 2) for row in one.rows],
                "chrf": [round(row.chrf, 1) for row in one.rows],
                "score": _rounded(one.model_scores, 3),
                "rare": _rounded([100 * share for share in one.scored.rare_shares] or None, 0),
                "findings": one.findings,
            }
        )
    return {
        "limit": limit,
        "marks": marks(_all_texts(sets)),
        "sources": [[cut((text,)).to_json() for text in texts] for texts in sources],
        "sets": told,
    }


def _row(chrf: CHRF, source: str, references: Sequence[str], hypothesis: str) -> SentenceRow:
    compared = [compare_words(reference, hypothesis) for reference in references]
    nearest = max(range(len(references)), key=lambda number: compared[number].likeness)
    return SentenceRow(
        source=cut((source,)),
        reference=cut(compared[nearest].reference),
        other_references=tuple(cut((text,)) for number, text in enumerate(references) if number != nearest),
        hypothesis=cut(compared[nearest].hypothesis),
        words=len(hypothesis.split()),
        reference_words=len(references[nearest].split()),
        chrf=float(chrf.sentence_score(hypothesis, list(references)).score),
    )


def _rounded(values: Sequence[float | None] | None, digits: int) -> list[float | None] | None:
    return None if values is None else [None if value is None else round(value, digits) for value in values]


def _all_texts(sets: Sequence[SentenceSet]) -> Iterator[str]:
    for one in sets:
        yield from one.scored.sources
        yield from one.scored.hypotheses
        for references in one.scored.references:
            yield from references
