"""The command line: arguments, output and exit codes; each verb calls one function of another package."""

import io
import logging
import os
import pkgutil
import sys
from collections.abc import Sequence

from translator.cli.arguments import advice_on_stray, repeat_set
from translator.cli.verbs import parser
from translator.errors import Interrupted, TranslatorError
from translator.run.files import path_errors
from translator.run.logging import log_to_console, print_error
from translator.run.signals import stop_on_signals
from translator.run.text import printable

__all__ = ["main", "parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    _prepare_streams()
    log_to_console()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # without a home directory it warns about its cache
    typed = list(sys.argv[1:] if arguments is None else arguments)
    # Everything from here on can be stopped by a signal, and every mistake of a user becomes one message.
    try:
        with stop_on_signals() as stop, path_errors():
            program = parser()
            options, stray = program.parse_known_args(repeat_set(typed))
            if stray:
                program.error(advice_on_stray(stray, options.verb.options))
            verb_function = pkgutil.resolve_name(options.verb.run)  # its module is imported now
            verb_function(options, stop)
    except (TranslatorError, Interrupted) as error:
        print_error(f"translator: {printable(str(error))}")
        return error.exit_code if isinstance(error, Interrupted) else 2
    except BrokenPipeError:
        pass  # the reader closed the pipe (`| head`)
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
