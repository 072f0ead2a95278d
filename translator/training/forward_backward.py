"""The forward and backward pass over one micro-batch."""

import torch
from torch import Tensor

from translator.data.batch import Batch
from translator.model.device import Arithmetic
from translator.training.gradients import Gradients
from translator.training.loss import TeacherForcing


def forward_backward(
    loss: TeacherForcing,
    arithmetic: Arithmetic,
    gradients: Gradients,
    batch: Batch,
    weight: Tensor,
) -> Tensor:
    """Add the gradients of one micro-batch to `gradients`; return the loss of each token (R, L) in nats.

    Args:
        loss: the training loss of the model.
        arithmetic: device and precision of the forward pass.
        gradients: those of the model.
        batch: on any device.
        weight: () factor of the gradients: 1 / target tokens of the whole update, times the loss scale.
    """
    batch = batch.to(arithmetic.device)
    with arithmetic.autocast():
        losses = loss(batch)
    gradients.add(torch.autograd.grad(losses.objective * weight, gradients.parameters))
    return losses.of_tokens
