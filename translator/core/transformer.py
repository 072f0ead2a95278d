"""The encoder-decoder Transformer (Vaswani et al. 2017), from token ids to logits.

R rows, S source positions, T target positions, D model width, V target vocabulary
In a search: B sentences, one per row; n of them unfinished, with W hypotheses of each; w is 1 at the first step, then W
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.core import PAD
from translator.core.attention import AttentionKernel, FusedLinear, MultiHeadAttention
from translator.core.batch import Batch
from translator.core.cache import DecoderCache, LayerCache
from translator.core.layers import DecoderLayer, EncoderLayer, NetworkSettings, final_norm
from translator.core.masks import MaskGenerator, Masks, one_sentence_a_row
from translator.core.positions import PositionEncoding, RotaryPositions


class Embedding(nn.Module):
    """Looks tokens up, and adds their positions."""

    def __init__(self, vocabulary: int, settings: NetworkSettings) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, settings.d_model, padding_idx=PAD)
        self.positions = PositionEncoding(
            settings.d_model, settings.max_positions, settings.positions, settings.dropout
        )

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """Return (R, L, D) for `tokens` (R, L) int64 at `position` (R, L) int64, each below P."""
        y: Tensor = self.positions(self.tokens(tokens), position)
        return y


def _positions_of_layers(settings: NetworkSettings) -> RotaryPositions:
    """Return what the self-attention of all layers of a stack knows of positions."""
    return RotaryPositions(settings.d_model // settings.heads, settings.max_positions, settings.positions)


class EncoderStack(nn.Module):
    """All layers of the encoder, on embedded vectors."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        self.positions = _positions_of_layers(settings)
        layers = (EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.layers: Sequence[EncoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(settings.d_model, settings.norm)

    def forward(self, x: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        """Return the memory (R, S, D) of the embedded source `x` (R, S, D); see `Transformer.encode`."""
        rotation = self.positions(position)
        for layer in self.layers:
            x = layer(x, mask, rotation)
        y: Tensor = self.norm(x)
        return y


class DecoderStack(nn.Module):
    """All layers of the decoder, from embedded vectors to the states for the output head."""

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__()
        self.positions = _positions_of_layers(settings)
        layers = (DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.layers: Sequence[DecoderLayer] = nn.ModuleList(layers)  # type: ignore[assignment]  # it has no item type
        self.norm = final_norm(settings.d_model, settings.norm)

    def forward(self, x: Tensor, position: Tensor, memory: Tensor, masks: Masks) -> Tensor:
        """Return the states (R, T, D) of the embedded target input `x` (R, T, D); see `Transformer.decode`."""
        rotation = self.positions(position)
        for layer in self.layers:
            x = layer(x, memory, masks, rotation)
        y: Tensor = self.norm(x)
        return y

    def start(self, memory: Tensor, cross_mask: Tensor, width: int) -> DecoderCache:
        """Return an empty cache of `width` hypotheses per sentence.

        Args:
            memory: (B, S, D), the encoder's output for B sentences.
            cross_mask: (B, 1, 1, S) bool, True = may attend.
            width: W, the hypotheses of a sentence.
        """
        # Keys and values of the source are projected once; those of the target come step by step.
        layers = []
        for layer in self.layers:
            source = layer.cross_attention.project(memory)
            layers.append(LayerCache(source, width))
        heads = self.layers[0].self_attention.heads
        return DecoderCache(layers, cross_mask, heads, width, memory.dtype)

    def step(self, x: Tensor, position: Tensor, cache: DecoderCache) -> Tensor:
        """Return the states (n, w, D) of `x` (n, w, D), all at `position` (1, 1); add their keys and values to `cache`.

        The w hypotheses of a sentence stand where `forward` has the positions of a row: both are the queries that share
        its keys and values.
        """
        rotation = self.positions(position)
        # The layers compute in the order of the cache's lanes, so that its memory is read in place.
        biases = cache.begin_step()
        x = cache.to_lanes(x)
        for layer, layer_cache in zip(self.layers, cache.layers, strict=True):
            source = layer_cache.source_of(cache.count)
            x = layer(x, source, biases, rotation, layer_cache)
        return cache.to_sentences(self.norm(x))


class Transformer(nn.Module):
    """A translation model: embeddings, encoder, decoder and output head.

    With `tied_embeddings: target` the head is the target embedding; with `all`, the source embedding is it too, learned
    positions included. A tied weight exists once, under one name, also in a saved model. V is `target_vocabulary`. All
    methods with token ids raise ValueError if a row is longer than `max_positions`.
    """

    def __init__(self, settings: NetworkSettings, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        shared = settings.tied_embeddings == "all"
        assert not shared or source_vocabulary == target_vocabulary, "one embedding needs one vocabulary"
        self.max_positions = settings.max_positions
        self.masks = MaskGenerator()
        self.source_embedding = Embedding(source_vocabulary, settings)
        self.own_target_embedding = None if shared else Embedding(target_vocabulary, settings)
        self.encoder = EncoderStack(settings)
        self.decoder = DecoderStack(settings)
        self.own_head: nn.Linear | None = None
        if settings.tied_embeddings == "none":
            self.own_head = nn.Linear(settings.d_model, target_vocabulary, bias=False)
        init_weights(self)

    @property
    def target_embedding(self) -> Embedding:
        """The target embedding; the source embedding if all embeddings are tied."""
        return self.source_embedding if self.own_target_embedding is None else self.own_target_embedding

    @property
    def head_weight(self) -> Tensor:
        """The weight (V, D) of the output head; the target embedding if they are tied."""
        return self.target_embedding.tokens.weight if self.own_head is None else self.own_head.weight

    def use_attention(self, kernel: AttentionKernel) -> None:
        """Compute attention with `kernel`, except in the steps of a search."""
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.kernel = kernel

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits of each next target token, given all tokens before it, for one sentence per row.

        Args:
            source: (R, S) int64 ids, each row ended by EOS and padded with PAD.
            target_input: (R, T) int64 ids, SOS first, padded with PAD.

        Returns:
            (R, T, V): at position t, the logits of the token after `target_input[:, t]`. Those at PAD are meaningless.
        """
        return self.project(self.states_of_pairs(source, target_input))

    def states_of_pairs(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the decoder's states (R, T, D) for one sentence per row; arguments as in `forward`."""
        # A row of one sentence is a row whose only sentence has the number 1; compare `states`.
        masks = self.masks(one_sentence_a_row(source), one_sentence_a_row(target_input))
        memory = self.encode(source, _positions(source), masks.encoder)
        return self.decode(target_input, _positions(target_input), memory, masks)

    def states(self, batch: Batch) -> Tensor:
        """Return the decoder's states (R, L, D) for rows of several sentences; those at PAD are meaningless."""
        masks = self.masks(batch.source_sentence, batch.target_sentence)
        memory = self.encode(batch.source, batch.source_position, masks.encoder)
        return self.decode(batch.target_input, batch.target_position, memory, masks)

    def encode(self, source: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        """Return the memory (R, S, D), which the decoder attends to.

        Args:
            source: (R, S) int64 ids.
            position: (R, S) int64, the index of each token in its sentence.
            mask: (R, 1, S, S) bool, True = may attend.
        """
        self._check_length(source.size(1))
        x = self.source_embedding(source, position)
        memory: Tensor = self.encoder(x, position, mask)
        return memory

    def decode(self, target_input: Tensor, position: Tensor, memory: Tensor, masks: Masks) -> Tensor:
        """Return the decoder's states (R, T, D).

        Args:
            target_input: (R, T) int64 ids, SOS before each sentence.
            position: (R, T) int64, the index of each token in its sentence.
            memory: (R, S, D), the result of `encode`.
            masks: bool, True = may attend.
        """
        self._check_length(target_input.size(1))
        x = self.target_embedding(target_input, position)
        states: Tensor = self.decoder(x, position, memory, masks)
        return states

    def project(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for decoder states (..., D)."""
        if self.own_head is None:
            return F.linear(states, self.head_weight)
        # As a call of the module, which `speed/inference_copy.py` may have replaced by one that rounds.
        logits: Tensor = self.own_head(states)
        return logits

    @torch.no_grad()
    def start(self, source: Tensor, width: int = 1) -> DecoderCache:
        """Encode `source` (B, S), one sentence per row; return the cache of a search with `width` hypotheses each."""
        assert not self.training, "dropout is on during a search: call eval() first"
        sentence = one_sentence_a_row(source)
        memory = self.encode(source, _positions(source), self.masks.same_sentence(sentence, sentence))
        # All target positions are of sentence 1, and so have one line of the cross mask: that of the first.
        target_sentence = sentence.new_ones(len(source), 1)
        cross_mask = self.masks.cross(target_sentence, sentence)  # (B, 1, 1, S)
        return self.decoder.start(memory, cross_mask, width)

    @torch.no_grad()
    def step(self, tokens: Tensor, cache: DecoderCache) -> Tensor:
        """Return the logits (n * W, V) of the tokens after `tokens` (n * W,) int64, which are SOS at the first step."""
        self._check_length(cache.length + 1)
        # At the first step all W hypotheses of a sentence are SOS: compute one of them.
        shares_sos = cache.length == 0 and cache.width > 1
        if shares_sos:
            tokens = tokens[:: cache.width]

        # Embed the newest token of each hypothesis, and group the vectors by sentence. All tokens are at one position.
        position = torch.full((1, 1), cache.length, device=tokens.device)
        x = self.target_embedding(tokens.unsqueeze(1), position)  # (n * w, 1, D)
        x = x.view(cache.count, -1, x.size(2))  # (n, w, D)
        states = self.decoder.step(x, position, cache).flatten(0, 1)  # (n * w, D)

        # All hypotheses of a sentence get the logits of the SOS that they share.
        logits = self.project(states)
        if shares_sos:
            logits = logits.repeat_interleave(cache.width, dim=0)
        return logits

    def _check_length(self, length: int) -> None:
        if length > self.max_positions:
            raise ValueError(
                f"a sequence of {length} tokens is longer than the {self.max_positions} positions of this model; "
                "split the sentence, or train with a larger model.max_positions"
            )


def _positions(tokens: Tensor) -> Tensor:
    """Return (R, L) int64: the index of each token, for `tokens` (R, L) with one sentence per row."""
    return torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)


@torch.no_grad()
def init_weights(model: nn.Module) -> None:
    """Initialize the embeddings, positions, stacks and output head inside `model` from torch's random generator.

    Embeddings and head: normal with standard deviation D^-½. The product of a normalized state (length √D) with a row
    of the head (length 1) then has variance 1. So the first loss of an untied head is about log V + ½; a tied head adds
    about 2, since the residual stream still holds the input token, which therefore gets a high logit. As an embedding,
    a row of this length is √D times too short compared with the positions, whose entries are of order 1. Hence the
    factor √D in `PositionEncoding` (Vaswani et al. 2017 §3.4). Deviation and factor together make tying possible.

    Learned positions: normal with deviation 1/√2, the root mean square of the sinusoids that they replace.

    Biases start at 0, LayerNorm at the identity (by torch), and the row of PAD at 0; training changes the row of PAD in
    a tied head.
    """
    # The output head is a linear layer outside the stacks, which the loop below leaves out.
    if isinstance(model, Transformer) and model.own_head is not None:
        nn.init.normal_(model.own_head.weight, std=model.own_head.in_features**-0.5)
    for module in model.modules():
        if isinstance(module, EncoderStack | DecoderStack):
            _init_stack(module)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            module.weight[PAD].zero_()
        elif isinstance(module, PositionEncoding) and isinstance(module.table, nn.Parameter):
            nn.init.normal_(module.table, std=math.sqrt(0.5))


def _init_stack(stack: EncoderStack | DecoderStack) -> None:
    """Initialize the projections of a stack.

    Xavier uniform (Glorot and Bengio 2010), each block of a fused projection as a separate matrix. The last projection
    of each sublayer is scaled by 1/√n, with n sublayers in the stack. Pre-norm: the sum of n sublayers then has the
    variance of one (Radford et al. 2019 §2.3). Post-norm: LayerNorm(x + f(x)) shrinks the gradient on the residual
    path by √(1 + var f). With var f = 1/n, n layers shrink it by at most √e; with var f = 1, by 2^(n/2) (Zhang et al.
    2019 §3, Xiong et al. 2020 §3).
    """
    sublayers_of_layer = 2 if isinstance(stack, EncoderStack) else 3  # the residual sums of a layer
    sublayers = sublayers_of_layer * len(stack.layers)
    for name, linear in stack.named_modules():
        if not isinstance(linear, nn.Linear):
            continue
        # The last projection of a sublayer adds to the residual sum: `output` of attention, `outer` of feed-forward.
        gain = 1.0
        if name.endswith((".output", ".outer")):
            gain = 1.0 / math.sqrt(sublayers)
        # Each matrix of a fused projection has its own bounds.
        blocks = 1
        if isinstance(linear, FusedLinear):
            blocks = linear.blocks
        for block in linear.weight.chunk(blocks, dim=0):
            nn.init.xavier_uniform_(block, gain)
        nn.init.zeros_(linear.bias)
