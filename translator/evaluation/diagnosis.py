"""Diagnosis of translations: the mistakes in a test set that can be counted, and the scores of its parts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from translator.evaluation.mistakes.checks import CHECKS, Check
from translator.evaluation.mistakes.sentence import Mistake, Sentence
from translator.evaluation.results import ScoredSet
from translator.evaluation.test_set_parts import Part, score_parts


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """The mistakes in the translations of one test set, and the scores of its parts."""

    test_set: str
    system: str
    checkpoint: str
    search: str
    left_out: tuple[int, ...]  # lines of the test set, from 1, that are not among the sentences
    mistakes: tuple[Mapping[str, Mistake], ...]  # for each sentence the mistakes in it, by name
    possible: Mapping[str, int]  # for each check, the number of sentences in which the mistake could occur
    parts: tuple[Part, ...]

    def counts(self) -> dict[str, int]:
        """Return the number of sentences with each mistake, including zeros."""
        counts: Counter[str] = Counter()
        for sentence_mistakes in self.mistakes:
            counts.update(sentence_mistakes.keys())
        return {name: counts[name] for name in self.possible}

    def worst(self, name: str, count: int) -> list[tuple[int, str]]:
        """Return number (from 1) and note of up to `count` sentences with this mistake, worst first."""
        numbers = [number for number, mistakes in enumerate(self.mistakes, start=1) if name in mistakes]
        # The sort is stable: of two equally bad sentences, the earlier one comes first.
        numbers.sort(key=lambda number: -self.mistakes[number - 1][name].severity)
        return [(number, self.mistakes[number - 1][name].note) for number in numbers[:count]]

    def to_json(self, examples: int = 5) -> dict[str, Any]:
        """Return the diagnosis as JSON values, with only the worst sentences."""
        findings = []
        for name, count in self.counts().items():
            findings.append(
                {
                    "name": name,
                    "meaning": CHECKS[name].meaning,
                    "count": count,
                    "of": self.possible[name],
                    "examples": [{"sentence": number, "note": note} for number, note in self.worst(name, examples)],
                }
            )
        return {
            "test_set": self.test_set,
            "system": self.system,
            "checkpoint": self.checkpoint,
            "search": self.search,
            "sentences": len(self.mistakes),
            "left_out": list(self.left_out),
            "findings": findings,
            "parts": [part._asdict() for part in self.parts],
        }


def diagnose(scored: ScoredSet) -> Diagnosis:
    """Return the mistakes in the translations, and the scores of the parts of the test set."""
    sentences = _sentences(scored)
    mistakes: list[dict[str, Mistake]] = [{} for _ in sentences]
    possible: dict[str, int] = {}
    for name, check in CHECKS.items():
        if not _has_scores_for(check, scored):
            continue
        # Count the sentences in which the mistake could occur, and note it where it does.
        possible[name] = 0
        for sentence, sentence_mistakes in zip(sentences, mistakes, strict=True):
            mistake = check.find(sentence)
            if mistake is None:
                continue
            possible[name] += 1
            if mistake.severity > 0:
                sentence_mistakes[name] = mistake
    return Diagnosis(
        test_set=scored.test_set,
        system=scored.system,
        checkpoint=scored.checkpoint,
        search=scored.search,
        left_out=scored.left_out,
        mistakes=tuple(mistakes),
        possible=possible,
        parts=tuple(score_parts(scored)),
    )


def _sentences(scored: ScoredSet) -> list[Sentence]:
    """Return the sentences of a test set, with the model's scores where it has them."""
    no_scores = (None,) * len(scored.sources)
    rows = zip(
        scored.sources,
        scored.references,
        scored.hypotheses,
        scored.hypothesis_scores or no_scores,
        scored.reference_scores or no_scores,
        strict=True,
    )
    return [Sentence(*row) for row in rows]


def _has_scores_for(check: Check, scored: ScoredSet) -> bool:
    """Return whether the test set has the model's scores that `check` needs; translations of others have none."""
    if check.needs_hypothesis_scores and not scored.hypothesis_scores:
        return False
    return bool(scored.reference_scores) or not check.needs_reference_scores
