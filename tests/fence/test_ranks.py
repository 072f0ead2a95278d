"""Two processes train like one, stop together, and their run goes on in one process."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.fence.short_runs import short, steps
from tests.support.command_line import Finished, succeed, translator

SETTINGS = ("model.dropout=0", "training.checkpoint_every=2", "training.keep_checkpoints=1000")
"""Each rank draws dropout of its own, so there is none."""


@contextmanager
def stopped_at_its_first_checkpoint(run: Path) -> Iterator[None]:
    """Send SIGTERM to this process as soon as the run has a checkpoint."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            if (run / "checkpoints" / "last").exists():
                os.kill(os.getpid(), signal.SIGTERM)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@pytest.fixture(scope="module")
def stopped(folder: Path) -> Finished:
    """What a training in two processes said that would last for days, but was stopped early."""
    run = folder / "two"
    with stopped_at_its_first_checkpoint(run):
        return translator(*short(run, *SETTINGS, "training.processes=2", "training.max_steps=1000000"))


def change_of_weights(run: Path, first: int, last: int) -> torch.Tensor:
    """Return how far each weight has moved between two checkpoints, in one row."""
    before, after = [
        load_file(run / "checkpoints" / f"step-{step:06d}" / "model.safetensors") for step in (first, last)
    ]
    return torch.cat([(after[name] - before[name]).flatten() for name in sorted(after)])


def test_two_processes_stop_together_and_save(folder: Path, stopped: Finished) -> None:
    assert stopped.code == 143
    run = folder / "two"
    log = (run / "log.txt").read_text(encoding="utf-8")
    assert "training in float32, 2 processes" in log
    assert f"stopped at step {steps(run)[-1]}, which is saved in" in log


def test_the_run_of_two_processes_goes_on_in_one_as_if_one_had_made_it_all(folder: Path, stopped: Finished) -> None:
    last = steps(folder / "two")[-1] + 3
    for run in (folder / "two", folder / "one"):
        succeed(*short(run, *SETTINGS, "training.processes=1", f"training.max_steps={last}"))
    two, one = [change_of_weights(folder / run, 2, last) for run in ("two", "one")]
    assert torch.dist(two, one) < 0.05 * one.norm(), "they differ by more than rounding"
