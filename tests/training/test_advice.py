"""The description of a run's progress, and the advice, follow from its losses."""

import pytest

from translator.training.advice import how_it_goes, what_would_help


@pytest.mark.parametrize(
    ("losses", "training", "course", "advice"),
    [
        ([4.0], 4.0, "the next validation shows", "one validation shows no trend"),
        ([4.0, 3.0], 3.0, "still learning: the loss on unseen text fell from 4.00 to 3.00", "more time"),
        ([4.0, 3.0, 2.99], 2.9, "levelling off", "a larger model"),
        ([4.0, 3.0, 2.99], 1.9, "levelling off", "more text (the loss is 1.90 on the training text and 2.99"),
        ([3.0, 2.0, 2.5, 2.01], 1.9, "levelling off", "a larger model"),
        ([4.0, 3.0, 3.5], 1.0, "overfitting since step 200", "more text (the model fits unseen text best at step 200)"),
    ],
)
def test_advice_follows_from_the_losses(losses: list[float], training: float, course: str, advice: str) -> None:
    points = [[100.0 * number, loss] for number, loss in enumerate(losses, 1)]
    assert course in how_it_goes(points)
    assert advice in what_would_help(points, training)
