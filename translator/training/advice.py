"""How a training goes, in plain words, from the losses of its validations; and what would help most."""

import math
from collections.abc import Sequence
from typing import Final

Losses = Sequence[Sequence[float]]
"""The update and the loss of each validation, in order."""
_GAIN: Final = 0.01  # share of the loss that counts as a change
_FAR: Final = 0.7  # nats by which the loss on unseen text exceeds the training loss of a model that overfits


def how_it_goes(losses: Losses) -> str:
    """Return a line on the last of `losses`."""
    (_, loss), (best_step, best) = losses[-1], min(losses, key=lambda one: one[1])
    if loss > best * (1 + _GAIN):
        risen = f"the loss on unseen text has risen from {best:.2f} to {loss:.2f}"
        return f"overfitting since step {best_step:,.0f}: {risen}"
    if len(losses) == 1:
        return f"the loss on unseen text is {loss:.2f}; the next validation tells where it goes"
    before = min(one[1] for one in losses[:-1])
    if loss < before * (1 - _GAIN):
        return f"still learning: the loss on unseen text fell from {before:.2f} to {loss:.2f}"
    return f"levelling off: the loss on unseen text is {loss:.2f}, after {before:.2f}"


def what_would_help(losses: Losses, training_loss: float) -> str:
    """Return a line on what would make the next model better, given also the last loss on the training text."""
    (_, loss), (best_step, best) = losses[-1], min(losses, key=lambda one: one[1])
    gap = f"the loss is {training_loss:.2f} on the training text and {loss:.2f} on unseen text"
    if len(losses) == 1 or math.isnan(training_loss):
        return "more validations (training.validate_every), which show how the loss on unseen text goes"
    if loss > best * (1 + _GAIN) or loss - training_loss > _FAR:
        since = f"the model fits unseen text best at step {best_step:,.0f}" if loss > best * (1 + _GAIN) else gap
        return f"more text ({since}); with this text, more model.dropout, or a smaller model"
    if loss < min(one[1] for one in losses[:-1]) * (1 - _GAIN):
        return f"more time (training.max_steps, and max_minutes if it is set): the model was still learning, and {gap}"
    return f"a larger model (model.d_model, layers): this one no longer learns, and {gap}"
