"""What is optional: libraries of the extras, models for some scores, programs."""

import shutil
import sys
from collections.abc import Mapping
from typing import Final

from packaging.requirements import Requirement

from translator.doctor.finding import Finding
from translator.doctor.packages import extras, in_checkout, install_command, requirements, version_of

_PROGRAMS: Final[Mapping[str, tuple[tuple[str, ...], str, str]]] = {
    "git": (("git",), "run.json names no commit of the code", "apt install git"),
    "Chromium": (
        ("chromium", "chromium-browser", "google-chrome"),
        "needed for `make test-browser` alone",
        "apt install chromium",
    ),
}
"""The names that a program goes by, what its absence means, and how to get it on Debian or Ubuntu."""


def examine_extras() -> list[Finding]:
    """Return which extras are there, and for each that lacks something the command that installs it."""
    findings = []
    for extra in extras():
        asked = requirements(extra)
        if not asked:  # another one under a second name
            continue
        lacking = [one for one in asked if not _is_there(one)]
        name = f"extra {extra}"
        if lacking:
            found = f"lacks {', '.join(one.name for one in lacking)}"
            findings.append(Finding(name, found, "note", f"install it with: {install_command(lacking)}"))
        else:
            findings.append(Finding(name, f"all {len(asked)} packages are there"))
    return findings


def _is_there(asked: Requirement) -> bool:
    version = version_of(asked.name)
    return version is not None and asked.specifier.contains(version, prereleases=True)


def examine_programs() -> list[Finding]:
    """Return which scores lack a model and, in a checkout, which programs are not there."""
    from translator.evaluation.spbleu import spbleu_lacks

    lacks = spbleu_lacks()
    findings = [Finding("spBLEU", "there") if lacks is None else Finding("spBLEU", "no model", "note", lacks)]
    if shutil.which("comet-score") is None:
        advice = "COMET is scored by a program of its own: pip install unbabel-comet, in any environment on PATH"
        findings.append(Finding("COMET", "no program comet-score", "note", advice))
    else:
        findings.append(Finding("COMET", "there; name a model with evaluation.comet_model"))
    for name, (commands, meaning, how) in _PROGRAMS.items() if in_checkout() else ():
        path = next(filter(None, map(shutil.which, commands)), None)
        advice = f"{meaning}; {how}" if sys.platform == "linux" else meaning
        findings.append(Finding(name, path) if path else Finding(name, "not found", "note", advice))
    return findings
