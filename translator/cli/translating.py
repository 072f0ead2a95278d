"""The verb translate."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from translator.cli.arguments import Verbs, add_checkpoint, add_engine, add_runs, add_search, search_overrides
from translator.errors import InputError
from translator.signals import StopRequest
from translator.streaming import (
    OutputForm,
    Work,
    bytes_on_disk,
    check_source,
    choose_display,
    choose_processes,
    translate_file,
    translate_interactively,
    translate_redirected,
    translate_stream,
    translate_texts,
)

if TYPE_CHECKING:
    from translator.inference import Translator

SUMMARY = "translate text: arguments, a file, standard input line by line, or at a prompt"


def add_verbs(verbs: Verbs) -> None:
    """Add the verb translate."""
    translate = verbs.add_parser("translate", help=SUMMARY, description=SUMMARY)
    add_runs(translate, "several are an ensemble")
    add_checkpoint(translate)
    add_search(translate)
    add_engine(translate)
    translate.add_argument("--processes", type=int, metavar="N", help="search.processes, for files (default: chosen)")
    translate.add_argument("--input", metavar="FILE", help="translate this file, line by line")
    translate.add_argument(
        "--output", metavar="FILE", help="with --input: written whole or not at all; resumed where it was stopped"
    )
    translate.add_argument(
        "--format", choices=("text", "tsv", "jsonl"), default="text", help="of the output (default: text)"
    )
    translate.add_argument("--n-best", type=int, default=1, metavar="K", help="translations of each text, best first")
    translate.add_argument("--scores", action="store_true", help="also log-probabilities (tsv, jsonl)")
    translate.add_argument("--alignment", action="store_true", help="also which words belong together (tsv, jsonl)")
    translate.add_argument("--attention", action="store_true", help="also where the model looked (jsonl)")
    translate.add_argument("--prefix", default="", metavar="TEXT", help="Persian that each translation begins with")
    translate.add_argument(
        "--display",
        choices=("auto", "logical", "visual"),
        default="auto",
        help="at a terminal: text as it is stored, or joined and ordered for terminals that do not (default: auto)",
    )
    translate.add_argument("text", nargs="*", help="English text, one sentence each; without it, standard input")
    translate.set_defaults(verb=_translate)


def _translate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = search_overrides(options)
    form = OutputForm(
        options.format, options.n_best, options.scores, options.alignment, options.attention, options.prefix
    )
    form.check()
    _check_places(options)
    _check_texts(options)
    if options.processes is not None:
        overrides.append(f"search.processes={options.processes}")
    load = partial(_load, tuple(options.runs), options.engine, options.checkpoint, options.device, tuple(overrides))
    work = Work(load, form)
    if options.output is not None:
        translate_file(work, Path(options.input), Path(options.output))
        return
    translator = load()
    display = choose_display(options.display, sys.stdout, os.environ)
    if options.text:
        translate_texts(work, translator, options.text, sys.stdout, display)
    elif options.input is not None:
        with Path(options.input).open("rb") as file:
            _translate_lines(work, translator, file.fileno())
    elif sys.stdin.isatty():
        translate_interactively(work, translator, display)
    else:
        _translate_lines(work, translator, sys.stdin.fileno())


def _check_places(options: argparse.Namespace) -> None:
    """Make sure that there is one thing to translate, and one place for it, before anything is loaded.

    Raises:
        InputError: there is none, or there are several.
        StorageError: the input cannot be read.
    """
    if options.text and options.input is not None:
        raise InputError("text is given as arguments and as --input; leave out one of them")
    if options.output is not None and options.input is None:
        raise InputError(
            "--output needs --input FILE; without it, redirect the output: translator translate ... > FILE"
        )
    if options.input is not None:
        check_source(Path(options.input))
    elif not options.text and sys.stdin is None:
        raise InputError("standard input is closed; give the text as arguments, or on standard input")


def _check_texts(options: argparse.Namespace) -> None:
    """Make sure that no argument has bytes that are no text, which Python hides as lone surrogates.

    Raises:
        InputError: one has.
    """
    named = [(f"argument {number}", text) for number, text in enumerate(options.text, 1)]
    for name, text in [*named, ("--prefix", options.prefix)]:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{name} is not UTF-8; convert it first, for example with iconv") from None


def _translate_lines(work: Work, translator: "Translator", source: int) -> None:
    """Translate what descriptor `source` gives, by several processes where all of it is there and they pay."""
    size = bytes_on_disk(source)
    processes = 1 if size is None else choose_processes(translator, size)
    if processes > 1:
        translate_redirected(work, translator, source, sys.stdout, processes)
    else:
        translate_stream(work, translator, source, sys.stdout)


def _load(
    runs: tuple[str, ...], engine: str | None, checkpoint: str, device: str, overrides: tuple[str, ...]
) -> "Translator":
    """Return the translator of the runs; called in worker processes too."""
    from translator.export import load_translator

    return load_translator(runs, engine, checkpoint=checkpoint, device=device, overrides=overrides)
