"""Data-parallel training: torch's elastic launcher starts several ranks, which share each update.

`launch` starts the ranks of one machine, `torchrun` those of several. Gradients are summed over all ranks.
"""

import contextlib
import ctypes
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure, get_error_handler
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from translator.errors import ConfigError, Interrupted, RunError, TranslatorError
from translator.run.signals import STOP_SIGNALS, StopRequest
from translator.run.workers import available_cores

ADVICE: Final = "the last checkpoint is intact, and the same command resumes from it"
_LAUNCHED: Final = "TRANSLATOR_LAUNCHED"  # environment variable of processes started by `launch`
_VARIABLES: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
_UPDATE: Final = timedelta(minutes=5)  # longest wait for another rank; a killed one is detected immediately
_PATIENCE: Final = timedelta(hours=24)  # longest wait at a `barrier`, where one rank may prepare data or save
_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of Linux's `prctl` (linux/prctl.h)
_SIGNS: Final = ("gloo", "nccl", "connection", "socket", "timed out", "timeout", "broken pipe")
"""Lower-case substrings of torch's errors about a lost connection, most of which have no specific type."""


class LostProcessError(RunError):
    """Another rank of the run was killed, failed, or cannot be reached."""


def launched() -> bool:
    """Return whether an elastic launcher started this process: `launch` or the user's own `torchrun`."""
    return os.environ.keys() >= set(_VARIABLES)


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
    environment, handlers = dict(os.environ), {number: signal.getsignal(number) for number in STOP_SIGNALS}
    os.environ.update({_LAUNCHED: "1", "OMP_NUM_THREADS": str(threads or max(1, available_cores() // processes))})
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
                # Under `nohup`, SIGHUP stays ignored.
                signals_to_handle=",".join(n.name for n, handler in handlers.items() if handler is not signal.SIG_IGN),
                shutdown_timeout=600,  # seconds that a rank has to save and stop after a signal
            )
            elastic_launch(config, sys.executable)(*program, *arguments)
    except SignalException as error:
        raise Interrupted(int(error.sigval)) from error
    except ChildFailedError as error:
        return _report_failures(error.failures, processes)
    finally:
        logging.disable(logging.NOTSET)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.environ.clear()
        os.environ.update(environment)
    return 0


def _report_failures(failures: Mapping[int, ProcessFailure], processes: int) -> int:
    for failure in sorted(failures.values(), key=lambda failure: failure.timestamp):
        recorded = failure.error_file_data.get("message")
        if isinstance(recorded, dict):  # the error handler writes `Type: message`
            raise TranslatorError(str(recorded["message"]).partition(": ")[2])
    codes = {failure.exitcode: rank for rank, failure in sorted(failures.items(), reverse=True)}
    if 1 in codes:  # a bug; its traceback is printed already
        return 1
    for code, rank in codes.items():
        if code < 0 and code != -signal.SIGTERM:  # SIGTERM: the launcher ends the other ranks
            memory = ", most likely because memory ran out" if code == -signal.SIGKILL else ""
            raise LostProcessError(f"rank {rank} of {processes} was lost ({signal.strsignal(-code)}{memory}); {ADVICE}")
    for number in STOP_SIGNALS:
        if {128 + number, -number} & codes.keys():
            raise Interrupted(number)
    raise RunError(f"a rank ended with exit code {', '.join(map(str, codes))}; {ADVICE}")


@contextlib.contextmanager
def reported_by_launcher() -> Iterator[None]:
    """In a process started by `launch`, report a user error to the launcher, which prints it once, and exit."""
    try:
        yield
    except (Interrupted, TranslatorError) as error:
        if _LAUNCHED not in os.environ:
            raise
        if isinstance(error, Interrupted):
            raise SystemExit(error.exit_code) from error
        if not isinstance(error, LostProcessError):  # the lost rank is the cause
            get_error_handler().record_exception(error)
        raise SystemExit(2) from error


@contextlib.contextmanager
def lost_process_errors() -> Iterator[None]:
    """Convert torch's errors about a lost connection to `LostProcessError`; also usable as a decorator."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and not any(sign in str(error).lower() for sign in _SIGNS):
            raise
        said = str(error).strip().split("\n")[0]
        raise LostProcessError(
            "another rank of this run was lost (killed, out of memory, or its machine cannot be reached); "
            f"{ADVICE} (torch: {said[:200]})"
        ) from error


@dataclass(eq=False)
class Distributed:
    """Rank, world size and collective operations: `Distributed()` for one process, else `join`.

    Every method that communicates raises `LostProcessError` if another rank is lost.
    """

    rank: int = 0  # over all machines
    world_size: int = 1
    local_rank: int = 0  # on this machine
    _patient: dist.ProcessGroup | None = field(default=None, init=False)  # for barriers
    _gradients: dist.ProcessGroup | None = field(default=None, init=False)
    """NCCL on GPUs; all other communication uses Gloo, without GPU synchronization."""

    @classmethod
    def join(cls, device: torch.device) -> Self:
        """Return this rank, connected to those that the launcher started; without a launcher, a single rank.

        Raises:
            ConfigError: `device` is a GPU, and this machine has fewer GPUs than ranks.
            LostProcessError: not all ranks connected.
        """
        if not launched():
            return cls()
        if _LAUNCHED in os.environ and sys.platform == "linux":
            # Linux signals this process when its launcher dies, so that no rank continues alone. Each thread of the
            # launcher causes one signal; several SIGHUP count as one stop request.
            ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # under `nohup`
            ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGTERM if ignored else signal.SIGHUP))
        joined = cls(*(int(os.environ[name]) for name in _VARIABLES))
        if joined.world_size == 1:
            return joined
        gpus = {"cuda": torch.cuda.device_count(), "mps": 1}.get(device.type)
        if gpus is not None and joined.local_rank >= gpus:
            raise ConfigError(
                f"more processes than GPUs on this machine, which has {gpus}; start at most one per GPU "
                "(training.processes, or --nproc-per-node of torchrun)"
            )
        with lost_process_errors():
            dist.init_process_group("gloo", timeout=_UPDATE)
            joined._patient = dist.new_group(backend="gloo", timeout=_PATIENCE)
            if device.type == "cuda":
                torch.cuda.set_device(joined.local_rank)
                joined._gradients = dist.new_group(backend="nccl", timeout=_UPDATE)
        return joined

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.world_size > 1 and kind is None:  # after an error the other ranks may have ended
            dist.destroy_process_group()

    @property
    def main(self) -> bool:
        """True on rank 0, which writes the run folder and the log."""
        return self.rank == 0

    def device(self, chosen: torch.device) -> torch.device:
        """Return the device of this rank: with several ranks, each has its own GPU."""
        return torch.device("cuda", self.local_rank) if chosen.type == "cuda" and self.world_size > 1 else chosen

    @lost_process_errors()
    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all ranks in float64, added in rank order, so that every rank has the same bits."""
        if self.world_size == 1:
            return list(values)
        mine = torch.tensor(values, dtype=torch.float64)
        rows = [torch.empty_like(mine) for _ in range(self.world_size)]
        dist.all_gather(rows, mine)
        return [sum(column) for column in zip(*(row.tolist() for row in rows), strict=True)]

    @lost_process_errors()
    def gather_text(self, text: str) -> list[str]:
        """Return the text of each rank, in rank order."""
        texts = [text] * self.world_size
        if self.world_size > 1:
            dist.all_gather_object(texts, text)
        return texts

    @lost_process_errors()
    def barrier(self) -> None:
        """Wait for all ranks, up to 24 hours; signals are handled meanwhile."""
        if self.world_size > 1:
            arrived = dist.all_reduce(torch.zeros(1), group=self._patient, async_op=True)
            assert arrived is not None
            while not arrived.is_completed():
                time.sleep(0.02)  # so that Python handles signals
            arrived.wait()

    @contextlib.contextmanager
    def first_on_each_machine(self) -> Iterator[None]:
        """Run the block on local rank 0 of each machine first, then on the other ranks, which reuse its results."""
        if self.local_rank != 0:
            self.barrier()
        yield
        if self.local_rank == 0:
            self.barrier()

    @lost_process_errors()
    def share_weights(self, model: nn.Module) -> None:
        """Overwrite the parameters of `model` with those of rank 0."""
        if self.world_size > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), src=0, group=self._gradients)

    @lost_process_errors()
    def sum_gradients(self, model: nn.Module) -> None:
        """Replace each gradient (zero if missing) by its sum over all ranks, reproducibly, in one flat tensor."""
        if self.world_size == 1:
            return
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat, group=self._gradients)
        for parameter, summed in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
            parameter.grad = summed.view_as(parameter)
