"""The forward and backward pass over one micro-batch."""

from torch import Tensor

from translator.data.batch import Batch
from translator.model.device import Arithmetic
from translator.training.loss import TeacherForcing


def forward_backward(loss: TeacherForcing, arithmetic: Arithmetic, batch: Batch, weight: Tensor) -> Tensor:
    """Add the gradients of one micro-batch to those of the model; return the loss of each token (R, L) in nats.

    Args:
        loss: the training loss of the model.
        arithmetic: device and precision of the forward pass.
        batch: on any device.
        weight: () factor of the gradients: 1 / target tokens of the whole update, times the loss scale.
    """
    batch = batch.to(arithmetic.device)
    with arithmetic.autocast():
        losses = loss(batch)
    (losses.objective * weight).backward()  # type: ignore[no-untyped-call]
    return losses.of_tokens
