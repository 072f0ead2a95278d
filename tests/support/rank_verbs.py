"""What the ranks of the tests do, which `launch` starts as copies of the process of the tests."""

import logging
import os
import signal
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch.distributed.distributed_c10d import _set_pg_timeout
from torch.distributed.elastic.multiprocessing.subprocess_handler import subprocess_handler
from torch.distributed.elastic.rendezvous import dynamic_rendezvous

from tests.support.small_model import small_model
from translator.config import parse_config
from translator.core.batch import collate_rows
from translator.core.loss import TeacherForcing
from translator.errors import Interrupted
from translator.run.signals import STOP_SIGNALS, StopRequest, stop_on_signals
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.gradients import FlatGradients
from translator.training.distributed import Distributed
from translator.training.launching import LostProcessError, errors_end_the_rank, launch
from translator.training.run_training import train_run

PAIRS = [
    ([5], [20]),
    ([6, 6], [20, 21]),
    ([7, 6, 7], [20, 21, 22]),
    ([8], [20, 21, 22, 23]),
    ([9, 6], [20, 21, 22, 23, 24]),
    ([10, 6, 7], [20]),
    ([11], [20, 21]),
]
"""Pairs of the one update of these tests, of unlike lengths."""


def gradients(distributed: Distributed, shares: list[list[int]]) -> dict[str, torch.Tensor]:
    """Return the gradient of one update, of which this rank computes the pairs `shares[rank]`, one by one."""
    model = small_model(dropout=0.0).double()
    if not distributed.main:  # the weights of rank 0 count
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1.0)
    distributed.share_weights(model)
    buffer = FlatGradients(list(model.parameters()), distributed.sum_in_place)
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=0.0, head_loss=blockwise_head_loss)
    target_tokens = sum(len(target) + 1 for _, target in PAIRS)
    for number in shares[distributed.rank]:
        batch = collate_rows([[PAIRS[number]]])
        objective = loss(batch).objective / target_tokens
        buffer.add(torch.autograd.grad(objective, buffer.parameters))
    buffer.sum_over_ranks()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def stop(distributed: Distributed, folder: Path, request: StopRequest) -> None:
    """Communicate and sum gradients; then take steps until rank 0 is asked to stop, and all stop after the same."""
    rank, world_size = distributed.rank, distributed.world_size
    sums = distributed.sum([float(rank == world_size - 1), 0.1 * (rank + 1), 1e300])
    texts = distributed.gather("سلام" * rank)
    threads = os.environ["OMP_NUM_THREADS"]
    (folder / f"said-{rank}").write_text(repr([sums, texts, threads]), encoding="utf-8")

    # The pairs are divided among the ranks.
    all_pairs = list(range(len(PAIRS)))
    shares = [all_pairs[first::world_size] for first in range(world_size)]
    save_file(gradients(distributed, shares), folder / f"gradients-{rank}")

    # Rank 0 asks the launcher to stop all, and saves while the others wait.
    count = 0
    with request.deferred():
        while not distributed.sum([float(request.requested)])[0]:
            count += 1
            if count == 3 and distributed.main:
                os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(0.01)
        if distributed.main:
            time.sleep(0.3)
        (folder / f"stopped-{rank}").write_text(str(count))
        distributed.barrier()
    raise Interrupted(signal.SIGTERM)


def die(distributed: Distributed, folder: Path, request: StopRequest) -> None:
    distributed.barrier()  # both are connected
    if distributed.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        with request.deferred():
            distributed.sum([1.0])
    except LostProcessError as error:
        (folder / "lost").write_text(str(error))
        raise


def freeze(distributed: Distributed, folder: Path, request: StopRequest) -> None:
    """Stop answering on rank 1, as in a debugger or on a dead disk."""
    distributed.barrier()  # both are connected
    if distributed.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    _set_pg_timeout(timedelta(seconds=0.2))
    with request.deferred():
        distributed.sum([1.0])


def fail(distributed: Distributed, folder: Path, request: StopRequest) -> None:
    """Fail with a bug on all ranks, just after they have communicated."""
    distributed.barrier()
    raise ZeroDivisionError


def train(folder: Path, request: StopRequest) -> None:
    """Train the recipe in `folder`; rank 1 has other settings, some of which it may have."""
    rank = int(os.environ["RANK"])
    overrides = [
        f"run.directory={folder / str(rank)}",
        f"run.threads={1 + rank}",
        f"corpus.workers={1 + rank}",
        f"corpus.prepared_directory={folder / f'prepared-{rank}'}",
    ]
    if rank == 1:
        overrides += ["training.max_steps=7", "training.learning_rate=0.001", "corpus.sources.0.name=پیکره"]
    recipe = (folder / "tiny.yaml").read_text(encoding="utf-8")
    train_run(parse_config(recipe, "tiny.yaml", overrides), request)


def run(verb: str, folder: Path) -> None:
    """Do what a rank does, from the start of its process to the end."""
    verbs = {verb.__name__: verb for verb in (stop, die, freeze, fail)}
    try:
        with stop_on_signals() as request, errors_end_the_rank():
            if verb == "train":  # joins the other ranks itself
                train(folder, request)
            else:
                with Distributed.join(torch.device("cpu")) as distributed:
                    verbs[verb](distributed, folder, request)
    finally:  # a thread of Gloo may abort at the end of the interpreter, to which no failed rank may come
        os.abort()


class Copy(subprocess.Popen[bytes]):
    """A copy of this process that runs a verb in a folder, in place of a program with these arguments."""

    def _execute_child(self, args: Any, *settings: Any) -> None:
        environment = settings[5]
        self.pid = os.fork()
        self._child_created = True
        if self.pid == 0:
            os.setsid()
            os.environ.clear()
            os.environ.update(environment)
            logging.disable(logging.NOTSET)
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            run(args[-2], Path(args[-1]))


def start_ranks(folder: Path, processes: int, verb: str) -> int:
    """Launch processes that run a verb in a folder, from the environment of one that no launcher started."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
            patch.delenv(name, raising=False)
        patch.setattr(subprocess_handler, "Popen", Copy)
        # Torch's launcher waits for other machines, and reads the source of all its callers for its records.
        patch.setattr(dynamic_rendezvous, "_delay", lambda seconds: None)
        patch.setattr(dynamic_rendezvous, "get_method_name", lambda depth=2: "")
        return launch([verb, str(folder)], processes, StopRequest(), threads=1)
