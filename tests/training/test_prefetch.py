"""Batches on the device, in order and one step ahead; a fake GPU writes down what is asked of it."""

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import pytest
import torch

from translator.data import Batch, DataPosition, collate
from translator.data.batch import StepBatches
from translator.errors import Interrupted
from translator.training.prefetch import PlacedStep, Placing, prefetch
from translator.training.shapes import without_ones


def step(number: int) -> StepBatches:
    batches = tuple(collate([[number]], [[number, 7]], [number]) for _ in range(2))
    return StepBatches(batches, 6, 4, 10, DataPosition(0, number))


@dataclass
class Source:
    """Steps 5, 6 and 7, then `error` if there is one; `done` tells what has happened."""

    error: BaseException | None = None
    done: list[str] = field(default_factory=list)

    def steps(self) -> Generator[StepBatches, None, None]:
        try:
            for number in (5, 6, 7):
                self.done.append(f"made {number}")
                yield step(number)
            if self.error is not None:
                raise self.error
        finally:
            self.done.append("closed")


def number(placed: PlacedStep) -> int:
    return placed.step.position.batch


class FakeGpu:
    """Stands in for torch's streams, events and copies."""

    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.current = "computing"

    def install(self, patch: pytest.MonkeyPatch) -> None:
        gpu = self

        class Stream:
            def __init__(self, name: str | torch.device) -> None:
                self.name = name if isinstance(name, str) else "copying"

            def wait_event(self, event: "Event") -> None:
                gpu.done.append(f"{self.name} waits for copy {event.number}")

        class Event:
            made = 4

            def __init__(self) -> None:
                Event.made += 1
                self.number = Event.made

            def record(self, stream: Stream) -> None:
                gpu.done.append(f"copy {self.number} recorded on {stream.name}")

        @contextlib.contextmanager
        def on(stream: Stream) -> Iterator[None]:
            gpu.current = stream.name
            yield
            gpu.current = "computing"

        def to(batch: Batch, device: torch.device, non_blocking: bool = False) -> Batch:
            gpu.done.append(f"{int(batch.indices[0])} sent by {gpu.current}, {non_blocking}")
            return batch

        def record_stream(tensor: torch.Tensor, stream: Stream) -> None:
            gpu.done.append(f"kept for {stream.name}")

        def never(*_: object) -> None:
            raise AssertionError("the host waited")

        patch.setattr(torch.cuda, "Stream", Stream)
        patch.setattr(torch.cuda, "Event", Event)
        patch.setattr(torch.cuda, "stream", on)
        patch.setattr(torch.cuda, "current_stream", lambda device: Stream(gpu.current))
        patch.setattr(torch.cuda, "synchronize", never)
        patch.setattr(Batch, "to", to)
        patch.setattr(torch.Tensor, "record_stream", record_stream)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> tuple[Source, Placing]:
    source = Source()
    FakeGpu(source.done).install(monkeypatch)
    return source, Placing(torch.device("cuda"))


def test_a_cpu_gets_the_batches_themselves_when_it_asks_for_them() -> None:
    source = Source()
    made = source.steps()  # kept here, so that nothing but closing closes it
    with contextlib.closing(prefetch(made, Placing(torch.device("cpu")))) as steps:
        first = next(steps)
        assert source.done == ["made 5"]
        for placed, batch in zip(first.placed, first.step.batches, strict=True):
            assert placed.batch is batch and placed.on_device.source is batch.source
    assert source.done == ["made 5", "closed"]


def test_what_is_padded_on_the_way_leaves_the_batch_as_it_was() -> None:
    placing = Placing(torch.device("cpu"), without_ones)
    placed = next(prefetch(Source().steps(), placing)).placed[0]
    assert placed.batch.source.shape == (1, 2) and placed.on_device.source.shape == (2, 2)


def test_the_next_step_is_under_way_and_only_the_computing_stream_waits(cuda: tuple[Source, Placing]) -> None:
    source, placing = cuda
    steps = prefetch(source.steps(), placing)
    assert number(next(steps)) == 5
    sent = ["{0} sent by copying, True"] * 2 + ["copy {0} recorded on copying"]
    expected = ["made 5", *(line.format(5) for line in sent), "computing waits for copy 5"]
    expected += ["kept for computing"] * 8 + ["made 6", *(line.format(6) for line in sent)]
    assert source.done == expected
    assert [number(placed) for placed in steps] == [6, 7]
    assert source.done.index("computing waits for copy 6") < source.done.index("7 sent by copying, True")
    assert source.done[-1] == "closed"


def test_closing_a_gpu_s_batches_closes_what_makes_them(cuda: tuple[Source, Placing]) -> None:
    source, placing = cuda
    made = source.steps()  # kept here, so that nothing but closing closes it
    steps = prefetch(made, placing)
    next(steps)
    steps.close()
    assert source.done[-1] == "closed"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_error_comes_after_the_steps_before_it(device: str, cuda: tuple[Source, Placing]) -> None:
    source, _ = cuda
    source.error = ValueError("no more")
    seen = []
    with pytest.raises(ValueError, match="no more"):
        for placed in prefetch(source.steps(), Placing(torch.device(device))):
            seen.append(number(placed))
    assert seen == [5, 6, 7]


def test_a_stop_signal_does_not_wait_for_the_step_before_it(cuda: tuple[Source, Placing]) -> None:
    source, placing = cuda
    source.error = Interrupted(15)
    steps = prefetch(source.steps(), placing)
    assert [number(next(steps)), number(next(steps))] == [5, 6]
    with pytest.raises(Interrupted):
        next(steps)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_gpu_gets_what_was_on_the_cpu() -> None:
    for placed in prefetch(Source().steps(), Placing(torch.device("cuda"))):
        for pair in placed.placed:
            assert pair.on_device.source.is_cuda and torch.equal(pair.on_device.source.cpu(), pair.batch.source)
