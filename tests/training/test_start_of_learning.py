"""A deep model of either norm order starts where it should, and learns from its first updates on."""

import math

import pytest
import torch
import torch.nn.functional as F

from translator.config import ModelConfig, TrainingConfig
from translator.model import Transformer
from translator.special_tokens import SOS
from translator.training.optimizer import ModelOptimizer
from translator.training.schedule import learning_rate

VOCABULARY = 20
DEEP = ModelConfig(
    d_model=64, heads=4, encoder_layers=6, decoder_layers=6, feed_forward=128, dropout=0.0, max_positions=16
)


# A tied head first favours the token just read (see `initialisation`), which is here always SOS, and never right.
@pytest.mark.parametrize(("tied", "surplus"), [("none", 0.7), ("target", 2.0)])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_twelve_layers_start_near_log_v_and_learn_while_they_warm_up(norm: str, tied: str, surplus: float) -> None:
    """The target is the word that the source repeats: nothing but a path through all twelve layers can tell it."""
    torch.manual_seed(1)
    model = Transformer(DEEP.model_copy(update={"norm": norm, "tied_embeddings": tied}), VOCABULARY, VOCABULARY)
    settings = TrainingConfig(learning_rate=1e-3, warmup_steps=15, max_steps=25)
    optimizer = ModelOptimizer(model, settings)
    losses = []
    for step in range(1, settings.max_steps + 1):
        words = torch.randint(4, VOCABULARY, (32, 1))
        logits = model(words.repeat(1, 3), torch.full((32, 1), SOS))  # (32, 1, V)
        loss = F.cross_entropy(logits.flatten(0, 1), words.flatten())
        torch.autograd.backward(loss)
        optimizer.update(learning_rate(step, settings), torch.tensor(1.0), torch.tensor(True), None)
        losses.append(loss.item())
    assert math.log(VOCABULARY) - 0.3 < losses[0] < math.log(VOCABULARY) + surplus
    assert sum(losses[-3:]) / 3 < 0.3
