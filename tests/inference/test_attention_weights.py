"""The attention weights that a model has while it computes."""

import torch
from torch import Tensor

from tests.support.small_model import small_batch, small_model
from translator.core import EOS, SOS
from translator.core.attention import MultiHeadAttention
from translator.core.masks import one_sentence_a_row
from translator.inference.engines.torch_searcher import TorchSearcher, weights_of_layers


def test_attention_weights_of_each_layer_obey_the_masks_and_sum_to_one() -> None:
    model = small_model().eval()
    source, target_input, _ = small_batch()
    weights = weights_of_layers(model, source, target_input)
    masks = model.masks(one_sentence_a_row(source), one_sentence_a_row(target_input))
    counts = (len(model.encoder.layers), len(model.decoder.layers), len(model.decoder.layers))
    for layers, count, mask in zip(weights, counts, masks, strict=True):
        assert len(layers) == count
        for layer_weights in layers:
            assert layer_weights.size(2) == mask.size(2) and layer_weights.size(3) == mask.size(3)
            assert (layer_weights[~mask.expand_as(layer_weights)] == 0).all()
            sums = layer_weights.sum(-1)
            torch.testing.assert_close(sums, torch.ones_like(sums))


def test_asking_for_attention_leaves_the_kernel_of_the_model() -> None:
    model = small_model().eval()
    model.use_attention(attending_to_nothing)
    source, target_input, _ = small_batch()
    weights_of_layers(model, source, target_input)
    kernels = {module.kernel for module in model.modules() if isinstance(module, MultiHeadAttention)}
    assert kernels == {attending_to_nothing}


def attending_to_nothing(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float) -> Tensor:
    return torch.zeros_like(query)


def test_cross_attention_is_the_mean_over_heads_and_models_of_the_last_layer() -> None:
    models = [small_model().eval(), small_model(feed_forward=64).eval()]
    row, label = [5, 6, 7], [8, 9, EOS]
    (attended,) = TorchSearcher(models, torch.device("cpu")).cross_attention([row], [label])
    source, target_input = torch.tensor([[*row, EOS]]), torch.tensor([[SOS, *label[:-1]]])
    heads = [weights_of_layers(model, source, target_input).cross[-1][0] for model in models]  # (H, T, S) each
    expected = torch.cat(heads).mean(dim=0)
    torch.testing.assert_close(torch.from_numpy(attended), expected)
