"""`translator train` as the torture starts it: it can say where it stands, see its clock jump, and die at a write.

`python -m bench.torture_driver [--stack FILE] [--clock SEED] [--under FOLDER [--told FILE] [--die-at N]] -- train ...`
"""

import argparse
import contextlib
import faulthandler
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

YEAR: Final = 365.25 * 24 * 3600
"""Seconds."""


def main(arguments: Sequence[str]) -> int:
    """Prepare what was asked for, then be the command line."""
    parser = argparse.ArgumentParser(prog="bench.torture_driver")
    parser.add_argument("--stack", type=Path, help="where SIGUSR1 writes what the process is doing")
    parser.add_argument("--clock", type=int, help="let the time of day jump by years; the seed of the jumps")
    parser.add_argument("--under", type=Path, help="count what is done to files in this folder")
    parser.add_argument("--told", type=Path, help="write each of these operations to this file")
    parser.add_argument("--die-at", type=int, default=0, help="number of the operation, from 1, in which SIGKILL comes")
    parser.add_argument("rest", nargs="+", help="arguments of translator")
    options = parser.parse_args(arguments)
    if options.stack:
        beside = options.stack.with_suffix(".partial")
        faulthandler.register(signal.SIGUSR1, beside.open("w"))
        beside.rename(options.stack)  # from now on we may be asked
    if options.clock is not None:
        let_the_clock_jump(options.clock)
    with watched(options.under, options.told, options.die_at):
        from translator.cli import main as translator  # not earlier: imports are a part of the life that is tortured

        return translator(options.rest)


@contextlib.contextmanager
def watched(folder: Path | None, told: Path | None, die_at: int) -> Iterator[None]:
    """Count inside the block what is done to files in `folder`, tell of it in `told`, and die at one operation."""
    if folder is None:
        yield
        return
    from bench.faults import Faults  # brings torch with it

    with Faults(folder, die_at, "sigkill") as faults:
        yield
    if told is not None:
        lines = (f"{name}\t{Path(path).relative_to(folder.resolve())}\n" for name, path in faults.operations)
        told.write_text("".join(lines), encoding="utf-8")


def let_the_clock_jump(seed: int) -> None:
    """Make `time.time` and `time.time_ns` leap between the present and thirty years on either side of it."""
    chance, real, real_in_nanoseconds = random.Random(seed), time.time, time.time_ns

    def leap() -> float:
        return chance.choice((-30, -1, 0, 0, 1, 30)) * YEAR

    time.time = lambda: real() + leap()
    time.time_ns = lambda: real_in_nanoseconds() + int(leap()) * 10**9


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
