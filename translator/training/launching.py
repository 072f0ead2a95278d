"""Starting the ranks of a data-parallel training on this machine, with torch's elastic launcher."""

import contextlib
import ctypes
import logging
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, get_error_handler
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from translator.errors import Interrupted, RunError, TranslatorError
from translator.run.logging import print_error
from translator.run.signals import STOP_SIGNALS, StopRequest
from translator.run.storage import path_errors
from translator.run.text import printable
from translator.run.workers import available_cores

ADVICE: Final = "the last checkpoint is intact, and the same command resumes from it"
_LAUNCHED: Final = "TRANSLATOR_LAUNCHED"  # environment variable of processes started by `launch`
_RANK_VARIABLES: Final = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK"})
_STOP_SECONDS: Final = 600  # that a rank has to save and stop after a signal
_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of Linux's `prctl` (linux/prctl.h)


class LostProcessError(RunError):
    """Another rank of the run was killed, failed, or cannot be reached."""


class SilentProcessError(LostProcessError):
    """Another rank of the run still exists, as far as this one can see, but did not answer in time."""


def launched() -> bool:
    """Return whether an elastic launcher started this process: `launch` or the user's own `torchrun`."""
    return os.environ.keys() >= _RANK_VARIABLES


def launch(
    arguments: Sequence[str],
    processes: int,
    stop: StopRequest,
    threads: int = 0,
    program: Sequence[str] = ("-m", "translator"),
) -> int:
    """Run `program` with command line `arguments` in several processes on this machine; return 0, or 1 for a bug.

    The first stop signal is forwarded to all processes, which save and stop. A second one stops them without saving.
    `threads` is the number of CPU threads of each; 0 divides the cores among them.

    Raises:
        Interrupted: a signal stopped them.
        TranslatorError: a rank failed (with the message of the first failure) or was killed.
    """
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    # Under `nohup`, SIGHUP stays ignored.
    forwarded = [number.name for number, handler in handlers.items() if handler is not signal.SIG_IGN]
    # The ranks inherit the environment.
    os.environ[_LAUNCHED] = "1"
    os.environ["OMP_NUM_THREADS"] = str(threads or max(1, available_cores() // processes))
    logging.disable(logging.CRITICAL)  # torch's launcher is verbose
    try:
        with tempfile.TemporaryDirectory(prefix="translator-") as folder, stop.deferred():
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
                signals_to_handle=",".join(forwarded),
                shutdown_timeout=_STOP_SECONDS,
            )
            elastic_launch(config, sys.executable)(*program, *arguments)
    except SignalException as error:
        raise Interrupted(int(error.sigval)) from error
    except ChildFailedError as error:
        return _exit_code(error.failures, processes)
    finally:
        # The launcher has replaced the handlers, and its settings are for the ranks only.
        logging.disable(logging.NOTSET)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.environ.clear()
        os.environ.update(environment)
    return 0


def _exit_code(failures: Mapping[int, ProcessFailure], processes: int) -> int:
    """Return 1 for a bug; raise the error of all other `failures`, by rank."""
    # 1. A user error, which a rank has reported to the launcher.
    for failure in sorted(failures.values(), key=lambda failure: failure.timestamp):
        report = failure.error_file_data.get("message")
        if isinstance(report, dict):  # torch's error handler writes `Type: message`
            _, _, message = str(report["message"]).partition(": ")
            raise TranslatorError(message)
    # 2. A bug, whose traceback is printed already.
    rank_by_code = {}
    for rank in sorted(failures, reverse=True):  # the lowest rank of each exit code stays
        rank_by_code[failures[rank].exitcode] = rank
    if 1 in rank_by_code:
        return 1
    # 3. A rank that was killed. Then the launcher ends the other ranks by SIGTERM.
    for code, rank in rank_by_code.items():
        if code < 0 and code != -signal.SIGTERM:
            reason = signal.strsignal(-code)
            if code == -signal.SIGKILL:
                reason = f"{reason}; if nobody stopped it, memory may have run out"
            raise LostProcessError(f"rank {rank} of {processes} was lost ({reason}); {ADVICE}")
    # 4. A stop by a signal, with the exit code of a shell or of Python's `subprocess`.
    for number in STOP_SIGNALS:
        if 128 + number in rank_by_code or -number in rank_by_code:
            raise Interrupted(number)
    raise RunError(f"a rank ended with exit code {', '.join(map(str, rank_by_code))}; {ADVICE}")


@contextlib.contextmanager
def errors_end_the_rank() -> Iterator[None]:
    """In a process that an elastic launcher started, report an error of the block and end the process.

    `launch` prints the error once, for all its ranks. A rank of the user's own `torchrun` prints it itself.
    """
    if not launched():
        yield
        return
    try:
        with path_errors():
            yield
    except Interrupted as error:
        _end_rank(error, error.exit_code)
    except TranslatorError as error:
        _end_rank(error, 2)
    except Exception as error:  # noqa: BLE001 - a bug: its traceback is printed, and 1 is the exit code of Python
        _end_rank(error, 1)


def _end_rank(error: BaseException, code: int) -> NoReturn:
    """Report `error`, and end this process without Python's own steps at the end, in which it may abort.

    A thread of Gloo may still hold a tensor of the last exchange. It needs the interpreter to release it, and one that
    has ended makes it call `std::terminate` (https://github.com/pytorch/pytorch/issues/190489).
    """
    # When a rank has ended, the launcher sends a signal to the others, which may be here too.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        _report(error)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # whatever the report meets: a full disk, a closed pipe
        os._exit(code)


def _report(error: BaseException) -> None:
    """Give `error` to the launcher or, if that is not `launch`, print it; a bug is printed with its traceback."""
    if not isinstance(error, Interrupted | TranslatorError):
        traceback.print_exception(error)
    elif _LAUNCHED not in os.environ:
        print_error(f"translator: {printable(str(error))}")
    # A killed rank is the cause itself. The launcher does not see that a rank is silent.
    elif isinstance(error, SilentProcessError) or not isinstance(error, Interrupted | LostProcessError):
        get_error_handler().record_exception(error)


def stop_with_launcher() -> None:
    """Let Linux signal this process when the `launch` that started it dies, so that no rank continues alone."""
    if _LAUNCHED not in os.environ or sys.platform != "linux":
        return
    # Each thread of the launcher causes one signal; several SIGHUP count as one stop request. `nohup` ignores SIGHUP.
    ignores_hangup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    number = signal.SIGTERM if ignores_hangup else signal.SIGHUP
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(number))
