"""The batches of a step on the device that computes them; a GPU gets those of the next step while it computes this one.

The copies start from pinned memory and run on a stream of their own. The stream that computes waits for them, the host
never does.
"""

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass

import torch

from translator.data import Batch
from translator.data.batch import StepBatches


@dataclass(frozen=True)
class Placed:
    """A batch and its copy on the device that computes it."""

    batch: Batch
    """On the CPU, as it was planned: to be cut, saved, or looked at without waiting for the device."""
    on_device: Batch
    """On the device; it may have more padding, after the rows and columns of `batch`."""


@dataclass(frozen=True)
class PlacedStep:
    """A step whose batches are on the device, or on their way there with the computation waiting for them."""

    step: StepBatches
    placed: tuple[Placed, ...]
    """One for each of `step.batches`, in the same order."""


def unchanged(batch: Batch) -> Batch:
    """Return the batch itself."""
    return batch


class Placing:
    """Puts batches on a device.

    Args:
        device: where to.
        pad: what is to be done on the way, as `translator.training.shapes.without_ones` does it.
    """

    def __init__(self, device: torch.device, pad: Callable[[Batch], Batch] = unchanged) -> None:
        self.device = device
        self._pad = pad

    def __call__(self, batch: Batch) -> Placed:
        """Return the batch with its copy on the device; the current stream copies, and the host does not wait."""
        return Placed(batch, self._pad(batch).to(self.device, non_blocking=True))

    def step(self, step: StepBatches) -> PlacedStep:
        """Return the step with all its batches on the device."""
        return PlacedStep(step, tuple(self(batch) for batch in step.batches))


def prefetch(steps: Generator[StepBatches, None, None], placing: Placing) -> Generator[PlacedStep, None, None]:
    """Yield each step with its batches on the device; on a GPU the next one is under way by then.

    Args:
        steps: closed when this generator is closed, or has ended.
        placing: says which device.

    Raises:
        Exception: whatever `steps` raises, after the steps that came before it. A stop signal does not wait for them:
            what was fetched ahead is lost, and comes again from the position of the last step that was taken.
    """
    with contextlib.closing(steps):
        if placing.device.type != "cuda":
            for step in steps:
                yield placing.step(step)
            return
        yield from _one_ahead(steps, _CopyStream(placing))


def _one_ahead(steps: Generator[StepBatches, None, None], copies: "_CopyStream") -> Generator[PlacedStep, None, None]:
    """Yield each step after the copies for the one that follows it are under way."""
    first = next(steps, None)
    coming = None if first is None else copies.start(first)
    while coming is not None:
        present = copies.finish(coming)
        coming, error = None, None
        try:
            following = next(steps, None)
            if following is not None:
                coming = copies.start(following)
        except Exception as raised:  # noqa: BLE001  # raised again after the step that came before it
            error = raised
        yield present
        if error is not None:
            raise error


@dataclass(frozen=True)
class _Coming:
    """A step that is being copied."""

    placed: PlacedStep
    arrived: torch.cuda.Event
    """Comes after the copies on their stream."""


class _CopyStream:
    """The stream of the GPU that copies beside the computation."""

    def __init__(self, placing: Placing) -> None:
        self._placing = placing
        self._stream = torch.cuda.Stream(placing.device)  # type: ignore[no-untyped-call]

    def start(self, step: StepBatches) -> _Coming:
        """Begin to copy a step; nobody waits."""
        with torch.cuda.stream(self._stream):
            placed = self._placing.step(step)
            arrived = torch.cuda.Event()  # type: ignore[no-untyped-call]
            arrived.record(self._stream)
        return _Coming(placed, arrived)

    def finish(self, coming: _Coming) -> PlacedStep:
        """Let the stream that computes wait for the copies, and return the step."""
        computing = torch.cuda.current_stream(self._placing.device)
        computing.wait_event(coming.arrived)
        for placed in coming.placed.placed:
            batch = placed.on_device
            for tensor in (batch.source, batch.target_input, batch.labels, batch.indices):
                # The memory belongs to the stream that copies: it must not go to a later copy while this step needs it.
                tensor.record_stream(computing)
        return coming.placed
