"""The verb doctor."""

import argparse
import json
import sys
from pathlib import Path

from translator.cli.arguments import Verbs
from translator.cli.colour import coloured
from translator.cli.say import say
from translator.errors import TranslatorError
from translator.signals import StopRequest


def add_verbs(verbs: Verbs) -> None:
    """Add the verb doctor."""
    summary = "look at this machine: versions, devices, memory, disk, what is missing and how to get it"
    doctor = verbs.add_parser("doctor", help=summary, description=summary)
    doctor.add_argument("--json", action="store_true", help="print the findings as JSON")
    doctor.set_defaults(verb=_doctor)


def _doctor(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.doctor import examine, format_examination
    from translator.storage import storage_errors

    with storage_errors("the current folder", "read"):
        folder = Path.cwd()
    examination = examine(folder)
    if options.json:
        say(json.dumps(examination.to_json(), ensure_ascii=False, indent=2))
    else:
        marks = {"ok": "green", "note": "yellow", "wrong": "red"}
        for line in format_examination(examination).split("\n"):
            mark, gap, rest = line.partition(" ")
            say(coloured(mark, marks[mark], sys.stdout) + gap + rest if mark in marks else line)
    if examination.wrong:
        names = ", ".join(finding.name for finding in examination.wrong)
        raise TranslatorError(f"one cannot train here: {names}; what to do is said above")
    if not options.json:
        say("", "One can train here: translator train --config sample")
