"""The attention weights that a model has while it computes; tests/plots compares them with the masks."""

import torch

from tests.support.small_model import small_model
from translator.core import EOS, SOS
from translator.inference.engines.torch_searcher import TorchSearcher, weights_of_layers


def test_cross_attention_is_the_mean_over_heads_and_models_of_the_last_layer() -> None:
    models = [small_model().eval(), small_model(feed_forward=64).eval()]
    self_attention = models[0].encoder.layers[0].self_attention
    kernel = self_attention.kernel
    row, label = [5, 6, 7], [8, 9, EOS]
    attended = TorchSearcher(models, torch.device("cpu")).cross_attention(row, label)
    source, target_input = torch.tensor([[*row, EOS]]), torch.tensor([[SOS, *label[:-1]]])
    heads = [weights_of_layers(model, source, target_input).cross[-1][0] for model in models]  # (H, T, S) each
    expected = torch.cat(heads).mean(dim=0)
    torch.testing.assert_close(torch.from_numpy(attended), expected)
    torch.testing.assert_close(expected.sum(dim=-1), torch.ones(3))
    assert self_attention.kernel is kernel
