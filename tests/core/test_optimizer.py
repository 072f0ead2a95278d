"""The optimizer of a model: AdamW, clipping, skipped updates, exact resumption, and the start of learning."""

import math
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support.optimizer_steps import (
    FINITE,
    RATE,
    backward,
    make_update,
    network,
)
from translator.core import SOS
from translator.core.layers import NetworkSettings, NormOrder
from translator.core.optimizer import EPSILON, ModelOptimizer, OptimizerSettings, ScheduleSettings, learning_rate
from translator.core.transformer import Transformer

SETTINGS = OptimizerSettings(weight_decay=0.1)
CLIP = 0.5  # below the norm of every gradient here


@pytest.mark.parametrize("clip", [None, CLIP, 1e6])
def test_updates_are_those_of_torchs_adamw_after_its_clipping(clip: float | None) -> None:
    model, expected = network(), network()
    optimizer = ModelOptimizer(model, OptimizerSettings(weight_decay=0.0))
    torch_optimizer = torch.optim.AdamW(expected.parameters(), RATE, betas=(0.9, 0.98), eps=EPSILON, weight_decay=0.0)
    for number in range(4):
        make_update(model, optimizer, number, clip)
        assert backward(expected, number) > CLIP
        if clip is not None:
            nn.utils.clip_grad_norm_(expected.parameters(), clip)
        torch_optimizer.step()
        torch_optimizer.zero_grad()
    torch.testing.assert_close(list(model.parameters()), list(expected.parameters()), rtol=1e-5, atol=1e-7)


def test_weight_decay_applies_to_matrices_only() -> None:
    dimensions: dict[float, list[int]] = {0.1: [], 0.0: []}
    for group in ModelOptimizer(network(), SETTINGS).groups:
        dimensions[group["weight_decay"]] += [weight.dim() for weight in group["params"]]
    assert dimensions == {0.1: [2, 2], 0.0: [1, 1, 1, 1]}


VOCABULARY = 20


@pytest.mark.parametrize(("norm", "tied", "surplus"), [("pre", "none", 1.0), ("post", "target", 2.0)])
def test_twelve_layers_start_near_chance_loss_and_learn_during_warmup(
    norm: NormOrder, tied: Literal["none", "target"], surplus: float
) -> None:
    """The target is the word that the source repeats; only a path through all twelve layers can carry it."""
    torch.manual_seed(1)
    model = Transformer(
        NetworkSettings(64, 4, encoder_layers=6, decoder_layers=6, feed_forward=128, norm=norm, tied_embeddings=tied),
        VOCABULARY,
        VOCABULARY,
    )
    schedule = ScheduleSettings(learning_rate=1e-3, warmup_steps=15)
    optimizer = ModelOptimizer(model, OptimizerSettings())

    losses = []
    for step in range(1, 26):
        words = torch.randint(4, VOCABULARY, (32, 1))
        source = words.repeat(1, 3)
        target_input = torch.full((32, 1), SOS)
        logits = model(source, target_input)  # (32, 1, V)
        loss = F.cross_entropy(logits.flatten(0, 1), words.flatten())
        torch.autograd.backward(loss)
        optimizer.update(learning_rate(step, schedule), 1.0, FINITE)
        model.zero_grad()
        losses.append(loss.item())

    chance_loss = math.log(VOCABULARY)
    assert chance_loss - 0.3 < losses[0] < chance_loss + surplus
    assert sum(losses[-3:]) / 3 < 0.3
