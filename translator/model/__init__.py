"""The network: token ids and masks in, logits out."""

from translator.model.decoder import AttentionWeights
from translator.model.transformer import Transformer

__all__ = ["AttentionWeights", "Transformer"]
