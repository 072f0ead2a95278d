"""Starting the ranks of a data-parallel training on this machine, with torch's elastic launcher."""

import contextlib
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
from translator.run.files import path_errors
from translator.run.logging import print_error
from translator.run.signals import STOP_SIGNALS, StopRequest
from translator.run.text import printable
from translator.run.workers import available_cores

ADVICE: Final = "the last checkpoint is intact, and the same command resumes from it"
_LAUNCHED: Final = "TRANSLATOR_LAUNCHED"  # environment variable of processes started by `launch`
_RANK_VARIABLES: Final = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK"})
_STOP_SECONDS: Final = 600  # that a rank has to save and stop after a signal


class LostProcessError(RunError):
    """Another rank of the run was killed, failed, or cannot be reached; it or the launcher says why."""


def launched() -> bool:
    """Return whether an elastic launcher started this process: `launch` or the user's own `torchrun`."""
    return os.environ.keys() >= _RANK_VARIABLES


def launch(
    arguments: Sequence[str],
    processes: int,
    stop: StopRequest,
    threads: int = 0,
) -> int:
    """Run this program with command line `arguments` in several processes on this machine; return their exit code.

    The first stop signal is forwarded to all processes, which save and stop. A second one stops them without saving.
    `threads` is the number of CPU threads of each; 0 divides the cores among them.

    Raises:
        Interrupted: a signal stopped them.
        TranslatorError: a rank failed (with the message of the first failure) or was killed.
    """
    # 1. Remember what changes below. Torch's launcher forwards all stop signals but those that are ignored, as SIGHUP
    # is under `nohup`.
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    forwarded = [number.name for number, handler in handlers.items() if handler is not signal.SIG_IGN]

    # 2. Set what the ranks inherit.
    os.environ[_LAUNCHED] = "1"
    os.environ["OMP_NUM_THREADS"] = str(threads or max(1, available_cores() // processes))
    logging.disable(logging.CRITICAL)  # torch's launcher is verbose

    # 3. Start the ranks, and wait for them.
    try:
        # Torch's launcher installs handlers: they forward the first signal, and stop the ranks at the second. Until
        # then, our own handlers only remember a signal.
        with tempfile.TemporaryDirectory(prefix="translator-") as folder, stop.deferred():
            config = LaunchConfig(
                min_nodes=1,
                max_nodes=1,
                nproc_per_node=processes,
                run_id=Path(folder).name,  # any unique name
                rdzv_backend="c10d",
                rdzv_endpoint="localhost:0",  # any free port
                local_addr="localhost",
                max_restarts=0,
                logs_specs=DefaultLogsSpecs(log_dir=folder),
                signals_to_handle=",".join(forwarded),
                shutdown_timeout=_STOP_SECONDS,
            )
            elastic_launch(config, sys.executable)("-m", "translator", *arguments)
    except SignalException as error:
        raise Interrupted(int(error.sigval)) from error
    except ChildFailedError as error:
        return _exit_code(error.failures, processes)  # raises, unless a rank ended without a report
    finally:
        # 4. Restore the logging, the handlers, which torch's launcher has replaced, and the environment.
        logging.disable(logging.NOTSET)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.environ.clear()
        os.environ.update(environment)
    return 0


def _exit_code(failures: Mapping[int, ProcessFailure], processes: int) -> int:
    """Return the exit code of the rank that failed first; `failures` are by rank.

    Raises:
        TranslatorError: a rank reported an error.
        LostProcessError: a rank was killed.
    """
    by_time = sorted(failures.items(), key=lambda entry: entry[1].timestamp)
    # An error that a rank reported says more than an exit code.
    for _, failure in by_time:
        report = failure.error_file_data.get("message")
        if isinstance(report, dict):  # without a report, torch puts the text "<NONE>" here
            _, _, message = str(report["message"]).partition(": ")  # of `Type: message`
            raise TranslatorError(message)
    # A rank may have been killed. SIGTERM does not count: the launcher ends the other ranks by it.
    for rank, failure in by_time:
        if failure.exitcode < 0 and failure.exitcode != -signal.SIGTERM:
            reason = f"{signal.strsignal(-failure.exitcode)}; if nobody stopped it, memory may have run out"
            raise LostProcessError(f"rank {rank} of {processes} was lost ({reason}); {ADVICE}")
    # Any other end has its exit code. A negative one is a signal, reported as shells do: 128 plus its number.
    _, first_failure = by_time[0]
    return first_failure.exitcode if first_failure.exitcode > 0 else 128 - first_failure.exitcode


@contextlib.contextmanager
def errors_end_the_rank() -> Iterator[None]:
    """In a process that an elastic launcher started, report an error of the block and end the process.

    `launch` prints the error once, for all its ranks. A rank of the user's own `torchrun` prints it itself. In any
    other process, this does nothing.
    """
    if not launched():
        yield
        return
    try:
        with path_errors():  # an OSError about a path becomes a StorageError, so a TranslatorError below
            yield
    except Interrupted as error:
        _end_rank(error, error.exit_code)
    except TranslatorError as error:
        _end_rank(error, 2)
    except Exception as error:  # noqa: BLE001 - a bug: its traceback is printed, and 1 is the exit code of Python
        _end_rank(error, 1)


def _end_rank(error: BaseException, code: int) -> NoReturn:
    """Report `error`, and end this process at once: the shutdown of the Python interpreter could abort it.

    A thread of Gloo may still hold a tensor of the last exchange. It needs the interpreter to release the tensor; after
    the shutdown, it calls `std::terminate` instead (https://github.com/pytorch/pytorch/issues/190489).
    """
    # When a rank ends, the launcher sends a stop signal to the others. This one may be among them, and ends anyway.
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        _report(error)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # also if the report fails, on a full disk or a closed pipe
        os._exit(code)


def _report(error: BaseException) -> None:
    """Give `error` to the launcher or, if that is not `launch`, print it; a bug is printed with its traceback."""
    if not isinstance(error, Interrupted | TranslatorError):
        traceback.print_exception(error)
    elif _LAUNCHED not in os.environ:
        print_error(f"translator: {printable(str(error))}")
    # A killed rank is the cause itself, which the launcher sees.
    elif not isinstance(error, Interrupted | LostProcessError):
        get_error_handler().record_exception(error)
