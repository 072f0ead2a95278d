"""The arithmetic that training a Transformer needs, counted from its sizes and its real tokens: padding is no work.

D model width, F feed-forward width, V vocabulary
"""

import numpy as np
from numpy.typing import NDArray

from translator.config import ModelConfig

_PASSES = 3
"""The backward pass multiplies twice for every product of the forward pass: for the states and for the weights."""


def training_flops(
    config: ModelConfig, vocabulary: int, source_lengths: NDArray[np.int64], target_lengths: NDArray[np.int64]
) -> float:
    """Return the floating-point operations of matrix products in forward and backward over some pairs.

    A multiplication and an addition are two. Every query is taken to meet every key of its sentence; embeddings, norms,
    softmax, dropout and the optimizer are left out.

    Args:
        config: sizes.
        vocabulary: V of the target.
        source_lengths: (B,) real tokens of each source.
        target_lengths: (B,) real tokens of each target.
    """
    width, inner = config.d_model, config.feed_forward
    source, target = source_lengths.astype(np.float64), target_lengths.astype(np.float64)
    feed_forward = (3 if config.activation == "swiglu" else 2) * width * inner
    attention = 2 * width  # scores and context, for each pair of a query and a key
    encoder = (4 * width**2 + feed_forward) * source.sum() + attention * (source**2).sum()
    decoder = (6 * width**2 + feed_forward) * target.sum() + 2 * width**2 * source.sum()
    decoder += attention * ((target**2).sum() + (source * target).sum())
    head = width * vocabulary * target.sum()
    return float(2 * _PASSES * (config.encoder_layers * encoder + config.decoder_layers * decoder + head))
