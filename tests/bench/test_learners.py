"""Each contestant learns, and tells its loss rightly."""

import math
from collections.abc import Callable

import pytest
import torch
from conftest import Recipe
from small_model import small_batch

from bench.contest import NAMES, build_learner
from bench.learner import Learner
from bench.marian import build_marian, marian_is_here
from translator.config import Config
from translator.data import Batch
from translator.special_tokens import PAD

MARIAN_IS_AWAY = "Hugging Face transformers is not installed (the extra `bench` has it)"

Build = Callable[..., Learner]


def batch() -> Batch:
    source, target_input, labels = small_batch()
    tokens = int((source != PAD).sum()), int((labels != PAD).sum())
    return Batch(source, target_input, labels, torch.arange(2), *tokens)


@pytest.fixture(params=NAMES)
def learner(request: pytest.FixtureRequest, tiny: Recipe) -> Learner:
    """Each contestant, without dropout, so that its losses can be compared."""
    name = str(request.param)
    if "Marian" in name and not marian_is_here():
        pytest.skip(MARIAN_IS_AWAY)
    config: Config = tiny("model.dropout=0", "training.learning_rate=0.01", "training.schedule=constant")
    torch.manual_seed(1)
    return build_learner(name, config, 21, 27)


def test_it_learns_a_batch_by_heart(learner: Learner) -> None:
    pairs = batch()
    losses = [learner.take_step(pairs, step, watched=True) for step in range(1, 61)]
    assert losses[0] is not None and losses[-1] is not None
    assert float(losses[-1]) < 0.3 * float(losses[0])


def test_its_training_loss_is_the_held_out_loss_before_the_update(learner: Learner) -> None:
    pairs = batch()
    expected = learner.held_out_loss([pairs], torch.device("cpu"))
    loss = learner.take_step(pairs, 1, watched=True)
    assert loss is not None
    assert float(loss) / pairs.target_tokens == pytest.approx(expected, rel=0.02)  # products may be rounded to bf16
    assert learner.model.training


def test_the_loss_of_an_ignorant_model_is_that_of_guessing(learner: Learner) -> None:
    for parameter in learner.model.parameters():
        torch.nn.init.zeros_(parameter)
    assert learner.held_out_loss([batch()], torch.device("cpu")) == pytest.approx(math.log(27), rel=1e-3)


def test_marian_does_not_see_padding_and_has_the_sizes_of_the_recipe(tiny: Recipe) -> None:
    if not marian_is_here():
        pytest.skip(MARIAN_IS_AWAY)
    model = build_marian(tiny().model, 21, 27).eval()
    assert sum("layers" in name and name.endswith("fc1.weight") for name, _ in model.named_parameters()) == 2
    assert tuple(model.get_parameter("model.decoder.layers.0.fc1.weight").shape) == (32, 16)
