"""Checkpoints are written in a background thread, from copies of the tensors, while training continues."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from torch import Tensor


def snapshot(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies of `tensors` on the CPU, independent of later training."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}


class BackgroundWriter:
    """Runs one job at a time in a background thread; the next call raises the error of a failed job."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def submit(self, job: Callable[[], None]) -> None:
        """Start `job` after the previous one; if that one failed, raise its error instead."""
        self.wait()
        self._pending = self._executor.submit(job)

    def wait(self) -> None:
        """Wait for the job; raise its error, but not again in later calls."""
        if self._pending is not None:
            try:
                self._pending.result()
            finally:
                if self._pending.done():  # a signal may interrupt the wait
                    self._pending = None

    def close(self) -> None:
        """Wait for the job, end the thread, and raise the error of the job."""
        try:
            self.wait()
        finally:
            self._executor.shutdown(wait=True)
