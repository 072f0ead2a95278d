"""All that is looked at, in the order in which it is shown."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from translator.doctor.extras import examine_extras, examine_programs
from translator.doctor.finding import Finding
from translator.doctor.folders import examine_folders
from translator.doctor.machine import examine_machine
from translator.doctor.packages import examine_packages, loads
from translator.doctor.surroundings import examine_surroundings


@dataclass(frozen=True)
class Examination:
    """Everything that was found."""

    findings: tuple[Finding, ...]

    @property
    def wrong(self) -> list[Finding]:
        """Those that keep one from training."""
        return [finding for finding in self.findings if finding.verdict == "wrong"]

    def to_json(self) -> dict[str, Any]:
        """Return the findings as JSON values, with the answer to whether one can train."""
        return {"can_train": not self.wrong, "findings": [asdict(finding) for finding in self.findings]}


def examine(folder: Path) -> Examination:
    """Return what is found on this machine for work in `folder`; it takes a few seconds, mostly for matrix products."""
    findings = examine_packages()
    if loads("torch"):
        from translator.doctor.devices import examine_devices  # imports torch

        findings += examine_devices()
    findings += examine_machine()
    findings += examine_folders(folder)
    findings += examine_surroundings()
    findings += examine_extras()
    if loads("sacrebleu"):
        findings += examine_programs()
    return Examination(tuple(findings))
