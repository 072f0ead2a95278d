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


def weight_of(batch: Batch) -> Tensor:
    """The factor of the gradients of an update that has this batch alone."""
    return torch.tensor(1.0 / batch.target_tokens)


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
    captures: list[StandInGraph]

    def plain(self, batch: Batch) -> Tensor:
        return forward_backward(self.loss, self.gradients, batch, weight_of(batch))

    def captured(self, batch: Batch) -> Tensor:
        return self.graphs(self.loss, self.gradients, batch, weight_of(batch))


@pytest.fixture
def passes(stand_in_for_cuda: None) -> Passes:
    model = small_model(dropout=0.2).train()
    captures: list[StandInGraph] = []

    def recordable(loss: TeacherForcing, gradients: Gradients, batch: Batch, weight: Tensor) -> Tensor:
        graph = StandInGraph.capturing
        if graph is None:
            return forward_backward(loss, gradients, batch, weight)
        captures.append(graph)
        token_losses = torch.full(batch.labels.shape, torch.nan)  # the memory that a replay writes to
        graph.recorded.append(lambda: token_losses.copy_(forward_backward(loss, gradients, batch, weight)))
        return token_losses

    return Passes(
        gradients=FlatGradients(list(model.parameters()), sum_in_place=lambda _: None),
        loss=TeacherForcing(model, label_smoothing=0.1),
        graphs=CapturedForwardBackward(recordable),
        captures=captures,
    )


def results(one_pass: Callable[[Batch], Tensor], gradients: FlatGradients) -> list[Tensor]:
    """The token losses of two updates of several passes, and after each the gradients and the random state."""
    tensors: list[Tensor] = []
    for batches in (BATCHES[:3], BATCHES[3:]):
        gradients.clear()
        torch.manual_seed(3)
        tensors += [one_pass(batch) for batch in batches]
        tensors += [gradients.flat.clone(), torch.get_rng_state()]
    return tensors


def test_captured_updates_equal_plain_ones_with_a_graph_for_the_first_pass_and_one_for_the_others(
    passes: Passes,
) -> None:
    """A change of mode, as from evaluation to training, needs other graphs."""
    for training, captures in ((True, 2), (True, 2), (False, 4), (True, 6)):
        passes.loss.model.train(training)
        expected = results(passes.plain, passes.gradients)
        for tensor, expected_tensor in zip(results(passes.captured, passes.gradients), expected, strict=True):
            assert torch.equal(tensor, expected_tensor)
        assert len(passes.captures) == captures
