"""`translator train` as the torture starts it: it can say where it stands, see its clock jump, and die on a call.

`python -m bench.torture_driver [--stack FILE] [--clock SEED] [--calls FILE] [--die-at N --under FOLDER] -- train ...`
"""

import argparse
import faulthandler
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

YEAR: Final = 365.25 * 24 * 3600
"""Seconds."""
_CHANGES: Final = frozenset({"open", "os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir"})
"""Python's names for the system calls that change a folder."""


def main(arguments: Sequence[str]) -> int:
    """Prepare what was asked for, then be the command line."""
    parser = argparse.ArgumentParser(prog="bench.torture_driver")
    parser.add_argument("--stack", type=Path, help="where SIGUSR1 writes what the process is doing")
    parser.add_argument("--clock", type=int, help="let the time of day jump by years; the seed of the jumps")
    parser.add_argument("--under", type=Path, help="count the calls that change something in this folder")
    parser.add_argument("--calls", type=Path, help="write each of them to this file")
    parser.add_argument("--die-at", type=int, help="number of the call, from 1, before which SIGKILL comes")
    parser.add_argument("rest", nargs="+", help="arguments of translator")
    options = parser.parse_args(arguments)
    if options.stack:
        beside = options.stack.with_suffix(".partial")
        faulthandler.register(signal.SIGUSR1, beside.open("w"))
        beside.rename(options.stack)  # from now on we may be asked
    if options.clock is not None:
        let_the_clock_jump(options.clock)
    if options.under:
        watch_calls(options.under, CallCounter(options.calls, options.die_at))
    from translator.cli import main as translator  # not earlier: imports are a part of the life that is tortured

    return translator(options.rest)


def let_the_clock_jump(seed: int) -> None:
    """Make `time.time` and `time.time_ns` leap between the present and thirty years on either side of it."""
    chance, real, real_in_nanoseconds = random.Random(seed), time.time, time.time_ns

    def leap() -> float:
        return chance.choice((-30, -1, 0, 0, 1, 30)) * YEAR

    time.time = lambda: real() + leap()
    time.time_ns = lambda: real_in_nanoseconds() + int(leap()) * 10**9


class CallCounter:
    """Counts calls, tells of each, and kills its process at one of them."""

    def __init__(self, told: Path | None, die_at: int | None) -> None:
        self._told = told.open("w", encoding="utf-8", buffering=1) if told else None
        self._die_at = die_at
        self._count = 0

    def __call__(self, name: str, path: str) -> None:
        """Take note of one call before it is made."""
        self._count += 1
        if self._told:
            self._told.write(f"{name}\t{path}\n")
        if self._count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def watch_calls(folder: Path, counter: CallCounter) -> None:
    """Report to `counter` every opening for writing, flush, rename, link and deletion of paths in `folder`.

    Nothing of the code that makes them is replaced, so a new way of saving is watched as well.
    """
    inside = str(folder.resolve())

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES:
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        for argument in arguments[:2]:
            if isinstance(argument, (str, os.PathLike)) and os.path.abspath(argument).startswith(inside):  # noqa: PTH100
                counter(event, os.path.relpath(argument, inside))
                return

    sys.addaudithook(hook)
    setattr(os, "fsync", _watched_flush(os.fsync, inside, counter))  # noqa: B010 - its type has a name that is not ours


def _watched_flush(flush: Callable[[Any], None], inside: str, counter: CallCounter) -> Callable[[Any], None]:
    def watched(handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        path = os.readlink(f"/proc/self/fd/{number}")  # noqa: PTH115 - a handle, not a path that exists
        if path.startswith(inside):
            counter("os.fsync", os.path.relpath(path, inside))
        flush(handle)

    return watched


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
