"""Floating point operations of a training step, by arithmetic: what a machine's matrix rate is compared with.

A product of (n, i) and (i, j) takes 2·n·i·j operations: one multiplication and one addition for each of n·i·j terms.

    encoder layer, each source token     2 · (4·D² + A·D·F)
    decoder layer, each target token     2 · (6·D² + A·D·F)     self-attention 4·D², query and output of the other 2·D²
                   each source token     2 · 2·D²               keys and values of the other
    attention,     each pair             4·D · S², 4·D · T², 4·D · T·S    scores and mixing, of every layer
    output head,   each target token     2 · D·V

A is 2 for two matrices in the feed-forward sublayer and 3 for `swiglu`. The backward pass takes each product twice,
once for the gradient of its input and once for that of its weight. Left out is what is no matrix product: norms,
softmax, dropout, activations, the loss, the optimizer. A causal kernel may skip half of T², and a fused one may compute
the scores a second time on its way back; neither is counted.

D model width, F feed-forward width, V target vocabulary, S source length, T target length, N sentences
"""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from translator.config import ModelConfig

_FORWARD_AND_BACKWARD: Final = 3


class StepFlops:
    """Counts the operations of training on sentences.

    Args:
        config: sizes of the model.
        target_vocabulary: V.
    """

    def __init__(self, config: ModelConfig, target_vocabulary: int) -> None:
        width = config.d_model
        matrices = 3 if config.activation == "swiglu" else 2
        feed_forward = matrices * width * config.feed_forward
        encoder = config.encoder_layers * (4 * width**2 + feed_forward)
        decoder = config.decoder_layers * (6 * width**2 + feed_forward)
        self._source_token = _FORWARD_AND_BACKWARD * 2 * (encoder + config.decoder_layers * 2 * width**2)
        self._target_token = _FORWARD_AND_BACKWARD * 2 * (decoder + width * target_vocabulary)
        self._encoder_attention = _FORWARD_AND_BACKWARD * 4 * width * config.encoder_layers
        self._decoder_attention = _FORWARD_AND_BACKWARD * 4 * width * config.decoder_layers

    def __call__(self, source_lengths: ArrayLike, target_lengths: ArrayLike) -> float:
        """Return the operations of forward and backward.

        Args:
            source_lengths: (N,) tokens of each source, EOS counted; the width of its batch, to count padding too.
            target_lengths: (N,) the same of each target.
        """
        source = np.asarray(source_lengths, dtype=np.float64)
        target = np.asarray(target_lengths, dtype=np.float64)
        linear = self._source_token * source.sum() + self._target_token * target.sum()
        over_source = self._encoder_attention * (source * source).sum()
        over_target = self._decoder_attention * (target * target + target * source).sum()
        return float(linear + over_source + over_target)
