"""A diagnosis as lines for a terminal."""

from collections.abc import Iterator
from typing import Final

from translator.evaluation.diagnosis.diagnose import Diagnosis
from translator.evaluation.diagnosis.finding import Finding
from translator.text_table import excerpt, text_table

LONGEST_NOTE: Final = 100
"""Characters of what is said of an example."""
NOTHING: Final = "–"


def format_diagnosis(diagnosis: Diagnosis, examples: int = 2, system: str = "") -> list[str]:
    """Return the table of all findings, then for each that was found its meaning, numbers and some examples.

    Args:
        diagnosis: of one test set.
        examples: how many of each finding to show.
        system: what to call the system, where its own name is not enough; it may have checkpoint and search in it.
    """
    rows = [
        (finding.name, f"{finding.count:,}", f"{finding.of:,}", f"{finding.share:.1%}")
        for finding in diagnosis.findings
    ]
    details = [one for one in (diagnosis.checkpoint, diagnosis.search) if one and one not in system.split()]
    parts = (diagnosis.test_set, system or diagnosis.system, *details)
    title = ", ".join(excerpt(part, LONGEST_NOTE) for part in parts if part)
    lines = [f"Diagnosis of {title}", *text_table(("finding", "sentences", "of", "share"), rows).split("\n")]
    for finding in diagnosis.findings:
        if finding.count:
            lines += ["", *_details(finding, examples)]
    if diagnosis.missing:
        lines.append("")
        lines += [f"not looked for: {name} ({reason})" for name, reason in diagnosis.missing.items()]
    return lines


def _details(finding: Finding, examples: int) -> Iterator[str]:
    yield f"{finding.name}: {finding.meaning}"
    if finding.agreements:
        rows = [
            (name, *map(_share, (one.precision, one.recall, one.f1)), f"{one.hypotheses:,}", f"{one.references:,}")
            for name, one in finding.agreements.items()
        ]
        header = ("", "precision", "recall", "F1", "in hypotheses", "in the other")
        yield from (f"  {line}" for line in text_table(header, rows).split("\n"))
    if finding.figures:
        yield "  " + "; ".join(f"{name}: {_number(value)}" for name, value in finding.figures.items())
    for example in finding.examples[:examples]:
        yield f"  sentence {example.sentence:,}: {excerpt(example.note, LONGEST_NOTE)}"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1%}"
