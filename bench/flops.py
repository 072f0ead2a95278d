"""The floating-point operations of training, for the model FLOPs utilisation (MFU)."""

import numpy as np
from numpy.typing import ArrayLike

from translator.config import ModelConfig


class StepFlops:
    """Computes the useful operations of the matrix products of training, from the lengths of the sentences.

    Useful are those on real tokens. The operations on PAD, and on pairs of positions that a mask excludes, such as
    those of two sentences in a row, do not count; later positions of the same sentence do.
    A product of (n, i) and (i, j) takes 2·n·i·j operations; the backward pass takes twice as many:

        encoder layer, each source token     2 · (4·D² + A·D·F)
        decoder layer, each target token     2 · (6·D² + A·D·F)     self-attention 4·D², query and output of cross 2·D²
                       each source token     2 · 2·D²               keys and values of cross-attention
        attention,     each pair             4·D · S², 4·D · T², 4·D · T·S    scores and mixing, of every layer
        output head,   each target token     2 · D·V

    A number of matrices in the feed-forward sublayer: 2, or 3 for `swiglu`
    D model width, F feed-forward width, V target vocabulary, S source length, T target length
    """

    def __init__(self, config: ModelConfig, target_vocabulary: int) -> None:
        width = config.d_model
        matrices = 3 if config.activation == "swiglu" else 2
        feed_forward = matrices * width * config.feed_forward
        encoder = config.encoder_layers * (4 * width**2 + feed_forward)
        decoder = config.decoder_layers * (6 * width**2 + feed_forward)
        cross_memory = config.decoder_layers * 2 * width**2
        self._source_token = 2 * (encoder + cross_memory)
        self._target_token = 2 * (decoder + width * target_vocabulary)
        self._encoder_attention = 4 * width * config.encoder_layers
        self._decoder_attention = 4 * width * config.decoder_layers

    def __call__(self, source_lengths: ArrayLike, target_lengths: ArrayLike) -> float:
        """Return the operations of forward and backward pass for N pairs.

        Args:
            source_lengths: (N,) tokens of each source sentence, EOS included.
            target_lengths: (N,) tokens of each target sentence, EOS included.
        """
        source = np.asarray(source_lengths, dtype=np.float64)
        target = np.asarray(target_lengths, dtype=np.float64)
        linear = self._source_token * source.sum() + self._target_token * target.sum()
        over_source = self._encoder_attention * (source * source).sum()
        over_target = self._decoder_attention * (target * target + target * source).sum()
        return 3 * float(linear + over_source + over_target)
