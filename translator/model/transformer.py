"""The encoder-decoder Transformer (Vaswani et al. 2017), from token ids to logits.

R rows, S source positions, T target positions, D model width, V target vocabulary
In a search: B sentences, one per row; n of them unfinished, with W hypotheses of each; w is 1 at the first step, then W
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.data.batch import Batch
from translator.errors import InputError
from translator.masks import MaskGenerator, Masks, one_sentence_a_row
from translator.model.attention import KERNELS, KernelName, MultiHeadAttention
from translator.model.cache import DecoderCache
from translator.model.decoder import AttentionWeights, DecoderStack
from translator.model.embedding import Embedding
from translator.model.encoder import EncoderStack
from translator.model.initialization import init_weights


class Transformer(nn.Module):
    """A translation model: embeddings, encoder, decoder and output head.

    A tied weight exists once, under one name, also in a saved model. V = `target_vocabulary`. All methods with token
    ids raise InputError if a row is longer than `max_positions`.
    """

    def __init__(
        self,
        config: ModelConfig,
        source_vocabulary: int,
        target_vocabulary: int,
    ) -> None:
        super().__init__()
        shared = config.tied_embeddings == "all"
        assert not shared or source_vocabulary == target_vocabulary, "one embedding needs one vocabulary"
        self.max_positions = config.max_positions
        self.masks = MaskGenerator()
        self.source_embedding = Embedding(source_vocabulary, config)
        self.own_target_embedding = None if shared else Embedding(target_vocabulary, config)
        self.encoder = EncoderStack(config)
        self.decoder = DecoderStack(config)
        self.own_head: nn.Linear | None = None
        if config.tied_embeddings == "none":
            self.own_head = nn.Linear(config.d_model, target_vocabulary, bias=False)
            nn.init.normal_(self.own_head.weight, std=config.d_model**-0.5)
        init_weights(self)

    @property
    def target_embedding(self) -> Embedding:
        """The target embedding; the source embedding if all embeddings are tied."""
        return self.source_embedding if self.own_target_embedding is None else self.own_target_embedding

    @property
    def head_weight(self) -> Tensor:
        """The weight (V, D) of the output head; the target embedding if they are tied."""
        return self.target_embedding.tokens.weight if self.own_head is None else self.own_head.weight

    def use_attention(self, name: KernelName) -> None:
        """Compute attention with the kernel `name` (see `attention.py`); a search step always uses the plain one."""
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.kernel = KERNELS[name]

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits of each next target token, given all tokens before it, for one sentence per row.

        Args:
            source: (R, S) int64 ids, each row ended by EOS and padded with PAD.
            target_input: (R, T) int64 ids, SOS first, padded with PAD.

        Returns:
            (R, T, V): at position t, the logits of the token after `target_input[:, t]`. Those at PAD are meaningless.
        """
        masks = self.masks(one_sentence_a_row(source), one_sentence_a_row(target_input))
        memory = self.encode(source, _positions(source), masks.encoder)
        states = self.decode(target_input, _positions(target_input), memory, masks)
        return self.project(states)

    def states(self, batch: Batch) -> Tensor:
        """Return the decoder's states (R, L, D) for rows of several sentences; those at PAD are meaningless."""
        masks = self.masks(batch.source_sentence, batch.target_sentence)
        memory = self.encode(batch.source, batch.source_position, masks.encoder)
        return self.decode(batch.target_input, batch.target_position, memory, masks)

    def encode(
        self,
        source: Tensor,
        position: Tensor,
        mask: Tensor,
        weights: AttentionWeights | None = None,
    ) -> Tensor:
        """Return the memory (R, S, D), which the decoder attends to.

        Args:
            source: (R, S) int64 ids.
            position: (R, S) int64, the index of each token in its sentence.
            mask: (R, 1, S, S) bool, True = may attend.
            weights: if given, the attention weights of each layer are appended to it.
        """
        self._check_length(source.size(1))
        x = self.source_embedding(source, position)
        memory: Tensor = self.encoder(x, position, mask, None if weights is None else weights.encoder)
        return memory

    def decode(
        self,
        target_input: Tensor,
        position: Tensor,
        memory: Tensor,
        masks: Masks,
        weights: AttentionWeights | None = None,
    ) -> Tensor:
        """Return the decoder's states (R, T, D).

        Args:
            target_input: (R, T) int64 ids, SOS before each sentence.
            position: (R, T) int64, the index of each token in its sentence.
            memory: (R, S, D), the result of `encode`.
            masks: True = may attend.
            weights: if given, the attention weights of each layer are appended to it.
        """
        self._check_length(target_input.size(1))
        x = self.target_embedding(target_input, position)
        states: Tensor = self.decoder(x, position, memory, masks, weights)
        return states

    def project(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for decoder states (..., D)."""
        if self.own_head is None:
            return F.linear(states, self.head_weight)
        logits: Tensor = self.own_head(states)
        return logits

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> AttentionWeights:
        """Return the attention weights of every layer; arguments as in `forward`."""
        weights = AttentionWeights()
        masks = self.masks(one_sentence_a_row(source), one_sentence_a_row(target_input))
        memory = self.encode(source, _positions(source), masks.encoder, weights)
        self.decode(target_input, _positions(target_input), memory, masks, weights)
        return weights

    @torch.no_grad()
    def start(self, source: Tensor, width: int = 1) -> DecoderCache:
        """Encode `source` (B, S), one sentence per row; return the cache of a search with `width` hypotheses each."""
        assert not self.training, "dropout is on during a search: call eval() first"
        sentence = one_sentence_a_row(source)
        encoder_mask = self.masks.encoder(sentence)
        memory = self.encode(source, _positions(source), encoder_mask)
        # One query stands for all target positions: each may attend to the whole source sentence.
        query_sentence = sentence.new_ones(len(source), 1)
        cross_mask = self.masks.cross(query_sentence, sentence)  # (B, 1, 1, S)
        return self.decoder.start(memory, cross_mask, width)

    @torch.no_grad()
    def step(self, tokens: Tensor, cache: DecoderCache) -> Tensor:
        """Return the logits (n * W, V) of the tokens after `tokens` (n * W,) int64, which are SOS at the first step."""
        self._check_length(cache.length + 1)
        # At the first step all W hypotheses of a sentence are SOS: compute one of them.
        shares_sos = cache.length == 0 and cache.width > 1
        if shares_sos:
            tokens = tokens[:: cache.width]
        position = torch.full((1, 1), cache.length, device=tokens.device)
        x = self.target_embedding(tokens.unsqueeze(1), position)  # (n * w, 1, D)
        x = x.view(cache.count, -1, x.size(2))  # (n, w, D)
        states = self.decoder.step(x, cache).flatten(0, 1)
        logits = self.project(states)
        if shares_sos:
            logits = logits.repeat_interleave(cache.width, dim=0)
        return logits

    def _check_length(self, length: int) -> None:
        if length > self.max_positions:
            raise InputError(
                f"a sequence of {length} tokens is longer than the {self.max_positions} positions of this model; "
                "split the sentence, or train with a larger model.max_positions"
            )


def _positions(tokens: Tensor) -> Tensor:
    """Return (R, L) int64: the index of each token, for `tokens` (R, L) with one sentence per row."""
    return torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
