"""The command line: arguments, output and exit codes; each verb calls one function of another package."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from translator import __version__
from translator.cli import (
    back_translating,
    comparing,
    completion,
    corpora,
    distilling,
    doctor,
    evaluating,
    fine_tuning,
    plotting,
    run_folders,
    shipped_recipes,
    training,
    translating,
)
from translator.cli.arguments import Verb, VerbFormatter, VerbParser, advice_on_stray, repeat_set
from translator.errors import InputError, Interrupted, TranslatorError
from translator.run.files import path_errors
from translator.run.logging import log_to_console, print_error
from translator.run.memory import check_address_space
from translator.run.signals import stop_on_signals
from translator.run.text import printable

_MODULES: Final = (
    training,
    run_folders,
    evaluating,
    comparing,
    fine_tuning,
    back_translating,
    distilling,
    translating,
    plotting,
    corpora,
    shipped_recipes,
    doctor,
    completion,
)
"""The modules with verbs, in the order of the list of verbs."""
_GROUPS: Final = {
    "corpus": ("QUESTION", "examine corpora"),
    "plot": ("PICTURE", "draw a picture of a run: attention, curves"),
}
"""Verb groups (first words of two-word verbs): the metavar of the second word, and the summary of the group."""
_MANUAL: Final = """examples:
  translator train --config sample
  translator translate --run runs/sample "The children are at school."

exit codes:
  0    done
  1    a bug of translator, with its traceback
  2    a mistake in the config, corpus or command; one message says what to do
  129, 130, 143   stopped by SIGHUP, SIGINT (Ctrl-C) or SIGTERM after saving; a second signal stops immediately"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    _prepare_streams()
    log_to_console()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home directory it warns about its cache
    # Everything from here on can be stopped by a signal, and every mistake of a user becomes one message.
    typed = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stop_on_signals() as stop, path_errors():
            _check_current_folder()
            program = parser()
            context = argparse.Namespace(arguments=typed, program=program)
            options, stray = program.parse_known_args(repeat_set(typed), context)
            if stray:
                program.error(advice_on_stray(stray))
            if options.verb is not doctor.doctor.run:  # it finds out itself what does not work
                check_address_space()
            options.verb(options, stop)
    except (TranslatorError, Interrupted) as error:
        print_error(f"translator: {printable(str(error))}")
        return error.exit_code if isinstance(error, Interrupted) else 2
    except BrokenPipeError:
        pass  # the reader closed the pipe (`| head`)
    finally:
        _flush_errors()
    return 0


def _prepare_streams() -> None:
    """Give standard input, output and error a stream where the parent process closed them, and the encoding UTF-8."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - lives as long as the process
    for stream in (sys.stdout, sys.stderr):  # Persian needs UTF-8 in every locale
        if isinstance(stream, io.TextIOWrapper):
            # An unprintable character must not stop a message; `reconfigure` alone would switch to "strict".
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else stream.errors)


def _flush_errors() -> None:
    """Flush standard error; discard what a full disk refuses, or the interpreter's flush at exit ends in code 120."""
    try:
        sys.stderr.flush()
    except OSError:
        # The interpreter flushes again at exit; into nothing, that cannot fail.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)


def _check_current_folder() -> None:
    """Raise InputError if the current folder is deleted: neither paths nor libraries can be found from there."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InputError("the current folder no longer exists; change to another one, for example: cd ~") from None


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser; in the parsed options, `verb` is the function of the verb."""
    program = VerbParser(
        prog="translator",
        description="Train, evaluate and use English→Persian neural translation models.",
        epilog=_MANUAL,
        formatter_class=VerbFormatter,
    )
    program.add_argument("--version", action="version", version=f"translator {__version__}")
    # A verb of two words, such as `plot curves`, is a verb inside a group.
    groups = {"": program.add_subparsers(metavar="VERB", required=True)}
    for verb in _verbs():
        name = verb.name.rpartition(" ")[0]
        if name not in groups:
            metavar, summary = _GROUPS[name]
            group = groups[""].add_parser(name, help=summary, description=summary)
            groups[name] = group.add_subparsers(metavar=metavar, required=True)
        verb.add_to(groups[name])
    return program


def _verbs() -> Iterator[Verb]:
    """Yield all verbs, in the order of their definition; a verb that another module imports comes once."""
    for module in _MODULES:
        for value in vars(module).values():
            if isinstance(value, Verb) and value.module == module.__name__:
                yield value
