"""Data-parallel training (torch's DDP) by processes with a rank each: what they tell each other, their summed gradient.

Everything but the gradients of a GPU goes through Gloo and CPU tensors, so that no message waits for a GPU.
"""

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn

from translator.errors import ConfigError, RunError
from translator.training.launch import follow_launcher, launched
from translator.training.lost_process import lost_process_errors

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

_STEP: Final = timedelta(minutes=5)
"""The longest that a process may keep the others waiting in training; a killed one is noticed at once."""
_PATIENCE: Final = timedelta(hours=24)
"""The longest that one process may prepare, validate or save while the others wait at a `barrier`."""
_LOOK: Final = 0.02
"""Seconds between two looks at a barrier: between them a stop signal is heard."""


@dataclass(frozen=True)
class _Groups:
    """The ways in which the processes talk."""

    quick: "ProcessGroup"
    patient: "ProcessGroup"
    gradients: "ProcessGroup"


class Ranks:
    """This process among those that train one run together; see `alone` and `join`."""

    def __init__(self, rank: int, world: int, local_rank: int, groups: _Groups | None) -> None:
        """Take the place of this process; `groups` is None if it is alone."""
        assert (groups is None) == (world == 1) and 0 <= rank < world
        self.rank = rank
        """From 0, over all machines."""
        self.world = world
        """Number of processes, on all machines."""
        self.local_rank = local_rank
        """From 0, on this machine."""
        self._groups = groups

    @classmethod
    def alone(cls) -> "Ranks":
        """Return the ranks of a run that one process trains."""
        return cls(0, 1, 0, None)

    @classmethod
    def join(cls, device: torch.device) -> "Ranks":
        """Meet the other processes that torch's launcher started with this one; without it, be alone.

        Args:
            device: where training computes: a GPU's gradients go through NCCL, a CPU's through Gloo.

        Raises:
            ConfigError: this machine has fewer GPUs than processes.
            LostProcessError: not all of them came.
        """
        if not launched():
            return cls.alone()
        follow_launcher()
        rank, world, local_rank = (_number(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
        if world == 1:
            return cls.alone()
        if device.type == "cuda" and local_rank >= torch.cuda.device_count():
            raise ConfigError(
                f"there are more processes on this machine than its {torch.cuda.device_count()} GPUs; "
                "start at most one for each (training.processes, or --nproc-per-node of torchrun)"
            )
        import torch.distributed as distributed

        with lost_process_errors(world):
            distributed.init_process_group("gloo", timeout=_STEP)
            quick = distributed.group.WORLD
            assert quick is not None
            patient = distributed.new_group(backend="gloo", timeout=_PATIENCE)
            gradients = quick
            if device.type == "cuda":
                torch.cuda.set_device(local_rank)
                gradients = distributed.new_group(backend="nccl", timeout=_STEP)
        return cls(rank, world, local_rank, _Groups(quick, patient, gradients))

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._groups is not None and kind is None:  # after an error others may be gone, and nobody waits for them
            import torch.distributed as distributed

            distributed.destroy_process_group()

    @property
    def main(self) -> bool:
        """Whether this is the one process that writes."""
        return self.rank == 0

    def device(self, chosen: torch.device) -> torch.device:
        """Return the device of this process where `chosen` is the run's: a GPU for each."""
        if chosen.type == "cuda" and self.world > 1:
            return torch.device("cuda", self.local_rank)
        return chosen

    def sum(self, values: Sequence[float]) -> list[float]:
        """Return the sums over all ranks, in float64 and in the order of the ranks: the same bits everywhere."""
        if self._groups is None:
            return [float(value) for value in values]
        return [sum(column) for column in zip(*self._gather(values), strict=True)]

    def gather_text(self, text: str) -> list[str]:
        """Return the text of each rank, in their order."""
        if self._groups is None:
            return [text]
        data = text.encode("utf-8")
        sizes = [int(size[0]) for size in self._gather([len(data)])]
        mine = torch.zeros(max(1, *sizes), dtype=torch.uint8)
        mine[: len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else mine[:0]
        gathered = self._gather_tensor(mine)
        return [bytes(row[:size].tolist()).decode("utf-8") for row, size in zip(gathered, sizes, strict=True)]

    def barrier(self) -> None:
        """Wait for all ranks, however long their work takes; a stop signal is heard meanwhile.

        Raises:
            LostProcessError: one of them is gone.
        """
        if self._groups is None:
            return
        import torch.distributed as distributed

        with lost_process_errors(self.world):
            arrived = distributed.all_reduce(torch.zeros(1), group=self._groups.patient, async_op=True)
            assert arrived is not None
            while not arrived.is_completed():
                time.sleep(_LOOK)
            arrived.wait()

    @contextlib.contextmanager
    def first_on_each_machine(self) -> Iterator[None]:
        """Let one process of each machine through the block first, and the others when all those are done.

        What it prepares, the others find.
        """
        if self.local_rank != 0:
            self.barrier()
        yield
        if self.local_rank == 0:
            self.barrier()

    def wrap(self, model: nn.Module) -> nn.Module:
        """Return the model through which the gradients of all ranks are added up; the weights become those of rank 0.

        The gradients are summed, not averaged: each loss is divided by the tokens of the whole step already.

        Raises:
            LostProcessError: another rank is gone.
        """
        if self._groups is None:
            return model
        from torch.nn.parallel import DistributedDataParallel

        # The only buffers are tables that never change. The option has two names, an older and a newer one.
        newer = "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
        never: dict[str, Any] = {"forward_sync_buffers" if newer else "broadcast_buffers": False}
        with lost_process_errors(self.world):
            wrapped = DistributedDataParallel(
                model, process_group=self._groups.gradients, gradient_as_bucket_view=True, **never
            )
        # Torch checks the annotations of a hook, of which a lambda has none.
        wrapped.register_comm_hook(self._groups.gradients, lambda group, bucket: _sum_bucket(group, bucket.buffer()))
        return wrapped

    def local(self, model: nn.Module) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which forward and backward of a wrapped model keep the gradients on this rank."""
        return contextlib.nullcontext() if self._groups is None else model.no_sync()  # type: ignore[operator]

    def connected(self) -> contextlib.AbstractContextManager[None]:
        """Return the context for a backward pass that adds gradients up: it tells of a lost process in plain words."""
        return contextlib.nullcontext() if self._groups is None else lost_process_errors(self.world)

    def exchange(self, model: nn.Module, forward: Callable[[], Tensor]) -> None:
        """Add up the gradients of all ranks with a backward pass that adds nothing to them.

        For a rank that has no batch in a step, or took all of them with `local`; the other ranks may be in the backward
        pass of a batch at the same time. And for all ranks once before the first step, because
        `DistributedDataParallel` orders the gradients anew after its first backward pass: a step right after a start
        must add them up in the same order as any other.

        Args:
            model: as `wrap` returned it.
            forward: applies `model` to something small and returns a tensor that depends on every weight; in evaluation
                mode, so that no noise is drawn.
        """
        if self._groups is None:
            return
        training = model.training
        model.eval()
        with lost_process_errors(self.world):
            (forward().sum() * 0.0).backward()  # type: ignore[no-untyped-call]
        model.train(training)

    def _gather(self, values: Sequence[float]) -> list[list[float]]:
        """Return the numbers of each rank, as many on each."""
        return [row.tolist() for row in self._gather_tensor(torch.tensor(values, dtype=torch.float64))]

    def _gather_tensor(self, mine: Tensor) -> list[Tensor]:
        import torch.distributed as distributed

        assert self._groups is not None
        everybody = [torch.empty_like(mine) for _ in range(self.world)]
        with lost_process_errors(self.world):
            distributed.all_gather(everybody, mine, group=self._groups.quick)
        return everybody


def _sum_bucket(group: "ProcessGroup", gradients: Tensor) -> "torch.futures.Future[Tensor]":
    """Begin to add up a bucket of gradients over all ranks; `DistributedDataParallel` by itself would divide, too."""
    import torch.distributed as distributed

    work = distributed.all_reduce(gradients, group=group, async_op=True)
    assert work is not None
    summed: torch.futures.Future[Tensor] = work.get_future().then(lambda future: future.value()[0])
    return summed


def _number(name: str) -> int:
    """Return a number that the launcher put into the environment.

    Raises:
        RunError: it is not there.
    """
    text = os.environ.get(name, "")
    if not text.isdecimal():
        raise RunError(
            f"the environment has RANK and WORLD_SIZE, but {name} is `{text}`; start with torchrun, or unset"
        )
    return int(text)
