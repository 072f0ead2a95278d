"""One update: the gradient of all micro-batches, clipping, skipping what is not finite, and dropout by its number."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.optimizer_steps import moments_of
from tests.support.small_model import random_pairs, rows_of, small_model
from tests.support.step_batches import step_of
from translator.core.batch import collate_rows
from translator.core.loss import TeacherForcing
from translator.core.optimizer import ModelOptimizer, OptimizerSettings, ScheduleSettings
from translator.core.update import Gradients, Learner

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
    optimizer = ModelOptimizer(model, OptimizerSettings())
    return Learner(TeacherForcing(model, 0.1), optimizer, Gradients(model.parameters()), schedule, clip)


def weights_of(learner: Learner) -> dict[str, Tensor]:
    return copy.deepcopy(learner.loss.model.state_dict())


class GradientDescent(ModelOptimizer):
    """Subtracts the gradient from the weights, divided as it should be."""

    @torch.no_grad()
    def update(self, rate: float, divisor: Tensor | float, finite: Tensor) -> None:
        for group in self.groups:
            for weight in group["params"]:
                weight.sub_(weight.grad / divisor)


@pytest.mark.parametrize("clip", [None, 0.01, 1e6])
def test_micro_batches_give_the_clipped_gradient_of_their_union_by_target_token_and_its_norm(
    clip: float | None,
) -> None:
    """Of three uneven batches as of all their rows at once: each token weighs the same."""
    model = small_model(dropout=0.0)
    union = collate_rows(ROWS, row_length=16)
    objective = TeacherForcing(model, 0.1)(union).objective / union.target_tokens
    expected = torch.autograd.grad(objective, list(model.parameters()))

    before = [weight.detach().clone() for weight in model.parameters()]
    optimizer = GradientDescent(model, OptimizerSettings())
    loss = TeacherForcing(model, 0.1)
    result = Learner(loss, optimizer, Gradients(model.parameters()), SCHEDULE, clip).update(STEP, 1)
    norm = nn.utils.get_total_norm(expected)
    assert norm > 0.01
    shortening = 1.0 if clip is None else min(1.0, clip / norm.item())
    gradients = [old - new.detach() for old, new in zip(before, model.parameters(), strict=True)]
    torch.testing.assert_close(gradients, [gradient * shortening for gradient in expected], rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(result.gradient_norm, norm, rtol=1e-4, atol=0)


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


def test_the_dropout_of_an_update_depends_on_seed_number_and_rank_alone() -> None:
    step = step_of([rows_of(random_pairs(8), pairs_a_row=4)])
    losses: set[float] = set()
    for seed, number, rank in ((1, 1, 0), (1, 1, 0), (2, 1, 0), (1, 2, 0), (1, 1, 1)):
        learner = replace(learner_of(dropout=0.3), seed=seed, rank=rank)
        torch.rand(len(losses))  # another state of the generator
        losses.add(learner.update(step, number).token_losses[0].sum().item())
    assert len(losses) == 4


def test_dropout_and_r_drop_start_at_their_update() -> None:
    learner = learner_of(dropout=0.3, schedule=ScheduleSettings(1e-2, "constant", dropout_from=2))
    learner.loss.r_drop = 1.0
    rows_of_passes: list[int] = []
    embedding = learner.loss.model.source_embedding
    embedding.register_forward_pre_hook(lambda _, inputs: rows_of_passes.append(len(inputs[0])))
    for number in (1, 2):
        learner.update(step_of(MICRO_BATCHES[:1]), number)
    assert rows_of_passes == [1, 2], "the second update has each row twice"
