"""The advice at the end of a run follows from its losses."""

import pytest

from translator.training.monitoring.advice import Losses, what_would_help


def validations(losses: list[float]) -> Losses:
    return [[100.0 * number, loss] for number, loss in enumerate(losses, 1)]


@pytest.mark.parametrize("rate_decays", [True, False])
@pytest.mark.parametrize(
    ("losses", "training", "advice"),
    [
        ([4.0, 3.0, 2.99], 1.9, "more text (the loss is 1.90 on the training text and 2.99"),
        ([4.0, 3.0, 3.5], 1.0, "more text (the model fits unseen text best at step 200)"),
    ],
)
def test_a_model_that_overfits_needs_text(losses: list[float], training: float, advice: str, rate_decays: bool) -> None:
    assert advice in str(what_would_help(validations(losses), training, rate_decays=rate_decays))


@pytest.mark.parametrize(
    ("losses", "advice"),
    [([4.0, 3.0], "more time"), ([4.0, 3.0, 2.99], "a larger model"), ([3.0, 2.0, 2.5, 2.01], "a larger model")],
)
def test_a_loss_at_a_constant_rate_tells_what_the_model_lacks(losses: list[float], advice: str) -> None:
    assert advice in str(what_would_help(validations(losses), losses[-1], rate_decays=False))


@pytest.mark.parametrize(("losses", "rate_decays"), [([4.0], False), ([4.0, 3.0], True), ([4.0, 3.0, 2.99], True)])
def test_without_evidence_there_is_no_advice(losses: list[float], rate_decays: bool) -> None:
    assert what_would_help(validations(losses), losses[-1], rate_decays=rate_decays) is None


def test_the_first_updates_tell_nothing() -> None:
    losses = [[8.0, 4.0], [9.0, 4.5]]
    assert what_would_help(losses, 3.0, rate_decays=False) is None
