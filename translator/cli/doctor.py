"""The verb doctor."""

import argparse
import json
from pathlib import Path

from translator.cli.arguments import option, say, verb
from translator.errors import TranslatorError
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest


@verb(
    "doctor",
    "check versions, devices, memory and disk of this machine, and advise how to fix problems",
    option("--json", "print the findings as JSON", action="store_true"),
    examples=("translator doctor --json > doctor.json",),
)
def doctor(options: argparse.Namespace, stop: StopRequest) -> None:
    """Print what this machine has, and what is wrong."""
    from translator.doctor import examine, format_findings

    LOGGER.info("examining this machine")
    findings = examine(Path.cwd())
    problems = [finding.name for finding in findings if finding.verdict == "wrong"]
    # With `--json`, standard output has nothing but JSON, so that a program can read it.
    if options.json:
        record = {"can_train": not problems, "findings": [finding._asdict() for finding in findings]}
        say(json.dumps(record, ensure_ascii=False, indent=2))
    else:
        say(format_findings(findings))
    # The exit code tells a script whether this machine can train.
    if problems:
        raise TranslatorError(f"training is impossible on this machine: {', '.join(problems)}; see the advice above")
    if not options.json:
        say("", "Training works on this machine: translator train --config sample")
