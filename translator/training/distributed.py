"""Data-parallel training: several ranks, which share each update, and what they tell each other.

`launching.launch` starts the ranks of one machine, `torchrun` those of several. Gradients are summed over all ranks.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn

from translator.config.keys import show_value
from translator.core.loop import Tick
from translator.errors import ConfigError, RunError
from translator.speed.device import choose_device
from translator.training.launching import ADVICE, LostProcessError, launched

_UPDATE_TIMEOUT: Final = timedelta(minutes=5)  # longest wait for another rank; a killed one is detected immediately
_BARRIER_TIMEOUT: Final = timedelta(hours=24)  # one rank may prepare data or save while the others wait
_POLL_SECONDS: Final = 0.02  # at a barrier; Python handles signals in between
_TIMEOUT_WORDS: Final = ("timed out", "timeout")
_CONNECTION_WORDS: Final = ("gloo", "nccl", "connection", "socket", "broken pipe", *_TIMEOUT_WORDS)
"""Lower-case substrings of torch's errors about a lost connection, most of which have no specific type."""


@contextlib.contextmanager
def lost_process_errors() -> Iterator[None]:
    """Convert torch's errors about a connection: `LostProcessError`, or RunError if a rank is silent."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).lower()
        is_of_connection = isinstance(error, dist.DistError) or any(word in text for word in _CONNECTION_WORDS)
        if not is_of_connection:
            raise
        first_line = str(error).strip().split("\n")[0]
        # The launcher reports a lost rank, so `launching` leaves LostProcessError out. It does not see a silent rank.
        is_timeout = any(word in text for word in _TIMEOUT_WORDS)
        if is_timeout:
            raise RunError(
                "another rank of this run did not answer in time (it is stopped, or waits for a disk, a GPU or the "
                f"network); {ADVICE} (torch: {first_line[:200]})"
            ) from error
        raise LostProcessError(
            "another rank of this run was lost (killed, out of memory, or its machine cannot be reached); "
            f"{ADVICE} (torch: {first_line[:200]})"
        ) from error


@dataclass(eq=False)
class Distributed:
    """Rank, world size and collective operations; `Distributed()` is the single rank of one process.

    Every method that communicates raises `LostProcessError` if another rank is lost.
    """

    rank: int = 0  # over all machines
    world_size: int = 1
    local_rank: int = 0  # on this machine
    local_world_size: int = 1  # ranks on this machine
    _barriers: dist.ProcessGroup | None = field(default=None, init=False)  # with a long timeout
    _gradients: dist.ProcessGroup | None = field(default=None, init=False)
    """NCCL on GPUs; all other communication uses Gloo, without GPU synchronization."""

    @classmethod
    def join(cls, device: torch.device) -> Self:
        """Return this rank, connected to those that the launcher started; without a launcher, a single rank.

        Raises:
            ConfigError: `device` is a GPU, and this machine has none for this rank that torch can use.
            ConfigError: some ranks have a GPU and some have none.
            LostProcessError: not all ranks connected.
        """
        if not launched():
            return cls()
        distributed = cls(
            rank=int(os.environ["RANK"]),
            world_size=int(os.environ["WORLD_SIZE"]),
            local_rank=int(os.environ["LOCAL_RANK"]),
            # A launcher that does not set LOCAL_WORLD_SIZE is taken to use one machine.
            local_world_size=int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"])),
        )
        if distributed.world_size > 1:
            device_of_rank = distributed.device(device)
            distributed._connect(choose_device(str(device_of_rank)))  # raises if there is no GPU of this number
        return distributed

    @lost_process_errors()
    def _connect(self, device: torch.device) -> None:
        """Create the process groups of Gloo and, for gradients on GPUs, of NCCL."""
        dist.init_process_group("gloo", timeout=_UPDATE_TIMEOUT)
        self._barriers = dist.new_group(backend="gloo", timeout=_BARRIER_TIMEOUT)
        self.check_equal({"run.device, as found": device.type})  # NCCL would wait for a rank without a GPU
        if device.type == "cuda":
            torch.cuda.set_device(self.local_rank)
            self._gradients = dist.new_group(backend="nccl", timeout=_UPDATE_TIMEOUT)

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
        if chosen.type == "cuda" and self.world_size > 1:
            return torch.device("cuda", self.local_rank)
        return chosen

    @lost_process_errors()
    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all ranks in float64, added in rank order, so that every rank has the same bits."""
        if self.world_size == 1:
            return list(values)
        local_values = torch.tensor(values, dtype=torch.float64)
        values_by_rank = [torch.empty_like(local_values) for _ in range(self.world_size)]
        dist.all_gather(values_by_rank, local_values)
        columns = torch.stack(values_by_rank, dim=1).tolist()  # one list of all ranks for each value
        return [sum(column) for column in columns]

    def exchange(self, tick: Tick) -> Tick:
        """Return what all ranks say: the seconds of rank 0, the sum of all waiting, and whether any has to stop."""
        seconds = tick.seconds if self.main else 0.0
        seconds, waiting, stops = self.sum([seconds, tick.waiting, float(tick.stop)])
        return Tick(seconds=seconds, waiting=waiting, stop=stops > 0)

    @lost_process_errors()
    def gather(self, value: Any) -> list[Any]:
        """Return the value of each rank, in rank order."""
        values = [value] * self.world_size
        if self.world_size > 1:
            dist.all_gather_object(values, value)
        return values

    def of_main(self, value: Any) -> Any:
        """Return the value of rank 0, for which the others wait up to 24 hours."""
        self.barrier()
        return self.gather(value)[0]

    def check_equal(self, values: Mapping[str, Any]) -> None:
        """Raise ConfigError, the same on every rank, with each key whose value is not the same on all ranks."""
        first, *later_ranks = self.gather(dict(values))
        for rank, values_of_rank in enumerate(later_ranks, start=1):
            if values_of_rank == first:
                continue
            lines = ["the ranks of this training differ in:"]
            for key in first | values_of_rank:
                expected = first.get(key)
                value = values_of_rank.get(key)
                if value != expected:
                    lines.append(f"  {key}: {show_value(expected)} on rank 0, {show_value(value)} on rank {rank}")
            lines.append("nothing was trained; start all with the same recipe, --set, version and run folder")
            raise ConfigError("\n".join(lines))

    @lost_process_errors()
    def barrier(self) -> None:
        """Wait for all ranks, up to 24 hours; signals are handled meanwhile."""
        if self.world_size == 1:
            return
        arrival = dist.all_reduce(torch.zeros(1), group=self._barriers, async_op=True)
        assert arrival is not None
        while not arrival.is_completed():
            time.sleep(_POLL_SECONDS)
        arrival.wait()

    @lost_process_errors()
    def share_weights(self, model: nn.Module) -> None:
        """Overwrite the parameters of `model` with those of rank 0."""
        if self.world_size > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), src=0, group=self._gradients)

    @lost_process_errors()
    def sum_in_place(self, values: Tensor) -> None:
        """Replace `values`, any shape, by its sum over all ranks, reproducibly."""
        if self.world_size > 1:
            dist.all_reduce(values, group=self._gradients)
