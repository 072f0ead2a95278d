"""Batches that do not fit into memory: halved, and the step computed again, so that no rare long pair ends a run."""

import contextlib
import gc
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import torch
from torch import Tensor

from translator.data import Batch
from translator.errors import RunError
from translator.special_tokens import EOS, PAD, SOS
from translator.training.prefetch import Placed
from translator.training.randomness import random_numbers, random_tensors, restore_random

LOGGER = logging.getLogger("translator")

Computed = TypeVar("Computed")

_TOLD: Final = 10
"""Halvings that get a line of their own in the log; later ones are only counted."""
_SIGNS: Final = (
    "CUDA out of memory",
    "CUDA error: out of memory",  # from the driver, past torch's own allocator
    "CUBLAS_STATUS_ALLOC_FAILED",  # cuBLAS takes its workspace by itself
    "CUDNN_STATUS_ALLOC_FAILED",
    "ALLOCATION_FAILED",  # cuDNN 9: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED and ..._HOST_...
    "can't allocate memory",  # the CPU's allocator
)
"""What a RuntimeError says that is an OutOfMemoryError by another name."""


def out_of_memory(error: BaseException) -> bool:
    """Return whether `error` says that memory did not suffice."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


class Halving:
    """Computes the batches of a step, halving those that do not fit into memory.

    Args:
        place: puts a half on the device.
        name: what to call a single pair that does not fit.
    """

    def __init__(
        self,
        place: Callable[[Batch], Placed],
        name: Callable[[Batch], str] = lambda batch: f"pair {int(batch.indices[0]):,} of the training split",
    ) -> None:
        self._place = place
        self._name = name
        self.halved = 0
        """Batches that were halved so far."""

    def __call__(
        self, batches: Sequence[Placed], compute: Callable[[Placed], Computed], discard: Callable[[], None]
    ) -> tuple[list[Placed], list[Computed]]:
        """Return the batches as they were computed in the end, and what `compute` returned for each.

        When one does not fit, `discard` is called, the batch is cut into two, and all are computed again. Losses are
        divided by the tokens of the whole step, so the gradient is the same. The processes of a run do this each for
        itself: `compute` must not talk to the others.

        Args:
            batches: of the step.
            compute: forward and backward of one batch; adds to the gradients.
            discard: takes back all that `compute` has done: empties the gradients, and puts the random generators
                back to the beginning of the step.

        Raises:
            RunError: a single pair does not fit.
        """
        left = list(batches)
        while True:
            computed: list[Computed] = []
            complaint: str | None = None
            for placed in left:
                try:
                    computed.append(compute(placed))
                except RuntimeError as error:
                    if not out_of_memory(error):
                        raise
                    # Only the text: the error's traceback holds all that the failed pass had in memory.
                    complaint = str(error)
                    break
            if complaint is None:
                return left, computed
            failed = len(computed)
            computed.clear()
            discard()
            _release()
            batch = left[failed].batch
            if batch.size == 1:
                raise self._too_long(batch, complaint)
            halves = halve(batch)
            left[failed : failed + 1] = [self._place(half) for half in halves]
            self._note(batch, halves)

    def _note(self, batch: Batch, halves: tuple[Batch, Batch]) -> None:
        """Count a halving, and say so unless that was said often enough."""
        self.halved += 1
        if self.halved <= _TOLD:
            LOGGER.warning(
                f"out of memory on a batch of {_shape(batch)}: computed as {_shape(halves[0])} and {_shape(halves[1])} "
                "instead, with the same gradient; if this happens often, lower batching.tokens_per_batch"
                + ("; from now on this is only counted, as train/halved_batches" if self.halved == _TOLD else "")
            )

    def _too_long(self, batch: Batch, complaint: str) -> RunError:
        return RunError(
            f"{self._name(batch)} ({batch.source.size(1)} and {batch.labels.size(1)} tokens) does not fit into memory "
            "by itself; lower batching.max_length or the size of the model, or use a GPU with more memory "
            f"({memory_in_use()}the last complaint: {complaint.partition(chr(10))[0][:300]})"
        )


def halve(batch: Batch) -> tuple[Batch, Batch]:
    """Return the first and the last rows of `batch` (two rows at least), with about as many tokens each."""
    assert batch.size >= 2
    tokens = _lengths(batch.source) + _lengths(batch.labels)  # (B,)
    before = tokens.cumsum(0)[:-1]  # (B - 1,) tokens before each place where it can be cut
    cut = int((2 * before - tokens.sum()).abs().argmin()) + 1
    return _rows(batch, slice(0, cut)), _rows(batch, slice(cut, None))


def _rows(batch: Batch, rows: slice) -> Batch:
    """Return some rows of `batch`, no wider than their longest on either side."""
    source, labels = _lengths(batch.source[rows]), _lengths(batch.labels[rows])
    source_length, target_length = int(source.max()), int(labels.max())
    return Batch(
        batch.source[rows, :source_length],
        batch.target_input[rows, :target_length],
        batch.labels[rows, :target_length],
        batch.indices[rows],
        int(source.sum()),
        int(labels.sum()),
    )


def _lengths(tokens: Tensor) -> Tensor:
    """Return (B,) the real tokens of each row of `tokens` (B, L)."""
    return (tokens != PAD).sum(dim=1)


def _shape(batch: Batch) -> str:
    return f"{batch.size} pairs of {batch.source.size(1)} and {batch.labels.size(1)} tokens"


def _release() -> None:
    """Give back what the failed pass has held."""
    gc.collect()  # an error, its traceback and a frame of it may hold each other, and tensors with them
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def memory_in_use() -> str:
    """Return a few words on how full the GPU is, for a message, or nothing where none is in use."""
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):  # type: ignore[no-untyped-call]
        return ""
    free, total = torch.cuda.mem_get_info()
    ours = torch.cuda.memory_allocated()
    return (
        f"the GPU has {total / 2**30:.1f} GiB, of which {ours / 2**30:.1f} are held by weights, optimizer and batches, "
        f"and {free / 2**30:.1f} are free; "
    )


def largest_batches(tokens_per_batch: int, max_length: int, max_sentences: int | None) -> list[Batch]:
    """Return batches that take as much memory as any of these limits: of the longest pairs, and of most positions."""
    longest = min(max_length, tokens_per_batch)

    def rows(length: int) -> int:
        return min(tokens_per_batch // length, max_sentences or tokens_per_batch)

    fullest = max(range(1, longest + 1), key=lambda length: (rows(length) * length, length))
    return [_batch_of(rows(length), length) for length in sorted({longest, fullest}, reverse=True)]


def _batch_of(rows: int, length: int) -> Batch:
    """Return a batch without padding; its tokens are in every vocabulary."""
    tokens = torch.full((rows, length), EOS)
    target_input = tokens.clone()
    target_input[:, 0] = SOS
    return Batch(tokens, target_input, tokens, torch.arange(rows), tokens.numel(), tokens.numel())


def rehearse(
    batches: Sequence[Batch],
    place: Callable[[Batch], Placed],
    compute: Callable[[Placed], object],
    discard: Callable[[], None],
    later_bytes: int = 0,
) -> int:
    """Compute batches once for nothing, so that a lack of memory shows now, and return how often one was halved.

    Weights and generators stay as they are.

    Args:
        batches: as `largest_batches` returns them.
        place: puts a batch on the device.
        compute: forward and backward of one batch; adds to the gradients.
        discard: empties the gradients.
        later_bytes: memory of the device that training will take besides: the optimizer's state before its first use.

    Raises:
        RunError: a single pair of the greatest length does not fit.
    """
    halving = Halving(place, lambda _: "a pair of the greatest length that batching.max_length allows")

    def compute_beside(placed: Placed) -> None:
        beside = torch.empty(later_bytes, dtype=torch.uint8, device=placed.on_device.source.device)
        compute(placed)
        del beside

    with _same_generators():
        for batch in batches:
            try:
                halving([place(batch)], compute_beside, discard)
            finally:
                discard()
    return halving.halved


@contextlib.contextmanager
def _same_generators() -> Iterator[None]:
    """Leave the random generators as they were before the block."""
    tensors, numbers = random_tensors(), random_numbers()
    try:
        yield
    finally:
        restore_random(tensors, numbers)
