"""Batches that do not fit: halved, with the same gradient, and nothing of the failed pass kept."""

import logging
import random
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_model import small_model
from torch import Tensor

from translator.data import Batch, collate
from translator.errors import RunError
from translator.special_tokens import PAD
from translator.training.loss import label_smoothed_loss
from translator.training.memory import Halving, halve, largest_batches, out_of_memory, rehearse
from translator.training.prefetch import Placed, Placing

PLACE = Placing(torch.device("cpu"))


def batch_of(*lengths: tuple[int, int], first: int = 0) -> Batch:
    """Return a batch of pairs with so many tokens, without the special ones."""
    sources = [[4 + (row + place) % 9 for place in range(source)] for row, (source, _) in enumerate(lengths)]
    targets = [[4 + (row * place) % 9 for place in range(target)] for row, (_, target) in enumerate(lengths)]
    return collate(sources, targets, range(first, first + len(lengths)))


class Fails(torch.autograd.Function):
    """Passes its input on, and runs out of memory in the backward pass."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")


@dataclass
class Step:
    """Forward and backward of the small model, which fails on batches of more than `rows` rows."""

    rows: int
    target_tokens: int
    backward: bool = True
    sizes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = small_model(dropout=0.0)

    def compute(self, placed: Placed) -> Tensor:
        batch = placed.on_device
        self.sizes.append(batch.size)
        fails = batch.size > self.rows
        if fails and not self.backward:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        memory = self.model.encode(batch.source, self.model.masks.encoder(batch.source))
        if fails:
            memory = Fails.apply(memory)  # type: ignore[no-untyped-call]
        masks = self.model.masks(batch.source, batch.target_input)
        logits = self.model.project(self.model.decode(batch.target_input, memory, masks.decoder, masks.cross))
        loss = label_smoothed_loss(logits, batch.labels, 0.1)
        (loss.smoothed / self.target_tokens).backward()  # type: ignore[no-untyped-call]
        return loss.of_tokens.sum()

    def discard(self) -> None:
        self.model.zero_grad(set_to_none=True)

    def gradients(self) -> list[Tensor]:
        return [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]


BATCHES = [
    batch_of((3, 2), (4, 4)),
    batch_of((5, 6), (5, 5), (4, 5), (4, 1), (2, 2), first=2),
    batch_of((1, 1), first=7),
]


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_gradient_is_that_of_the_whole_step(rows: int, backward: bool) -> None:
    tokens = sum(batch.target_tokens for batch in BATCHES)
    whole, cut = Step(9, tokens), Step(rows, tokens, backward)
    placed = [PLACE(batch) for batch in BATCHES]
    _, losses = Halving(PLACE)(placed, whole.compute, whole.discard)
    halving = Halving(PLACE)
    left, cut_losses = halving(placed, cut.compute, cut.discard)
    assert whole.sizes == [2, 5, 1] and halving.halved == len(left) - 3 > 0
    assert [batch.batch.size for batch in left] == cut.sizes[-len(left) :]
    assert max(cut.sizes[-len(left) :]) <= rows
    assert [number for pair in left for number in pair.batch.indices.tolist()] == list(range(8))
    torch.testing.assert_close(sum(cut_losses), sum(losses))
    assert len(cut.gradients()) == len(whole.gradients()) > 0
    for ours, theirs in zip(cut.gradients(), whole.gradients(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_nothing_of_the_failed_pass_is_alive_when_the_step_is_computed_again() -> None:
    held: list[weakref.ref[Tensor]] = []

    def compute(placed: Placed) -> None:
        assert all(reference() is None for reference in held)
        large = torch.zeros(1000)
        held.append(weakref.ref(large))
        if placed.batch.size > 1:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            except RuntimeError as error:
                kept = error  # this frame holds the error, whose traceback holds this frame
                raise kept from None

    Halving(PLACE)([PLACE(batch_of((2, 2), (3, 3)))], compute, lambda: None)
    assert len(held) == 3


def test_a_single_pair_that_does_not_fit_is_named() -> None:
    step = Step(0, 9)
    with pytest.raises(RunError) as caught:
        Halving(PLACE)([PLACE(batch_of((6, 4), first=4321))], step.compute, step.discard)
    message = str(caught.value)
    assert "pair 4,321 of the training split (7 and 5 tokens)" in message and "batching.max_length" in message
    assert "Tried to allocate 2 GiB.)" in message
    assert step.gradients() == []


def test_other_errors_are_passed_on() -> None:
    def compute(placed: Placed) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.raises(RuntimeError, match="illegal"):
        Halving(PLACE)([PLACE(BATCHES[0])], compute, lambda: None)


def test_the_log_says_so_ten_times(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "translator")
    halving = Halving(PLACE)
    for _ in range(12):
        step = Step(1, 6, backward=False)
        halving([PLACE(BATCHES[0])], step.compute, step.discard)
    assert halving.halved == 12 and len(caplog.messages) == 10
    assert "2 pairs of 5 and 5 tokens" in caplog.messages[0] and "train/halved_batches" not in caplog.messages[0]
    assert "train/halved_batches" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (MemoryError(), False),
    ],
)
def test_complaints_of_memory_are_known(error: BaseException, expected: bool) -> None:
    assert out_of_memory(error) is expected


def test_the_cpu_s_own_complaint_is_known() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert out_of_memory(caught.value)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=2, max_size=9))
def test_halves_are_the_rows_about_equal_and_no_wider_than_they_need(lengths: list[tuple[int, int]]) -> None:
    batch = batch_of(*lengths, first=50)
    halves = halve(batch)
    assert sum(half.size for half in halves) == batch.size and min(half.size for half in halves) >= 1
    assert torch.equal(torch.cat([half.indices for half in halves]), batch.indices)
    start = 0
    for half in halves:
        assert half.source_tokens == int((half.source != PAD).sum())
        assert half.target_tokens == int((half.labels != PAD).sum()) == int((half.target_input != PAD).sum())
        for side, whole in (
            (half.source, batch.source),
            (half.target_input, batch.target_input),
            (half.labels, batch.labels),
        ):
            rows = whole[start : start + half.size]
            assert torch.equal(side, rows[:, : side.size(1)]) and not (rows[:, side.size(1) :] != PAD).any()
            assert (side[:, -1] != PAD).any()
        start += half.size
    longest = max(source + target + 2 for source, target in lengths)
    first, second = (half.source_tokens + half.target_tokens for half in halves)
    assert abs(first - second) <= longest


@pytest.mark.parametrize(
    ("limits", "shapes"),
    [
        ((100, 30, None), [(3, 30), (4, 25)]),
        ((96, 32, None), [(3, 32)]),
        ((64, 200, None), [(1, 64)]),
        ((96, 8, 5), [(5, 8)]),
    ],
)
def test_the_largest_batches_fill_the_limits(
    limits: tuple[int, int, int | None], shapes: list[tuple[int, int]]
) -> None:
    batches = largest_batches(*limits)
    assert [tuple(batch.source.shape) for batch in batches] == shapes
    for batch in batches:
        assert batch.source.shape == batch.labels.shape == batch.target_input.shape
        assert batch.source_tokens == batch.target_tokens == batch.source.numel() == int((batch.labels != PAD).sum())


def draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), torch.rand(()).item()


def rehearsed(rows: int, later_bytes: int = 0) -> tuple[Step, Callable[[], int]]:
    step = Step(rows, 9)
    step.model = small_model(dropout=0.3)
    return step, lambda: rehearse(largest_batches(24, 6, None), PLACE, step.compute, step.discard, later_bytes)


def test_a_rehearsal_leaves_no_trace() -> None:
    step, run = rehearsed(rows=9, later_bytes=100)
    weights = [weight.clone() for weight in step.model.parameters()]
    state = torch.get_rng_state()
    random.seed(3)
    np.random.seed(3)
    expected = draws()
    torch.set_rng_state(state)
    random.seed(3)
    np.random.seed(3)
    assert run() == 0 and step.sizes == [4]
    assert draws() == expected
    assert step.gradients() == []
    for before, after in zip(weights, step.model.parameters(), strict=True):
        assert torch.equal(before, after)


def test_a_rehearsal_tells_of_what_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "translator")
    assert rehearsed(rows=2)[1]() == 1
    assert len(caplog.messages) == 1
    step, run = rehearsed(rows=0)
    with pytest.raises(RunError, match="a pair of the greatest length"):
        run()
    assert step.gradients() == []
    with pytest.raises(RunError, match="can't allocate memory"):
        rehearsed(rows=9, later_bytes=1 << 60)[1]()
