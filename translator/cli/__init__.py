"""The command line: arguments, output and exit codes; each verb calls one function of another package."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from translator import __version__
from translator.cli import chains, plotting, runs, tools, translating
from translator.cli.arguments import Verb, VerbFormatter, repeat_set, say
from translator.errors import InputError, Interrupted, TranslatorError
from translator.run.logging import log_to_console, print_error
from translator.run.memory import check_address_space
from translator.run.signals import stop_on_signals
from translator.run.text import printable

_GROUPS: Final = {
    "corpus": ("QUESTION", "examine corpora"),
    "plot": ("PICTURE", "draw a picture: attention, positions, schedule, batches, curves, masks, cache"),
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
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the parent process closed it
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - lives as long as the process
    for stream in (sys.stdout, sys.stderr):  # Persian needs UTF-8 in every locale
        if isinstance(stream, io.TextIOWrapper):
            # An unprintable character must not stop a message; `reconfigure` alone would switch to "strict".
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else stream.errors)
    log_to_console()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home directory it warns about its cache
    typed = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with stop_on_signals() as stop:
            _check_current_folder()
            try:
                options = parser().parse_args(repeat_set(typed), argparse.Namespace(arguments=typed))
            finally:
                say()  # flush the help that argparse prints before it exits
            if options.verb is not tools.doctor.run:  # it finds out itself what does not work
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


def _flush_errors() -> None:
    """Flush standard error; discard what a full disk refuses, or the interpreter's flush at exit ends in code 120."""
    try:
        sys.stderr.flush()
    except OSError:
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
    whole = argparse.ArgumentParser(
        prog="translator",
        description="Train, evaluate and use English→Persian neural translation models.",
        epilog=_MANUAL,
        formatter_class=VerbFormatter,
    )
    whole.add_argument("--version", action="version", version=f"translator {__version__}")
    groups = {"": whole.add_subparsers(metavar="VERB", required=True)}
    verbs = [one for module in (runs, chains, translating, plotting, tools) for one in vars(module).values()]
    for verb in (one for one in verbs if isinstance(one, Verb)):
        group = verb.name.rpartition(" ")[0]
        if group not in groups:
            metavar, summary = _GROUPS[group]
            several = groups[""].add_parser(group, help=summary, description=summary)
            groups[group] = several.add_subparsers(metavar=metavar, required=True)
        verb.add_to(groups[group])
    return whole
