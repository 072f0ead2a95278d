"""One update: the gradient of all micro-batches, clipping, skipping what is not finite, and dropout by its number."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.optimizer_steps import moments_of
from tests.support.small_model import random_pairs, rows_of, small_model
from tests.support.toy_training import step_of
from translator.core.batch import collate_rows
from translator.core.loss import TeacherForcing
from translator.core.optimizer import ModelOptimizer, OptimizerSettings, ScheduleSettings
from translator.core.update import Gradients, Learner, seed_update

ROWS = [
    [([5, 6, 7], [20, 21]), ([8], [22, 23, 24, 25]), ([9, 10], [11])],
    [([11, 12, 13], [20])],
    [([14], [15]), ([16, 17], [18, 19, 20])],
]
"""Three rows, with unlike numbers of tokens."""

MICRO_BATCHES = [collate_rows([row], row_length=16) for row in ROWS]
STEP = step_of(MICRO_BATCHES)
SCHEDULE = ScheduleSettings(learning_rate=1e-2, schedule="constant")


def learner_of(clip: float | None = None, schedule: ScheduleSettings = SCHEDULE, **changes: Any) -> Learner:
    model = small_model(**changes)
    optimizer = ModelOptimizer(model, OptimizerSettings(clip=clip))
    return Learner(TeacherForcing(model, 0.1), optimizer, Gradients(model.parameters()), schedule)


def weights_of(learner: Learner) -> dict[str, Tensor]:
    return copy.deepcopy(learner.loss.model.state_dict())


def gradients_of_step() -> list[Tensor]:
    """The gradients of the update of all micro-batches, by the weights after a step of plain gradient descent."""
    model = small_model(dropout=0.0)
    before = [weight.detach().clone() for weight in model.parameters()]

    class GradientDescent(ModelOptimizer):
        def update(self, rate: float, gradient_norm: Tensor, finite: Tensor) -> None:
            with torch.no_grad():
                for weight in model.parameters():
                    assert weight.grad is not None
                    weight.sub_(weight.grad)

    optimizer = GradientDescent(model, OptimizerSettings())
    learner = Learner(TeacherForcing(model, 0.1), optimizer, Gradients(model.parameters()), SCHEDULE)
    learner.update(STEP, 1)
    return [old - new.detach() for old, new in zip(before, model.parameters(), strict=True)]


def test_micro_batches_give_the_gradient_of_their_union_by_target_token() -> None:
    """Of three uneven batches as of all their rows at once: each token weighs the same."""
    union = collate_rows(ROWS, row_length=16)
    model = small_model(dropout=0.0)
    objective = TeacherForcing(model, 0.1)(union).objective / union.target_tokens
    expected = torch.autograd.grad(objective, list(model.parameters()))
    torch.testing.assert_close(gradients_of_step(), list(expected), rtol=1e-4, atol=1e-6)


def test_the_result_has_the_loss_of_each_token() -> None:
    result = learner_of().update(STEP, 1)
    for batch, token_losses in zip(MICRO_BATCHES, result.token_losses, strict=True):
        assert torch.equal(token_losses > 0, batch.target_sentence > 0)
    assert result.learning_rate == 1e-2
    assert result.finite


def test_the_norm_is_that_of_the_whole_gradient_before_clipping() -> None:
    whole = torch.cat([gradient.flatten() for gradient in gradients_of_step()])
    result = learner_of(clip=0.01, dropout=0.0).update(STEP, 1)
    assert result.gradient_norm.item() == pytest.approx(whole.norm().item(), rel=1e-4)


def test_gradients_of_an_update_do_not_reach_the_next() -> None:
    learner = learner_of(dropout=0.0)
    learner.update(STEP, 1)
    assert all(weight.grad is None for weight in learner.loss.model.parameters())


@pytest.mark.parametrize(("value", "clip"), [(float("nan"), None), (float("inf"), 1.0)])
def test_an_update_with_a_nonfinite_loss_is_skipped(value: float, clip: float | None) -> None:
    learner = learner_of(clip=clip)
    learner.update(STEP, 1)
    before = weights_of(learner)
    moments = moments_of(learner.optimizer)

    with torch.no_grad():
        learner.loss.model.decoder.norm.bias.add_(value)  # type: ignore[operator]
    spoilt = weights_of(learner)
    result = learner.update(STEP, 2)
    assert not result.finite
    torch.testing.assert_close(weights_of(learner), spoilt, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(moments_of(learner.optimizer), moments, rtol=0, atol=0)

    # The next update with good numbers works again.
    learner.loss.model.load_state_dict(before)
    assert learner.update(STEP, 3).finite
    assert not torch.equal(weights_of(learner)["decoder.norm.bias"], before["decoder.norm.bias"])


def test_an_update_depends_on_its_number_and_not_on_earlier_random_numbers() -> None:
    step = step_of([rows_of(random_pairs(8), pairs_a_row=4)])
    losses = []
    for number in (1, 1, 2):
        torch.rand(3)  # another state of the generator
        losses.append(learner_of(dropout=0.3).update(step, number).token_losses[0])
    assert torch.equal(losses[0], losses[1])
    assert not torch.equal(losses[0], losses[2])


def test_random_numbers_depend_on_seed_update_and_rank() -> None:
    draws = set()
    for arguments in ((1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1)):
        seed_update(*arguments)
        draws.add(torch.rand(1).item())
    assert len(draws) == 4


def test_dropout_and_r_drop_start_at_their_update() -> None:
    learner = learner_of(dropout=0.3, schedule=ScheduleSettings(1e-2, "constant", dropout_from=2))
    learner.loss.r_drop = 1.0
    rows_of_passes: list[int] = []
    embedding = learner.loss.model.source_embedding
    embedding.register_forward_pre_hook(lambda _, inputs: rows_of_passes.append(len(inputs[0])))
    for number in (1, 2):
        learner.update(step_of(MICRO_BATCHES[:1]), number)
    assert rows_of_passes == [1, 2], "the second update has each row twice"
