"""The learner of a run, in the forms of the core that suit its device."""

from typing import Final

import torch

from translator.config import Config
from translator.core.batch import Batch
from translator.core.loss import Losses, TeacherForcing
from translator.core.optimizer import ModelOptimizer
from translator.core.transformer import Transformer
from translator.core.update import ForwardBackward, Gradients, Learner, forward_backward
from translator.speed.attention import plain_attention
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.compiling import compile_loss
from translator.speed.device import autocast
from translator.speed.dropout import use_fast_dropout
from translator.speed.gradients import FlatGradients
from translator.speed.graph import CapturedForwardBackward
from translator.speed.loss_scale import ScaledOptimizer
from translator.speed.muon import muon_of
from translator.training.distributed import Distributed
from translator.training.precision import Choices

LONGEST_PLAIN: Final = 256
"""Longest row for which a CPU uses the plain kernel, whose weights take memory in proportion to the row length."""


def build_learner(
    config: Config,
    vocabularies: tuple[int, int],
    device: torch.device,
    choices: Choices,
    distributed: Distributed,
) -> Learner:
    """Return the learner of a rank, with random weights.

    Args:
        config: the recipe.
        vocabularies: the numbers of pieces of source and target.
        device: the device of this rank.
        choices: the settings that suit the machine.
        distributed: the ranks that share each update.
    """
    # 1. The model and its loss.
    settings = config.training
    model = build_model(config, vocabularies, device)
    loss = TeacherForcing(model, settings.label_smoothing, settings.r_drop, head_loss=blockwise_head_loss)
    if choices.compile:
        loss = compile_loss(loss)  # with the plain head loss, which compilation makes fast

    # 2. What trains it: plain forms, or those of `speed/`.
    return Learner(
        loss=loss,
        optimizer=_optimizer_of(model, config, choices),
        gradients=_gradients_of(model, device, distributed, config),
        schedule=settings.schedule_settings,
        clip=settings.gradient_clip,
        seed=config.run.seed,
        rank=distributed.rank,
        forward_backward=_forward_backward(choices),
    )


def build_model(config: Config, vocabularies: tuple[int, int], device: torch.device) -> Transformer:
    """Return the model with random weights, in the forms of the core that suit `device`."""
    model = Transformer(config.model.settings, *vocabularies).to(device)
    if device.type == "cpu":
        use_fast_dropout(model)
        if config.batching.max_length <= LONGEST_PLAIN:
            model.use_attention(plain_attention)
    return model


def _optimizer_of(model: Transformer, config: Config, choices: Choices) -> ModelOptimizer:
    """Return AdamW for all weights, or Muon for the matrices of layers; in fp16, with a loss scale."""
    settings = config.training
    extra: dict[str, torch.optim.Optimizer] = {}
    if settings.optimizer == "muon":
        extra["muon"] = muon_of(model, settings.weight_decay)
    kind = ScaledOptimizer if choices.precision == "fp16" else ModelOptimizer
    return kind(model, settings.optimizer_settings, extra)


def _gradients_of(model: Transformer, device: torch.device, distributed: Distributed, config: Config) -> Gradients:
    """Return the gradients of `model`: in one buffer for a GPU and for several ranks."""
    if device.type == "cpu" and distributed.world_size == 1:
        return Gradients(model.parameters())
    return FlatGradients(model.parameters(), distributed.sum_in_place, config.training.gradient_exchange)


def _forward_backward(choices: Choices) -> ForwardBackward:
    """Return the pass over a batch in the chosen precision, as a CUDA graph if `choices` say so."""

    def pass_over(loss: TeacherForcing, gradients: Gradients, batch: Batch, weight: torch.Tensor) -> torch.Tensor:
        def loss_in_precision(batch: Batch) -> Losses:
            with autocast(weight.device, choices.precision):
                return loss(batch)

        return forward_backward(loss_in_precision, gradients, batch, weight)

    return CapturedForwardBackward(pass_over) if choices.capture else pass_over
