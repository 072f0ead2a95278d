"""Passes that a CUDA graph captures equal those of the core; on a CPU, a stand-in takes the place of the graph."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from translator.core.batch import Batch
from translator.core.loss import TeacherForcing
from translator.core.update import Gradients, forward_backward
from translator.speed.gradients import FlatGradients
from translator.speed.graph import CapturedForwardBackward

ROW_LENGTH = 31
BATCHES = [rows_of(random_pairs(8, seed=seed), pairs_a_row=4, row_length=ROW_LENGTH) for seed in range(1, 6)]
WEIGHT = torch.tensor(0.25)


class StandInGraph:
    """A CUDA graph on a CPU: while it captures, a pass is recorded, not computed; a replay computes it."""

    capturing: ClassVar["StandInGraph | None"] = None

    def __init__(self) -> None:
        self.recorded: list[Callable[[], object]] = []

    def replay(self) -> None:
        for pass_over_batch in self.recorded:
            pass_over_batch()


@contextlib.contextmanager
def capture_into(graph: StandInGraph, capture_error_mode: str) -> Iterator[None]:
    """A stand-in for `torch.cuda.graph`."""
    StandInGraph.capturing = graph
    yield
    StandInGraph.capturing = None


class StandInStream:
    def wait_stream(self, stream: "StandInStream") -> None:
        pass


@pytest.fixture
def stand_in_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace what a capture needs of `torch.cuda`."""
    monkeypatch.setattr(torch.cuda, "CUDAGraph", StandInGraph)
    monkeypatch.setattr(torch.cuda, "graph", capture_into)
    monkeypatch.setattr(torch.cuda, "Stream", StandInStream)
    monkeypatch.setattr(torch.cuda, "current_stream", StandInStream)
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: torch.get_rng_state())
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: torch.set_rng_state(state))


@dataclass
class Passes:
    """A small model in training, with its plain and its captured pass."""

    gradients: FlatGradients
    loss: TeacherForcing
    graphs: CapturedForwardBackward
    calls: list[str]  # what became of each call of the plain pass by the captured one

    def plain(self, batch: Batch, weight: Tensor) -> Tensor:
        return forward_backward(self.loss, self.gradients, batch, weight)

    def captured(self, batch: Batch, weight: Tensor) -> Tensor:
        return self.graphs(self.loss, self.gradients, batch, weight)

    def train(self, mode: bool) -> None:
        self.loss.model.train(mode)


@pytest.fixture
def passes(stand_in_for_cuda: None) -> Passes:
    model = small_model(dropout=0.2).train()
    gradients = FlatGradients(list(model.parameters()), sum_in_place=lambda _: None)
    loss = TeacherForcing(model, label_smoothing=0.1)
    calls: list[str] = []

    def recordable(loss: TeacherForcing, gradients: Gradients, batch: Batch, weight: Tensor) -> Tensor:
        graph = StandInGraph.capturing
        if graph is None:
            calls.append("computed")
            return forward_backward(loss, gradients, batch, weight)
        calls.append("captured")
        token_losses = torch.full(batch.labels.shape, torch.nan)  # the memory that a replay writes to
        graph.recorded.append(lambda: token_losses.copy_(forward_backward(loss, gradients, batch, weight)))
        return token_losses

    return Passes(gradients=gradients, loss=loss, graphs=CapturedForwardBackward(recordable), calls=calls)


def results(
    one_pass: Callable[[Batch, Tensor], Tensor], gradients: FlatGradients, batch: Batch, weight: Tensor = WEIGHT
) -> list[Tensor]:
    """The token losses and the gradients of a pass that begins without gradients and with a fresh seed."""
    gradients.clear()
    torch.manual_seed(3)
    token_losses = one_pass(batch, weight)
    return [token_losses, gradients.flat.clone()]


def assert_equal(tensors: list[Tensor], expected: list[Tensor]) -> None:
    for tensor, expected_tensor in zip(tensors, expected, strict=True):
        assert torch.equal(tensor, expected_tensor)


def test_a_captured_pass_equals_a_plain_one_on_every_batch(passes: Passes) -> None:
    for batch in BATCHES:
        expected = results(passes.plain, passes.gradients, batch)
        assert_equal(results(passes.captured, passes.gradients, batch), expected)


def test_the_passes_of_an_update_add_up_their_gradients(passes: Passes) -> None:
    sums = []
    for one_pass in (passes.plain, passes.captured, passes.captured):
        passes.gradients.clear()
        for number, batch in enumerate(BATCHES):
            torch.manual_seed(number)
            one_pass(batch, WEIGHT)
        sums.append(passes.gradients.flat.clone())
    assert_equal(sums[1:], sums[:1] * 2)


def test_the_next_replay_leaves_earlier_results_alone(passes: Passes) -> None:
    first = passes.captured(BATCHES[0], WEIGHT)
    before = first.clone()
    passes.gradients.clear()  # so that the same graph is replayed
    passes.captured(BATCHES[1], WEIGHT)
    assert torch.equal(first, before)


def test_a_capture_adds_to_the_gradients_before_it(passes: Passes) -> None:
    """As for the second micro-batch of an update, when the state of dropout is new."""
    passes.gradients.is_empty = False
    torch.manual_seed(3)
    passes.gradients.flat.fill_(2.0)
    passes.plain(BATCHES[0], WEIGHT)
    expected = passes.gradients.flat.clone()
    torch.manual_seed(3)
    passes.gradients.flat.fill_(2.0)
    passes.captured(BATCHES[0], WEIGHT)
    assert torch.equal(passes.gradients.flat, expected)


def test_a_capture_leaves_the_random_state_to_the_update(passes: Passes) -> None:
    torch.manual_seed(3)
    passes.plain(BATCHES[0], WEIGHT)
    expected = torch.get_rng_state()
    torch.manual_seed(3)
    passes.captured(BATCHES[0], WEIGHT)
    assert torch.equal(torch.get_rng_state(), expected)


def test_passes_without_dropout_have_a_graph_of_their_own(passes: Passes) -> None:
    passes.train(False)
    passes.captured(BATCHES[0], WEIGHT)
    passes.train(True)
    passes.captured(BATCHES[0], WEIGHT)
    passes.captured(BATCHES[1], WEIGHT)
    assert passes.calls.count("captured") == 2


def test_each_replay_reads_the_weight_of_its_call(passes: Passes) -> None:
    passes.captured(BATCHES[0], WEIGHT)
    other_weight = torch.tensor(0.125)
    expected = results(passes.plain, passes.gradients, BATCHES[1], other_weight)
    assert_equal(results(passes.captured, passes.gradients, BATCHES[1], other_weight), expected)


def test_r_drop_is_captured_too(passes: Passes) -> None:
    passes.loss.r_drop = 2.0
    for batch in BATCHES[:2]:
        expected = results(passes.plain, passes.gradients, batch)
        assert_equal(results(passes.captured, passes.gradients, batch), expected)
