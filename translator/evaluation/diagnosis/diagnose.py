"""All findings on one test set as one system translated it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from translator.evaluation.diagnosis.absent import find_empty, find_identical
from translator.evaluation.diagnosis.finding import Finding
from translator.evaluation.diagnosis.half_spaces import find_half_spaces
from translator.evaluation.diagnosis.latin_words import find_latin_words
from translator.evaluation.diagnosis.lengths import find_lengths, find_unfinished
from translator.evaluation.diagnosis.numbers import find_numbers
from translator.evaluation.diagnosis.punctuation import find_english_punctuation, find_punctuation
from translator.evaluation.diagnosis.repetition import find_repetition
from translator.evaluation.diagnosis.search_errors import find_search_errors
from translator.evaluation.scored_set import ScoredSet

EXAMPLES: Final = 5
"""Of each finding, unless asked otherwise."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What is wrong with the translations of one test set, kind by kind."""

    test_set: str
    system: str
    checkpoint: str
    search: str
    sentences: int
    findings: tuple[Finding, ...]
    """Always in the same order; also those that were found nowhere."""
    missing: Mapping[str, str]
    """Findings that could not be looked for, and why."""

    def finding(self, name: str) -> Finding | None:
        """Return the finding of this name, if it could be looked for."""
        return next((one for one in self.findings if one.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis as values that JSON can hold."""
        return {
            "test_set": self.test_set,
            "system": self.system,
            "checkpoint": self.checkpoint,
            "search": self.search,
            "sentences": self.sentences,
            "findings": [finding.to_json() for finding in self.findings],
            "missing": dict(self.missing),
        }


def diagnose(scored: ScoredSet, examples: int = EXAMPLES) -> Diagnosis:
    """Return the mistakes that can be seen without understanding the text.

    Args:
        scored: at least one sentence.
        examples: how many sentences to name for each finding.
    """
    findings = [
        find_empty(scored, examples),
        find_repetition(scored, examples),
        *find_lengths(scored, examples),
        find_unfinished(scored, examples),
        find_latin_words(scored, examples),
        find_numbers(scored, examples),
        find_half_spaces(scored, examples),
        find_punctuation(scored, examples),
        find_english_punctuation(scored, examples),
        find_identical(scored, examples),
        *find_search_errors(scored, examples),
    ]
    missing = {}
    if scored.hypothesis_scores is None:
        missing["unfinished"] = "the model's scores of its translations are not known"
    if scored.hypothesis_scores is None or scored.reference_scores is None:
        reason = "the model's scores of its translations and of the references are not known"
        missing |= {"search_errors": reason, "search_errors_normalized": reason}
    return Diagnosis(
        test_set=scored.test_set,
        system=scored.system,
        checkpoint=scored.checkpoint,
        search=scored.search,
        sentences=len(scored.sources),
        findings=tuple(finding for finding in findings if finding is not None),
        missing=missing,
    )
