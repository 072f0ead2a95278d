"""The command line: every verb is one function elsewhere; here are only arguments, what is printed, and exit codes.

Exit codes: 0 done; 1 a bug, with its traceback; 2 the user's mistake, with one message; 129, 130 and 143 stopped by
SIGHUP, SIGINT and SIGTERM after saving.
"""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence

from translator import __version__
from translator.cli import (
    comparing,
    completing,
    corpora,
    evaluating,
    examining,
    exporting,
    plotting,
    recipes,
    running,
    serving,
    training,
    translating,
)
from translator.cli.colour import coloured
from translator.cli.manual import complete_manual
from translator.cli.say import say
from translator.errors import Interrupted, StorageError, TranslatorError
from translator.large_pages import begin_in_large_pages
from translator.log import log_to_console
from translator.signals import stop_on_signals
from translator.training.launch import handed_over, launched

USER_ERROR = 2
COMPUTING = ("train", "evaluate", "translate", "serve")
"""Verbs that walk through much memory."""
GROUPS = (
    corpora,
    training,
    running,
    evaluating,
    comparing,
    translating,
    exporting,
    serving,
    plotting,
    recipes,
    examining,
    completing,
)
"""Each adds its verbs, in the order of `--help`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    if arguments is None and sys.argv[1:2] and sys.argv[1] in COMPUTING and not launched():
        begin_in_large_pages()  # before anything has happened that would happen twice
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, _Closed(open(os.devnull, "wb")))  # noqa: PTH123, SIM115 - as long as we live
    for stream in (sys.stdout, sys.stderr):  # Persian is UTF-8, whatever the locale says
        if isinstance(stream, io.TextIOWrapper):
            # What cannot be shown must not stop a message; `reconfigure` would take "strict" by itself.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else stream.errors)
    log_to_console()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home it complains of where its cache goes
    try:
        with stop_on_signals() as stop:
            options = _parse(arguments)
            options.arguments = sys.argv[1:] if arguments is None else arguments
            options.verb(options, stop)
            _check_output()
    except TranslatorError as error:
        if not handed_over(error):
            _complain(error)
        return USER_ERROR
    except Interrupted as interrupted:
        if not handed_over(interrupted):
            _complain(interrupted)
        return interrupted.exit_code
    except BrokenPipeError:
        pass  # the reader of our output has gone (`| head`): nothing is left to say
    return 0


class _Closed(io.TextIOWrapper):
    """Stands in the place of a stream that is closed, and knows whether anything was meant for it."""

    lost = False

    def write(self, text: str, /) -> int:
        """Take in a text, which nobody will read."""
        self.lost = self.lost or bool(text.strip())
        return super().write(text)


def _check_output() -> None:
    """Make sure that what was printed could be read; the work itself is done, also where nobody reads of it.

    Raises:
        StorageError: standard output is closed, and something was printed.
    """
    if isinstance(sys.stdout, _Closed) and sys.stdout.lost:
        raise StorageError("standard output is closed, and what was printed is lost; all else is done")


def _complain(error: BaseException) -> None:
    print(f"{coloured('translator:', 'red', sys.stderr)} {error}", file=sys.stderr)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return parser().parse_args(arguments)
    finally:
        say()  # argparse prints its help and leaves
        _check_output()


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line; what it parses has the verb's function as `verb`."""
    whole = argparse.ArgumentParser(
        prog="translator",
        description="Train, evaluate and use English→Persian neural translation models.",
    )
    whole.add_argument("--version", action="version", version=f"translator {__version__}")
    verbs = whole.add_subparsers(metavar="VERB", required=True)
    for group in GROUPS:
        group.add_verbs(verbs)
    complete_manual(whole)
    return whole
