"""The command line as its users have it: the console script, in this process."""

import functools
import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from unittest.mock import patch

from translator.cli.verbs import parser


@dataclass(frozen=True)
class Finished:
    """What a command has left behind."""

    code: int  # exit code
    out: str  # standard output
    err: str  # standard error

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.out.splitlines()


@functools.cache
def console_script() -> Callable[[list[str]], int]:
    """Return the function of the console script; every later command of this process reuses its parser of arguments."""
    (script,) = entry_points(group="console_scripts", name="translator")
    main: Callable[[list[str]], int] = script.load()
    patch(f"{script.module}.parser", functools.cache(parser)).start()
    return main


def translator(*arguments: str | Path, stdin: str | bytes = "") -> Finished:
    """Run `translator` with `arguments` in this process, which has imported torch already.

    A command that `stdin` feeds reads it to its end. Anything but an exit code, such as a traceback, is raised.
    """
    main = console_script()
    typed = tempfile.TemporaryFile()  # noqa: SIM115 - a stream with a number, as a real standard input has
    typed.write(stdin.encode() if isinstance(stdin, str) else stdin)
    typed.seek(0)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    read = io.TextIOWrapper(typed, encoding="utf-8")
    with read, redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", read):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse ends --help and wrong arguments so
            code = end.code if isinstance(end.code, int) else 1
    return Finished(code=code, out=_written(out), err=_written(err))


def succeed(*arguments: str | Path, stdin: str | bytes = "") -> Finished:
    """Run `translator` as `translator()` does, and check that it succeeds."""
    result = translator(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result


def refusal(*arguments: str | Path, stdin: str | bytes = "") -> str:
    """Run `translator` with `arguments` that it must refuse; return what it says, which has one message."""
    result = translator(*arguments, stdin=stdin)
    assert (result.code, result.out) == (2, ""), result.err
    assert sum(line.startswith("translator") for line in result.err.splitlines()) == 1, result.err
    return result.err


def _written(stream: io.TextIOWrapper) -> str:
    """Return what was written to a stream, as a reader of a pipe sees it."""
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")
