"""Updates on a GPU: those in a CUDA graph have the bits of plain ones, compiled or not; skipped without a GPU."""

import itertools
import shutil
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.small_model import random_pairs, rows_of
from tests.support.step_batches import step_of
from tests.support.tiny_recipe import Recipe
from tests.support.tiny_runs import assert_same_bits, final, run
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.core.update import Learner
from translator.run.folder import RunFolder
from translator.training.distributed import Distributed
from translator.training.learner import build_learner
from translator.training.precision import Choices

BATCHES = [rows_of(random_pairs(8, seed=seed), pairs_a_row=4, row_length=31) for seed in range(1, 6)]

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU")
CUDA_SETTINGS = ("training.precision=bf16", "model.dropout=0.2", "model.attention_dropout=0.1")


def cuda_learner(config: Config, *, capture: bool, compile: bool = False) -> Learner:
    """A learner on the GPU, always with the same initial weights."""
    torch.manual_seed(1)
    choices = Choices(
        precision="bf16",
        compile=compile,
        capture=capture,
    )
    return build_learner(config, (21, 27), torch.device("cuda"), choices, Distributed())


def updated_tensors(learner: Learner) -> dict[str, Tensor]:
    """Make updates of two micro-batches each; return all token losses, then the weights."""
    tensors: dict[str, Tensor] = {}
    for number, batches in enumerate(itertools.pairwise(BATCHES), 1):
        result = learner.update(step_of(batches), number)
        for place, token_losses in enumerate(result.token_losses):
            tensors[f"losses of update {number}, micro-batch {place}"] = token_losses
    for name, weight in learner.loss.model.named_parameters():
        tensors[name] = weight.detach()
    return tensors


@needs_cuda
@pytest.mark.parametrize("setting", ["training.r_drop=0", "training.r_drop=1", "training.optimizer=muon"])
def test_captured_updates_on_a_gpu_have_the_bits_of_plain_ones(tiny: Recipe, setting: str) -> None:
    config = tiny(setting, *CUDA_SETTINGS)
    expected = updated_tensors(cuda_learner(config, capture=False))
    assert_same_bits(updated_tensors(cuda_learner(config, capture=True)), expected)


@needs_cuda
def test_compiled_and_captured_updates_on_a_gpu_have_the_same_bits_twice(tiny: Recipe) -> None:
    config = tiny(*CUDA_SETTINGS)
    expected = updated_tensors(cuda_learner(config, capture=True, compile=True))
    assert_same_bits(updated_tensors(cuda_learner(config, capture=True, compile=True)), expected)


@needs_cuda
def test_a_resumed_run_on_a_gpu_has_the_bits_of_an_undisturbed_one(tiny: Recipe) -> None:
    config = tiny("run.device=cuda", "training.compile=always", *CUDA_SETTINGS)
    run(config)
    expected = final(config)
    last = find_checkpoint(RunFolder(Path(config.run.directory)).checkpoints_folder, "last")
    shutil.rmtree(last.resolve())
    run(config)  # from the checkpoint before
    assert_same_bits(final(config), expected)
