"""Writing while training goes on: one thread, one job at a time, and no error or job is ever lost."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor


def snapshot(tensors: Mapping[str, Tensor], reuse: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Return copies of `tensors` on the CPU that training cannot change any more.

    Args:
        tensors: what to copy.
        reuse: an earlier snapshot that nobody needs now: writing into its memory again is several times faster than
            writing into new memory, whose pages the system first has to give out.
    """
    copies = {}
    for name, tensor in tensors.items():
        held = None if reuse is None else reuse.get(name)
        if held is None or held.shape != tensor.shape or held.dtype != tensor.dtype:
            held = torch.empty(tensor.shape, dtype=tensor.dtype)
        copies[name] = held.copy_(tensor.detach())
    return copies


class BackgroundWriter:
    """Does one job at a time in a thread of its own.

    A process that ends without `wait` still finishes the job, but nobody hears of its error.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._pending: Future[None] | None = None

    def submit(self, job: Callable[[], None]) -> None:
        """Start `job` when the one before it is done.

        Raises:
            BaseException: what the job before raised; `job` is then not started.
        """
        self.wait()
        self._pending = self._executor.submit(job)

    def wait(self) -> None:
        """Return when the job is done; without one at once.

        Raises:
            BaseException: what the job raised, once.
        """
        if self._pending is not None:
            pending = self._pending
            try:
                pending.result()
            finally:
                if pending.done():  # not so where a signal broke off the waiting
                    self._pending = None

    def close(self) -> None:
        """Wait, and end the thread.

        Raises:
            BaseException: what the last job raised.
        """
        try:
            self.wait()
        finally:
            self._executor.shutdown(wait=True)
