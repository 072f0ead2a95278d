"""Several ranks that wait while one of them makes an epoch: whatever happens to it then, no rank waits forever."""

import contextlib
import functools
import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from torch.distributed.distributed_c10d import _set_pg_timeout

from tests.support.forked_ranks import forked_ranks
from tests.support.processes import wait_for
from translator.config import Config, parse_config
from translator.data import DataHandler
from translator.data.feeding import Check
from translator.data.machine_folder import MachineFolder
from translator.data.training_batches import TrainingBatches
from translator.errors import Interrupted, StorageError, TranslatorError
from translator.run.signals import stop_on_signals
from translator.training.run_training import train_run

StartRanks = Callable[[Callable[[], None]], list[BaseProcess]]


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def freeze() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def fill_disk() -> None:
    raise StorageError("the disk is full")


def go_on() -> None:
    pass


def train_rank(config: Config, event: Callable[[], None]) -> None:
    """Train as one of two ranks; `event` happens to rank 0 while it makes the first epoch, which is never ready."""

    def made_epochs(batches: TrainingBatches, split: object, first: int, parent: Path, check: Check) -> Iterator[Path]:
        event()
        for _ in range(6000):  # a minute, in case that the process of the tests is killed
            check()
            time.sleep(0.01)
        yield parent

    wait_for_maker = MachineFolder.wait_for

    def wait_briefly(machine: MachineFolder, epoch: Path, check: Check) -> None:
        if event is freeze:
            _set_pg_timeout(timedelta(seconds=1))  # five minutes in use
        (epoch.parent.parent / "waiting").touch()
        wait_for_maker(machine, epoch, check)

    with pytest.MonkeyPatch.context() as patch, stop_on_signals() as stop:
        patch.setattr(TrainingBatches, "_made_epochs", made_epochs)
        patch.setattr(MachineFolder, "wait_for", wait_briefly)
        try:
            train_run(config, stop)
        except (TranslatorError, Interrupted) as error:
            note = run_folder(config).parent / f"error-{os.environ['RANK']}"
            note.write_text(f"{type(error).__name__}: {error}", encoding="utf-8")


def run_folder(config: Config) -> Path:
    return Path(config.run.directory)


@pytest.fixture
def config(tiny_recipe: Path) -> Config:
    """A configuration whose text is prepared."""
    config = parse_config(tiny_recipe.read_text(encoding="utf-8"), "tiny.yaml")
    DataHandler(config).prepare()
    return config


@pytest.fixture
def start_ranks(config: Config) -> Iterator[StartRanks]:
    """Start two ranks, of which rank 1 waits for the epoch when this returns."""
    with contextlib.ExitStack() as stack:

        def start(event: Callable[[], None]) -> list[BaseProcess]:
            processes = stack.enter_context(forked_ranks(2, functools.partial(train_rank, config, event)))
            waiting = Path(config.corpus.prepared_directory) / "waiting"
            wait_for(lambda: waiting.exists() or processes[1].exitcode is not None)
            return processes

        yield start


def error_of(config: Config, rank: int, processes: list[BaseProcess]) -> str:
    """Return the error with which a rank ended."""
    processes[rank].join(60)
    return (run_folder(config).parent / f"error-{rank}").read_text(encoding="utf-8")


def test_a_killed_rank_is_lost_at_once(config: Config, start_ranks: StartRanks) -> None:
    processes = start_ranks(kill_itself)
    assert error_of(config, 1, processes).startswith("LostProcessError: another rank of this run was lost")


def test_a_frozen_rank_is_silent(config: Config, start_ranks: StartRanks) -> None:
    processes = start_ranks(freeze)
    assert error_of(config, 1, processes).startswith("SilentProcessError: another rank of this run did not answer")


def test_an_error_of_one_rank_ends_the_other(config: Config, start_ranks: StartRanks) -> None:
    processes = start_ranks(fill_disk)
    assert error_of(config, 0, processes) == "StorageError: the disk is full"
    assert error_of(config, 1, processes).startswith("LostProcessError")


def test_a_stop_signal_to_one_rank_stops_all_with_a_checkpoint(config: Config, start_ranks: StartRanks) -> None:
    processes = start_ranks(go_on)
    os.kill(processes[1].pid or 0, signal.SIGTERM)
    for rank in range(2):
        assert error_of(config, rank, processes) == "Interrupted: stopped by SIGTERM"
    assert (run_folder(config) / "checkpoints" / "last").exists()


def test_the_maker_ends_if_a_waiting_rank_is_killed(config: Config, start_ranks: StartRanks) -> None:
    processes = start_ranks(go_on)
    os.kill(processes[1].pid or 0, signal.SIGKILL)
    assert error_of(config, 0, processes).startswith("LostProcessError: another rank of this run was lost")
