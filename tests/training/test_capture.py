"""Captured forward and backward passes: with a stand-in for CUDA graphs on a CPU, and on a GPU if there is one."""

import contextlib
import functools
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of, small_model
from tests.support.tiny_recipe import Recipe
from tests.support.tiny_runs import assert_same_bits, final, run
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.data import Batch, DataPosition, StepBatches
from translator.model.device import Arithmetic
from translator.run.folder import RunFolder
from translator.training.blockwise_loss import blockwise_head_loss
from translator.training.capture import WARM_UPS, CapturedForwardBackward, ForwardBackward
from translator.training.distributed import Distributed
from translator.training.forward_backward import forward_backward
from translator.training.gradients import FlatGradients
from translator.training.loss import TeacherForcing
from translator.training.precision import Choices
from translator.training.update import Updater

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
    plain: ForwardBackward
    captured: CapturedForwardBackward
    calls: list[str]  # what became of each call of the plain pass by the captured one

    def train(self, mode: bool) -> None:
        self.loss.model.train(mode)


@pytest.fixture
def passes(stand_in_for_cuda: None) -> Passes:
    model = small_model(dropout=0.2).train()
    gradients = FlatGradients(list(model.parameters()))
    loss = TeacherForcing(model, label_smoothing=0.1, r_drop=0.0, head_loss=blockwise_head_loss)
    plain = functools.partial(forward_backward, loss, Arithmetic(torch.device("cpu"), "float32"), gradients)
    calls: list[str] = []

    def recordable(batch: Batch, weight: Tensor) -> Tensor:
        graph = StandInGraph.capturing
        if graph is None:
            calls.append("computed")
            return plain(batch, weight)
        calls.append("captured")
        token_losses = torch.full(batch.labels.shape, torch.nan)  # the memory that a replay writes to
        graph.recorded.append(lambda: token_losses.copy_(plain(batch, weight)))
        return token_losses

    captured = CapturedForwardBackward(recordable, gradients, model)
    return Passes(gradients=gradients, loss=loss, plain=plain, captured=captured, calls=calls)


def results(
    forward_backward: ForwardBackward, gradients: FlatGradients, batch: Batch, weight: Tensor = WEIGHT
) -> list[Tensor]:
    """The token losses and the gradients of a pass that begins without gradients and with a fresh seed."""
    gradients.clear()
    torch.manual_seed(3)
    token_losses = forward_backward(batch, weight)
    return [token_losses, gradients.flat.clone()]


def assert_equal(tensors: list[Tensor], expected: list[Tensor]) -> None:
    for tensor, expected_tensor in zip(tensors, expected, strict=True):
        assert torch.equal(tensor, expected_tensor)


def test_a_captured_pass_equals_a_plain_one_on_every_batch(passes: Passes) -> None:
    for batch in BATCHES:
        expected = results(passes.plain, passes.gradients, batch)
        assert_equal(results(passes.captured, passes.gradients, batch), expected)


def test_a_pass_is_captured_once(passes: Passes) -> None:
    for batch in BATCHES:
        passes.captured(batch, WEIGHT)
    assert passes.calls == ["computed"] * WARM_UPS + ["captured"]


def test_the_next_replay_leaves_earlier_results_alone(passes: Passes) -> None:
    first = passes.captured(BATCHES[0], WEIGHT)
    before = first.clone()
    passes.captured(BATCHES[1], WEIGHT)
    assert torch.equal(first, before)


def test_a_capture_adds_to_the_gradients_before_it(passes: Passes) -> None:
    """As for the second micro-batch of an update, when the state of dropout is new."""
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


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")
CUDA_SETTINGS = ("training.precision=bf16", "model.dropout=0.2", "model.attention_dropout=0.1")


def cuda_updater(config: Config, *, capture: bool, compile: bool = False) -> Updater:
    """An updater on the GPU, always with the same initial weights."""
    torch.manual_seed(1)
    choices = Choices(
        precision="bf16",
        matmul_precision="high",
        attention="fused",
        compile=compile,
        capture=capture,
        reasons={},
    )
    return Updater(config, (21, 27), torch.device("cuda"), choices, Distributed())


def updated_tensors(updater: Updater) -> dict[str, Tensor]:
    """Make updates of two micro-batches each; return all token losses, then the weights."""
    tensors: dict[str, Tensor] = {}
    for number, batches in enumerate(itertools.pairwise(BATCHES), 1):
        share = StepBatches(
            batches=batches,
            target_tokens=sum(batch.target_tokens for batch in batches),
            source_tokens=sum(batch.source_tokens for batch in batches),
            positions=sum(batch.positions for batch in batches),
            position=DataPosition(),
        )
        result = updater.update(share, number)
        for place, token_losses in enumerate(result.token_losses):
            tensors[f"losses of update {number}, micro-batch {place}"] = token_losses
    for name, weight in updater.model.named_parameters():
        tensors[name] = weight.detach()
    return tensors


@needs_cuda
@pytest.mark.parametrize("setting", ["training.r_drop=0", "training.r_drop=1", "training.optimizer=muon"])
def test_captured_updates_on_a_gpu_have_the_bits_of_plain_ones(tiny: Recipe, setting: str) -> None:
    config = tiny(setting, *CUDA_SETTINGS)
    expected = updated_tensors(cuda_updater(config, capture=False))
    assert_same_bits(updated_tensors(cuda_updater(config, capture=True)), expected)


@needs_cuda
def test_compiled_and_captured_updates_on_a_gpu_have_the_same_bits_twice(tiny: Recipe) -> None:
    config = tiny(*CUDA_SETTINGS)
    expected = updated_tensors(cuda_updater(config, capture=True, compile=True))
    assert_same_bits(updated_tensors(cuda_updater(config, capture=True, compile=True)), expected)


@needs_cuda
def test_a_resumed_run_on_a_gpu_has_the_bits_of_an_undisturbed_one(tiny: Recipe) -> None:
    config = tiny("run.device=cuda", "training.compile=always", *CUDA_SETTINGS)
    run(config)
    expected = final(config)
    last = find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")
    shutil.rmtree(last.resolve())
    run(config)  # from the checkpoint before
    assert_same_bits(final(config), expected)
