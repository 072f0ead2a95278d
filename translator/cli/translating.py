"""The verb translate."""

import argparse
import sys

from translator.cli.arguments import Verbs, add_search, search_overrides
from translator.cli.say import say
from translator.errors import InputError
from translator.signals import StopRequest
from translator.streaming import translate_interactively, translate_stream


def add_verbs(verbs: Verbs) -> None:
    """Add the verb translate."""
    translate = verbs.add_parser("translate", help="translate text, or standard input line by line")
    translate.add_argument("--run", required=True, metavar="FOLDER", help="run folder, for example runs/sample")
    translate.add_argument("--checkpoint", default="best", help="best (default), last, averaged, or a step number")
    add_search(translate)
    translate.add_argument("text", nargs="*", help="English text, one sentence each; without it, standard input")
    translate.set_defaults(verb=_translate)


def _translate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_overrides(options)
    if not options.text and sys.stdin is None:
        raise InputError("standard input is closed; give the text as arguments, or on standard input")
    from translator.inference import Translator

    translator = Translator.load(options.run, checkpoint=options.checkpoint, overrides=overrides)
    if options.text:
        say(*translator.translate_lines(options.text))
    elif sys.stdin.isatty():
        translate_interactively(translator)
    else:
        translate_stream(translator, sys.stdin.fileno(), sys.stdout)
