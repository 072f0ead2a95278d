"""Advice from validation losses: the change that would help the next model most."""

from collections.abc import Sequence
from typing import Final

Losses = Sequence[Sequence[float]]
"""The update and the loss of each validation, in order; losses in nats per target token."""
_GAIN: Final = 0.01  # smallest relative change of the loss that counts
_EARLY: Final = 100  # updates before which the losses tell nothing
_OVERFITTING_GAP: Final = 0.7  # nats between training and validation loss above which the model overfits


def what_would_help(losses: Losses, training_loss: float, *, rate_decays: bool) -> str | None:
    """Return a line on the change that would most improve the next model; None if the losses do not tell.

    Args:
        losses: the validations.
        training_loss: nats per target token; NaN if unknown.
        rate_decays: whether the learning rate falls to the end, so that the loss also falls and levels off with it.
    """
    step, loss = losses[-1]
    if step < _EARLY:
        return None
    comparison = f"the loss is {training_loss:.2f} on the training text and {loss:.2f} on unseen text"
    # A model that overfits lacks text. One that still learns lacks time. One that has stopped lacks size.
    more_text = "more text ({}); with this text, more model.dropout, or a smaller model"
    if _rises(losses):
        return more_text.format(f"the model fits unseen text best at step {_best(losses)[0]:,.0f}")
    if loss - training_loss > _OVERFITTING_GAP:
        return more_text.format(comparison)
    if rate_decays or len(losses) < 2:
        return None
    if _falls(losses):
        return "more time (training.max_steps, and max_minutes if set): the model was still learning"
    return "a larger model (model.d_model, layers): this one has stopped improving, and does not overfit"


def _best(losses: Losses) -> Sequence[float]:
    return min(losses, key=lambda validation: validation[1])


def _rises(losses: Losses) -> bool:
    return losses[-1][1] > _best(losses)[1] * (1 + _GAIN)


def _falls(losses: Losses) -> bool:
    return losses[-1][1] < _best(losses[:-1])[1] * (1 - _GAIN)
