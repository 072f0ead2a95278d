"""The sampled stores of the present epoch and the next: made while others are read, kept apart from other runs."""

import contextlib
import fcntl
import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from translator.data.pair_store import PairStore
from translator.data.sampling import EpochSampler
from translator.errors import StorageError, TranslatorError
from translator.progress import progress_bar
from translator.storage import storage_errors

if TYPE_CHECKING:
    from tqdm import tqdm

_LOGGER: Final = logging.getLogger("translator")
_PREFIX: Final = ".sampled-"
_WORTH_A_PROCESS: Final = 8_000
"""Sentences; fewer are sampled in a fraction of a second, a process takes longer only to start."""
_WORTH_A_WORD: Final = 2.0
"""Seconds."""
_PATIENCE: Final = 0.1
"""Seconds between two looks at whether somebody wants to stop."""
_POLITE: Final = 5
"""Steps down in priority: a training step cannot wait, and sampling must not starve beside it either."""


class EpochStores:
    """Gives the sampled store of one epoch after another, and samples the next one in a process of its own meanwhile.

    The stores lie in a hidden folder of this process beside the prepared data: two at most, gone with `close`. What a
    killed process left there is removed by the next one that starts.
    """

    def __init__(
        self, sampler: EpochSampler, parent: Path, processes: int = 1, check: Callable[[], None] = lambda: None
    ) -> None:
        """Take a place in the folder `parent`.

        Args:
            sampler: makes the stores.
            parent: where the folder of the stores is put.
            processes: how many sample side by side while training has to wait for them, as at its start.
            check: called while training waits; it may raise to stop.

        Raises:
            StorageError: the folder may not be written.
        """
        self._sampler = sampler
        self._processes = processes
        self._check = check
        self._ahead: _Ahead | None = None
        self._folder, self._claim = _own_folder(parent)

    def __enter__(self) -> "EpochStores":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take(self, epoch: int) -> PairStore:
        """Return the store of `epoch` (from 0), and begin with the one after it.

        Raises:
            StorageError: a store cannot be written, or the process that samples was killed.
        """
        folder = self._place(epoch)
        if self._ahead is not None and self._ahead.epoch == epoch:
            self._ahead.wait(self._check)
            self._stop_ahead()
        else:
            self._stop_ahead()
            self._make(epoch, folder)
        store = PairStore.open(folder, self._sampler.corpus.names("train"))
        for other in self._folder.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        if self._sampler.sentences >= _WORTH_A_PROCESS:
            self._ahead = _Ahead(self._sampler, epoch + 1, self._place(epoch + 1))
        return store

    def close(self) -> None:
        """Stop sampling and remove all stores; those that are still read stay readable until then."""
        self._stop_ahead()
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._claim)

    def _place(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch}"

    def _stop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def _make(self, epoch: int, folder: Path) -> None:
        """Sample `epoch` while the caller waits."""
        sentences = self._sampler.sentences
        if sentences < _WORTH_A_PROCESS:
            self._sampler.write(epoch, folder, done=lambda count: self._check())
            return
        description = f"Sampling the pieces of epoch {epoch + 1}"
        bar: tqdm[object] = progress_bar(description=description, total=sentences, unit=" lines")
        with bar:

            def done(count: int) -> None:
                bar.update(count)
                self._check()

            self._sampler.write(epoch, folder, self._processes, done)


class _Ahead:
    """A process that samples one epoch."""

    def __init__(self, sampler: EpochSampler, epoch: int, folder: Path) -> None:
        self.epoch = epoch
        # Not forked: this process has threads (torch, TensorBoard), and those do not survive a fork.
        context = multiprocessing.get_context("spawn")
        self._answer, answer = context.Pipe(duplex=False)
        # A daemon: should nobody call `stop`, the end of the interpreter does.
        self._process: SpawnProcess = context.Process(
            target=_sample_ahead, args=(sampler, epoch, folder, answer), daemon=True, name="sampling"
        )
        self._process.start()
        answer.close()

    def wait(self, check: Callable[[], None]) -> None:
        """Return when the store is there; raise what went wrong in the process, or what `check` raises."""
        began = time.monotonic()
        while not self._answer.poll(_PATIENCE):
            check()
        waited = time.monotonic() - began
        if waited > _WORTH_A_WORD:
            _LOGGER.info("waited %.0f s for the sampled pieces of epoch %d", waited, self.epoch + 1)
        check()  # a signal to the whole group kills the process too: that is no failure
        try:
            failure = self._answer.recv()
        except EOFError:
            failure = StorageError(
                f"the process that samples pieces for epoch {self.epoch + 1} was killed, most likely because memory "
                "ran out; close other programs, and the same command goes on from the last checkpoint (a script of "
                "your own must start its work under `if __name__ == '__main__':`)"
            )
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """End the process, wherever it is."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._answer.close()


def _sample_ahead(sampler: EpochSampler, epoch: int, folder: Path, answer: Connection) -> None:
    """Sample in a process of its own, and answer with None or with what went wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    os.nice(_POLITE)
    try:
        sampler.write(epoch, folder)
        answer.send(None)
    except TranslatorError as error:
        answer.send(error)
    except BaseException as error:
        answer.send(error)
        raise  # a bug: its traceback goes to standard error


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _own_folder(parent: Path) -> tuple[Path, int]:
    """Clear away what killed processes left in `parent`, and return a new folder and the handle that claims it."""
    with storage_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        for old in parent.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError):  # alive, just gone, another user's, or no locks here to tell by
                claim = _claimed(old)
                shutil.rmtree(old, ignore_errors=True)
                os.close(claim)
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            claim = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):
                fcntl.flock(claim, fcntl.LOCK_EX)
            if folder.exists():
                return folder, claim
            os.close(claim)  # another run took it for a left-over, in the instant before it was claimed


def _claimed(folder: Path) -> int:
    """Return the handle of a claim on `folder`; an OSError if a living process has it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle
