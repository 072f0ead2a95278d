"""Advice from validation losses: the state of the training, and the change that would help most."""

import math
from collections.abc import Sequence
from typing import Final

Losses = Sequence[Sequence[float]]
"""The update and the loss of each validation, in order."""
_GAIN: Final = 0.01  # smallest relative change of the loss that counts
_FAR: Final = 0.7  # nats between training and validation loss above which the model overfits


def how_it_goes(losses: Losses) -> str:
    """Return a line on the trend up to the last of `losses`."""
    (_, loss), (best_step, best) = losses[-1], min(losses, key=lambda one: one[1])
    if loss > best * (1 + _GAIN):
        risen = f"the loss on unseen text has risen from {best:.2f} to {loss:.2f}"
        return f"overfitting since step {best_step:,.0f}: {risen}"
    if len(losses) == 1:
        return f"the loss on unseen text is {loss:.2f}; the next validation shows its trend"
    before = min(one[1] for one in losses[:-1])
    if loss < before * (1 - _GAIN):
        return f"still learning: the loss on unseen text fell from {before:.2f} to {loss:.2f}"
    return f"levelling off: the loss on unseen text is {loss:.2f}, after {before:.2f}"


def what_would_help(losses: Losses, training_loss: float) -> str:
    """Return a line on the change that would most improve the next model, from validation and training loss."""
    (_, loss), (best_step, best) = losses[-1], min(losses, key=lambda one: one[1])
    gap = f"the loss is {training_loss:.2f} on the training text and {loss:.2f} on unseen text"
    if math.isnan(training_loss):
        gap = f"the loss on unseen text is {loss:.2f}"
    if loss > best * (1 + _GAIN) or loss - training_loss > _FAR:
        since = f"the model fits unseen text best at step {best_step:,.0f}" if loss > best * (1 + _GAIN) else gap
        return f"more text ({since}); with this text, more model.dropout, or a smaller model"
    if len(losses) == 1 or loss < min(one[1] for one in losses[:-1]) * (1 - _GAIN):
        state = "one validation shows no trend" if len(losses) == 1 else "the model was still learning"
        return f"more time (training.max_steps, and max_minutes if set): {state}, and {gap}"
    return f"a larger model (model.d_model, layers): this one has stopped improving, and {gap}"
