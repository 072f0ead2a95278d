"""Commands of `translator` run in forks of a process that has imported everything, and killed."""

import contextlib
import io
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.processes import family

PATIENCE: Final = 20.0  # seconds after which a child that outlives its parent counts as abandoned


def start(arguments: Sequence[str], log: Path) -> int:
    """Run one verb in a fork of this process, with its output appended to `log`; return its process id."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    # From here on, this is the fork.
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", closefd=False), encoding="utf-8", write_through=True)
        code = _run_verb(arguments)
    except SystemExit as error:  # of argparse
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - the fork must not return into the code of its parent
        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
    os._exit(code)


def _run_verb(arguments: Sequence[str]) -> int:
    import torch

    from translator.cli import main

    torch.set_num_threads(1)
    # A spawned worker would import everything again.
    get_context = multiprocessing.get_context

    def without_spawning(method: str | None = None) -> Any:
        return get_context("fork" if method == "spawn" else method)

    multiprocessing.get_context = without_spawning
    return main(list(arguments))


def wait(process: int) -> int:
    """Return the exit code of a child; minus the signal's number if a signal ended it."""
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def kill(process: int) -> bool:
    """Kill a child by SIGKILL; return whether its own children end by themselves."""
    descendants = family(process)[1:]
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while any(_lives(child) for child in descendants):
        if time.monotonic() > deadline:
            for child in descendants:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            return False
        time.sleep(0.02)
    return True


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
