"""Models made ready to search: weights of linear layers laid out, and quantized, as products are fastest.

Training wants a weight as it is learned; a search multiplies a few rows at a time with weights that stay. On a CPU they
are laid out transposed in float32, which changes no product; in bf16 and int8 they are packed once into the layout of
the matrix library. Only the products are rounded, and in bf16 what stands between the two of a feed-forward sublayer:
residual sums, norms, attention and scores stay float32.
"""

import copy
from typing import Any

from torch import nn

from translator.model.feed_forward import FeedForward
from translator.model.prepared_linear import PreparedLinear, PreparedPrecision
from translator.model.transformer import Transformer


def prepare(model: Transformer, precision: PreparedPrecision = "float32") -> Transformer:
    """Return a copy of `model` that is made to be searched, in evaluation mode; `model` is left as it is.

    The copy has no weights of its linear layers to save or train; change the model, and prepare it anew.

    Args:
        model: on a CPU, or on a GPU.
        precision: of the products; `int8` is of the CPU.
    """
    if model.head_weight.is_cuda and precision == "float32":
        return copy.deepcopy(model).eval()
    memo: dict[int, Any] = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            narrow = precision == "bf16" and any(
                feed_forward.inner is module
                for feed_forward in model.modules()
                if isinstance(feed_forward, FeedForward)
            )
            memo[id(module)] = PreparedLinear(module.weight, module.bias, precision, keep_type=narrow)
    prepared = copy.deepcopy(model, memo).eval()
    prepared.prepared_head = PreparedLinear(model.head_weight, None, precision)
    return prepared
