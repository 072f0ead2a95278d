"""Advice from validation losses: the state of the training, and the change that would help most."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Losses = Sequence[Sequence[float]]
"""The update and the loss of each validation, in order."""
_GAIN: Final = 0.01  # smallest relative change of the loss that counts
_OVERFITTING_GAP: Final = 0.7  # nats between training and validation loss above which the model overfits


@dataclass(frozen=True)
class _Trend:
    """The loss of the last validation among the losses of all, in nats."""

    loss: float  # of the last validation
    best_loss: float  # of all validations
    best_step: float
    earlier_best_loss: float | None  # of all validations before the last; None if there are none

    @property
    def rises(self) -> bool:
        return self.loss > self.best_loss * (1 + _GAIN)

    @property
    def falls(self) -> bool:
        return self.earlier_best_loss is not None and self.loss < self.earlier_best_loss * (1 - _GAIN)


def _trend(validations: Losses) -> _Trend:
    losses = [loss for _, loss in validations]
    best_loss = min(losses)
    best_step, _ = validations[losses.index(best_loss)]
    return _Trend(
        loss=losses[-1],
        best_loss=best_loss,
        best_step=best_step,
        earlier_best_loss=min(losses[:-1], default=None),
    )


def how_it_goes(losses: Losses) -> str:
    """Return a line on the trend up to the last of `losses`."""
    trend = _trend(losses)
    if trend.rises:
        change = f"from {trend.best_loss:.2f} to {trend.loss:.2f}"
        return f"overfitting since step {trend.best_step:,.0f}: the loss on unseen text has risen {change}"
    if trend.earlier_best_loss is None:
        return f"the loss on unseen text is {trend.loss:.2f}; the next validation shows its trend"
    if trend.falls:
        change = f"from {trend.earlier_best_loss:.2f} to {trend.loss:.2f}"
        return f"still learning: the loss on unseen text fell {change}"
    return f"levelling off: the loss on unseen text is {trend.loss:.2f}, after {trend.earlier_best_loss:.2f}"


def what_would_help(losses: Losses, training_loss: float) -> str:
    """Return a line on the change that would most improve the next model.

    Args:
        losses: the validations.
        training_loss: nats per target token; NaN if unknown.
    """
    trend = _trend(losses)
    comparison = f"the loss is {training_loss:.2f} on the training text and {trend.loss:.2f} on unseen text"
    if math.isnan(training_loss):
        comparison = f"the loss on unseen text is {trend.loss:.2f}"
    # A model that overfits lacks text. One that still learns lacks time. One that has stopped lacks size.
    more_text = "more text ({}); with this text, more model.dropout, or a smaller model"
    more_time = "more time (training.max_steps, and max_minutes if set): {}, and {}"
    if trend.rises:
        return more_text.format(f"the model fits unseen text best at step {trend.best_step:,.0f}")
    if trend.loss - training_loss > _OVERFITTING_GAP:
        return more_text.format(comparison)
    if trend.earlier_best_loss is None:
        return more_time.format("one validation shows no trend", comparison)
    if trend.falls:
        return more_time.format("the model was still learning", comparison)
    return f"a larger model (model.d_model, layers): this one has stopped improving, and {comparison}"
