"""The encoder-decoder Transformer (Vaswani et al. 2017), from token ids to logits.

B batch, S source length, T target length, D model width, V vocabulary
R rows of a search: W in a run for each of B sentences
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.masks import MaskGenerator
from translator.model.attention import AttentionKernel, CrossAttention, SelfAttention
from translator.model.cache import DecoderCache
from translator.model.decoder import AttentionWeights, DecoderStack
from translator.model.embedding import Embedding
from translator.model.encoder import EncoderStack
from translator.model.initialisation import init_weights
from translator.model.packing import Layout


class Transformer(nn.Module):
    """A translation model: embeddings, encoder, decoder and output head.

    A tied weight is held once, under one name, so that a saved model holds it once.

    Args:
        config: sizes and choices.
        source_vocabulary: tokens that may stand in the source.
        target_vocabulary: V, tokens that may stand in the target; the head has just as many outputs.
    """

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        shared = config.tied_embeddings == "all"
        assert not shared or source_vocabulary == target_vocabulary, "one embedding needs one vocabulary"
        self.max_positions = config.max_positions
        self.masks = MaskGenerator()
        self.source_embedding = Embedding(source_vocabulary, config)
        self.own_target_embedding = None if shared else Embedding(target_vocabulary, config)
        self.encoder = EncoderStack(config)
        self.decoder = DecoderStack(config)
        tied = config.tied_embeddings != "none"
        self.own_head = None if tied else nn.Linear(config.d_model, target_vocabulary, bias=False)
        self.prepared_head: nn.Module | None = None
        """What computes the logits in a model that was prepared for a search (see `translator.model.prepared`)."""
        init_weights(self, self.own_head)

    @property
    def target_embedding(self) -> Embedding:
        """The embedding of the target, which is the source's when all embeddings are tied."""
        return self.source_embedding if self.own_target_embedding is None else self.own_target_embedding

    @property
    def head_weight(self) -> Tensor:
        """(V, D) the output head, which is the target's embedding when they are tied."""
        return self.target_embedding.tokens.weight if self.own_head is None else self.own_head.weight

    def use_attention(self, kernel: AttentionKernel) -> None:
        """Compute attention with `kernel` (see `translator.model.attention.attend`), but in a step of a search."""
        for module in self.modules():
            if isinstance(module, SelfAttention | CrossAttention):
                module.kernel = kernel

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits of each next target token, given all before it (teacher forcing).

        Args:
            source: (B, S) int64 ids, EOS at the end, filled with PAD.
            target_input: (B, T) int64 ids, SOS first, filled with PAD.

        Returns:
            (B, T, V); row t speaks of the token that follows `target_input[:, t]`. Rows at PAD mean nothing.

        Raises:
            InputError: a side is longer than `max_positions`.
        """
        masks = self.masks(source, target_input)
        memory = self.encode(source, masks.encoder)
        return self.project(self.decode(target_input, memory, masks.decoder, masks.cross))

    def states(self, source: Tensor, target_input: Tensor, layouts: tuple[Layout, Layout]) -> Tensor:
        """Return the decoder's states for all target positions, computed in the given layouts of source and target.

        Args:
            source: (B, S) int64 ids, EOS at the end, filled with PAD.
            target_input: (B, T) int64 ids, SOS first, filled with PAD.
            layouts: of `source` and `target_input`.

        Returns:
            What the target's layout makes of (B, T, D).

        Raises:
            InputError: a side is longer than `max_positions`.
        """
        masks = self.masks(source, target_input)
        of_source, of_target = layouts
        memory = self.encoder(of_source.pack(self.source_embedding(source)), masks.encoder, layout=of_source)
        x = of_target.pack(self.target_embedding(target_input))
        states: Tensor = self.decoder(x, memory, masks.decoder, masks.cross, layout=of_target, memory_layout=of_source)
        return states

    def encode(self, source: Tensor, encoder_mask: Tensor, weights: AttentionWeights | None = None) -> Tensor:
        """Return the memory (B, S, D) of `source` (B, S) under `encoder_mask` (B, 1, 1, S), True = may attend.

        Raises:
            InputError: `source` is longer than `max_positions`.
        """
        own = None if weights is None else weights.encoder
        memory: Tensor = self.encoder(self.source_embedding(source), encoder_mask, own)
        return memory

    def decode(
        self,
        target_input: Tensor,
        memory: Tensor,
        decoder_mask: Tensor,
        cross_mask: Tensor,
        weights: AttentionWeights | None = None,
    ) -> Tensor:
        """Return the decoder's states for all target positions at once.

        Args:
            target_input: (B, T) int64 ids, SOS first.
            memory: (B, S, D) from `encode`.
            decoder_mask: (B, 1, T, T) bool, True = may attend.
            cross_mask: (B, 1, 1, S) bool, True = may attend.
            weights: filled with the attention weights of each layer, on request.

        Returns:
            (B, T, D).

        Raises:
            InputError: `target_input` is longer than `max_positions`.
        """
        x = self.target_embedding(target_input)  # (B, T, D)
        states: Tensor = self.decoder(x, memory, decoder_mask, cross_mask, weights)
        return states

    def project(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for decoder states (..., D)."""
        if self.prepared_head is not None:
            logits: Tensor = self.prepared_head(states)
            return logits
        return F.linear(states, self.head_weight)

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> AttentionWeights:
        """Return where every layer looks, for `source` (B, S) and `target_input` (B, T).

        Raises:
            InputError: a side is longer than `max_positions`.
        """
        weights = AttentionWeights()
        masks = self.masks(source, target_input)
        memory = self.encode(source, masks.encoder, weights)
        self.decode(target_input, memory, masks.decoder, masks.cross, weights)
        return weights

    @torch.no_grad()
    def start(self, source: Tensor, width: int = 1) -> DecoderCache:
        """Encode `source` (B, S) and return the cache of a search with `width` rows for each sentence.

        Raises:
            InputError: `source` is longer than `max_positions`.
        """
        assert not self.training, "searching with dropout on: call eval() first"
        memory = self.encode(source, self.masks.encoder(source))
        return self.decoder.start(memory, self.masks.cross(source), width)

    @torch.no_grad()
    def step(self, tokens: Tensor, cache: DecoderCache) -> Tensor:
        """Take in one more token for each row and return the logits (R, V) of the token that follows it.

        Args:
            tokens: (R,) int64 ids, SOS at the first step; R = B * W.
            cache: from `start`; what was taken in before. It is changed.

        Raises:
            InputError: the target has reached `max_positions`.
        """
        alike = cache.length == 0 and cache.width > 1  # every row has SOS: one of a sentence speaks for all
        tokens = tokens[:: cache.width] if alike else tokens
        x = self.target_embedding(tokens.unsqueeze(1), cache.length).squeeze(1)  # (n * w, D)
        logits = self.project(self.decoder.step(x, cache))
        return logits.repeat_interleave(cache.width, dim=0) if alike else logits
