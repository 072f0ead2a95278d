"""What the diagnoses found, as the page shows it: findings below each other, the sets side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from translator.evaluation.diagnosis import Diagnosis, Finding


@dataclass(frozen=True)
class FindingRow:
    """One kind of mistake."""

    name: str
    meaning: str
    found: Sequence[Finding | None]
    """In each set; None where it could not be looked for."""

    @property
    def shown_name(self) -> str:
        """The name in words."""
        return finding_label(self.name)

    @property
    def details(self) -> list[tuple[int, Finding]]:
        """The number of each set, from 1, of which there is more to tell than a count."""
        return [
            (number, one)
            for number, one in enumerate(self.found, start=1)
            if one is not None and (one.examples or one.agreements or one.figures)
        ]


def finding_label(name: str) -> str:
    """Return the name of a finding for a person."""
    return name.replace("_", " ")


def finding_rows(diagnoses: Sequence[Diagnosis | None]) -> list[FindingRow]:
    """Return a row for each finding that was looked for in any of the sets."""
    known = {one.name: one.meaning for diagnosis in diagnoses if diagnosis for one in diagnosis.findings}
    return [
        FindingRow(name, meaning, [diagnosis.finding(name) if diagnosis else None for diagnosis in diagnoses])
        for name, meaning in known.items()
    ]


def not_looked_for(diagnoses: Sequence[Diagnosis | None]) -> Iterator[tuple[str, str]]:
    """Yield the findings that could not be looked for in any of the sets, and why."""
    known = {row.name for row in finding_rows(diagnoses)}
    missing = {name: why for diagnosis in diagnoses if diagnosis for name, why in diagnosis.missing.items()}
    yield from ((finding_label(name), why) for name, why in missing.items() if name not in known)
