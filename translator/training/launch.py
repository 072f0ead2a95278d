"""One command, several processes: torch's launcher starts them, and one voice tells how it ended.

The processes run the same command again and find their rank in the environment, as they do under `torchrun`. A failure
that they could explain is handed to the launching process, which says it once for all.
"""

import contextlib
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from translator.errors import Interrupted, RunError, TranslatorError
from translator.large_pages import large_pages
from translator.signals import STOP_SIGNALS, StopRequest
from translator.training.lost_process import ADVICE, LostProcessError
from translator.workers import available_cores

_FAILURES: Final = "TRANSLATOR_FAILURES"
"""Environment variable: the folder into which the processes of `launch` put what went wrong."""
_LAUNCHER: Final = "TRANSLATOR_LAUNCHER"
"""Environment variable: the process that launched this one."""
_BUG: Final = 1
_USER_ERROR: Final = 2
_AT_ONCE: Final = "at-once"
"""File in that folder that tells all to end without saving."""
_LOOK: Final = 0.5
"""Seconds between two looks at whether the launching process still lives."""
_TO_SAVE: Final = 600
"""Seconds that a process has to save and stop, before it is ended."""
_COURTESY: Final = 1.0
"""Seconds that a process waits before it reports a lost one, so that the lost one is seen first."""


def launched() -> bool:
    """Return whether torch's launcher started this process, ours or the person's own `torchrun`."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def launch(
    arguments: Sequence[str],
    processes: int,
    stop: StopRequest,
    threads: int = 0,
    program: Sequence[str] = ("-m", "translator"),
) -> int:
    """Run `translator` with `arguments` in several processes on this machine, and return 0, or 1 for a bug.

    A stop signal reaches them all, and a second one ends them at once; a process that is lost ends the others.

    Args:
        arguments: of the command line, without the name of the program.
        processes: how many.
        stop: of this process, which has nothing to do but wait for the others.
        threads: CPU threads of each; 0 divides the cores among them.
        program: what Python runs.

    Raises:
        Interrupted: they were stopped by a signal, all together.
        TranslatorError: what one of them raised, or one was killed.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    failures: list[tuple[int, int]] = []
    stopped_by: int | None = None
    with tempfile.TemporaryDirectory(prefix="translator-") as folder:
        environment = {
            **large_pages(),
            "OMP_NUM_THREADS": str(threads or max(1, available_cores() // processes)),
            "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": str(_TO_SAVE),
            _FAILURES: folder,
            _LAUNCHER: str(os.getpid()),
        }
        with _environment(environment), _forwarded_signals(Path(folder)), _silent_launcher(), stop.deferred():
            config = LaunchConfig(
                min_nodes=1,
                max_nodes=1,
                nproc_per_node=processes,
                run_id=Path(folder).name,
                rdzv_backend="c10d",
                rdzv_endpoint="localhost:0",  # any free port
                local_addr="localhost",
                max_restarts=0,
                logs_specs=DefaultLogsSpecs(log_dir=folder),
                signals_to_handle="",  # none: `_forwarded_signals` does
            )
            try:
                elastic_launch(config, sys.executable)(*program, *arguments)
            except ChildFailedError as error:
                in_time = sorted(error.failures.items(), key=lambda item: item[1].timestamp)
                failures = [(rank, failure.exitcode) for rank, failure in in_time]
            except SignalException as error:
                stopped_by = int(error.sigval)
        told = _told(Path(folder))
    return _judge(failures, told, stopped_by, processes)


def _judge(failures: Sequence[tuple[int, int]], told: Sequence[str], stopped_by: int | None, processes: int) -> int:
    """Return the exit code of the whole, or raise what is to be said.

    Args:
        failures: rank and exit code of each process that failed, the first one first; a signal is negative.
        told: what processes handed over, by rank; none of a loss that others caused.
        stopped_by: the signal that ended the whole.
        processes: how many there were.

    Raises:
        Interrupted: a signal stopped them.
        TranslatorError: what is to be said.
    """
    codes = {code for _, code in failures}
    # The launcher ends those that are left with SIGTERM.
    killed = [(rank, -code) for rank, code in failures if code < 0 and -code != signal.SIGTERM]
    if told:
        raise TranslatorError(told[0])
    if stopped_by is not None:
        raise Interrupted(stopped_by)
    if _BUG in codes:
        return _BUG
    if killed:
        rank, number = killed[0]
        name = signal.strsignal(number) or f"signal {number}"
        memory = ", most likely because memory ran out" if number == signal.SIGKILL else ""
        raise LostProcessError(f"process {rank} of {processes} was lost ({name}{memory}); {ADVICE}")
    for number in STOP_SIGNALS:
        if 128 + number in codes:
            raise Interrupted(number)
    if failures:
        rank, code = failures[0]
        raise RunError(f"process {rank} of {processes} ended with exit code {code}; {ADVICE}")
    return 0


def handed_over(error: BaseException) -> bool:
    """Give `error` to the process that launched this one, if one did: it says it for all; else return False."""
    folder = os.environ.get(_FAILURES)
    if folder is None or not launched():
        return False
    if isinstance(error, LostProcessError):
        time.sleep(_COURTESY)
    elif isinstance(error, TranslatorError):
        path = Path(folder) / f"{_rank():06d}.failure"
        with contextlib.suppress(OSError):
            path.write_text(json.dumps(str(error)), encoding="utf-8")
            return True
        return False
    return True


def _told(folder: Path) -> list[str]:
    """Return the messages that processes handed over, in the order of their ranks."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.failure"))]


def _rank() -> int:
    return int(os.environ["RANK"])


def follow_launcher() -> None:
    """Stop this process, as by SIGTERM, once the process that launched it is gone, however that ended."""
    launcher = int(os.environ.get(_LAUNCHER) or os.getppid())
    folder = os.environ.get(_FAILURES)
    at_once = None if folder is None else Path(folder) / _AT_ONCE
    threading.Thread(target=_follow, args=(launcher, at_once), name="following the launcher", daemon=True).start()


def _follow(launcher: int, at_once: Path | None) -> None:
    while os.getppid() == launcher:
        if at_once is not None and at_once.exists():
            os._exit(128 + signal.SIGINT)
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_TO_SAVE)
    os._exit(_USER_ERROR)


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables inside the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _forwarded_signals(folder: Path) -> Iterator[None]:
    """Let torch's launcher hand a first stop signal on; a second one leaves the word for all to end at once."""
    from torch.distributed.elastic.multiprocessing import SignalException

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) == 1:
            raise SignalException(f"stopped by signal {number}", signal.Signals(number))
        (folder / _AT_ONCE).touch()

    heard = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, receive) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _silent_launcher() -> Iterator[None]:
    """Keep the words of torch's launcher, which are for programmers, to itself."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
