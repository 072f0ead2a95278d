"""The encoder-decoder Transformer (Vaswani et al. 2017), from token ids to logits.

B batch, S source length, T target length, D model width, V vocabulary
R rows of a search: W consecutive rows for each of B sentences
"""

import contextlib
import copy
import math
import threading
from collections.abc import Iterator
from typing import Final, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translator.config import ModelConfig
from translator.masks import MaskGenerator
from translator.model.attention import AttentionKernel, MultiHeadAttention
from translator.model.decoder import AttentionWeights, DecoderCache, DecoderStack
from translator.model.device import MatmulPrecision
from translator.model.embedding import Embedding, PositionEncoding
from translator.model.encoder import EncoderStack
from translator.model.layers import PADDED, FeedForward, FusedLinear, Layout, RoundedLinear
from translator.special_tokens import PAD

_SUBLAYERS = {EncoderStack: 2, DecoderStack: 3}  # residual sums in one layer of each stack


class Transformer(nn.Module):
    """A translation model: embeddings, encoder, decoder and output head.

    A tied weight exists once, under one name, also in a saved model. V = `target_vocabulary`. All methods with token
    ids raise InputError if a side is longer than `max_positions`.
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
        """Compute attention with `kernel` (see `attention.py`); a decoding step always uses the plain one."""
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.kernel = kernel

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        """Return the logits of each next target token, given all before it (teacher forcing).

        Args:
            source: (B, S) int64 ids, each row ended by EOS and padded with PAD.
            target_input: (B, T) int64 ids, SOS first, padded with PAD.

        Returns:
            (B, T, V); row t has the logits of the token after `target_input[:, t]`. Rows at PAD are meaningless.
        """
        return self.project(self.states(source, target_input))

    def states(self, source: Tensor, target_input: Tensor, layouts: tuple[Layout, Layout] = (PADDED, PADDED)) -> Tensor:
        """Return the decoder's states for the arguments of `forward`; `layouts` are the internal ones of both sides."""
        masks = self.masks(source, target_input)
        memory = self.encode(source, masks.encoder, layout=layouts[0])
        return self.decode(target_input, memory, masks.decoder, masks.cross, layouts=layouts)

    def encode(
        self, source: Tensor, encoder_mask: Tensor, weights: AttentionWeights | None = None, layout: Layout = PADDED
    ) -> Tensor:
        """Return the memory (B, S, D) of `source` (B, S) under `encoder_mask` (B, 1, 1, S), True = may attend."""
        own = None if weights is None else weights.encoder
        memory: Tensor = self.encoder(layout.pack(self.source_embedding(source)), encoder_mask, own, layout)
        return memory

    def decode(
        self,
        target_input: Tensor,
        memory: Tensor,
        decoder_mask: Tensor,
        cross_mask: Tensor,
        weights: AttentionWeights | None = None,
        layouts: tuple[Layout, Layout] = (PADDED, PADDED),
    ) -> Tensor:
        """Return the decoder's states (B, T, D) for `target_input` (B, T), SOS first, and `memory` (B, S, D).

        `decoder_mask` (B, 1, T, T) and `cross_mask` (B, 1, 1, S) are bool, True = may attend. If given, `weights`
        receives the attention weights of each layer. `layouts` are those of `memory` and the result.
        """
        x = layouts[1].pack(self.target_embedding(target_input))  # (B, T, D)
        states: Tensor = self.decoder(x, memory, decoder_mask, cross_mask, weights, layouts[1], layouts[0])
        return states

    def project(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for decoder states (..., D)."""
        return F.linear(states, self.head_weight) if self.own_head is None else self.own_head(states)

    @torch.no_grad()
    def attention(self, source: Tensor, target_input: Tensor) -> AttentionWeights:
        """Return the attention weights of every layer for `source` (B, S) and `target_input` (B, T)."""
        weights = AttentionWeights()
        masks = self.masks(source, target_input)
        memory = self.encode(source, masks.encoder, weights)
        self.decode(target_input, memory, masks.decoder, masks.cross, weights)
        return weights

    @torch.no_grad()
    def start(self, source: Tensor, width: int = 1) -> DecoderCache:
        """Encode `source` (B, S) and return the cache of a search with `width` rows for each sentence."""
        assert not self.training, "dropout is on during a search: call eval() first"
        memory = self.encode(source, self.masks.encoder(source))
        return self.decoder.start(memory, self.masks.cross(source), width)

    @torch.no_grad()
    def step(self, tokens: Tensor, cache: DecoderCache) -> Tensor:
        """Return the logits (R, V) of the tokens after `tokens` (R,) int64, which are SOS at the first step."""
        first = cache.length == 0 and cache.width > 1  # every row is SOS: compute one row per sentence
        tokens = tokens[:: cache.width] if first else tokens
        x = self.target_embedding(tokens.unsqueeze(1), cache.length).unflatten(0, (cache.count, -1)).squeeze(2)
        logits = self.project(self.decoder.step(x, cache).flatten(0, 1))
        return logits.repeat_interleave(cache.width, dim=0) if first else logits


def prepare(model: Transformer, precision: Literal["float32", "bf16"] = "float32") -> Transformer:
    """Return a copy of `model` in evaluation mode, for search only; its head is untied, so do not save it.

    In float32 the weights are stored transposed, which speeds up products of few rows. In bf16, products with weights
    and the inside of feed-forward sublayers are rounded; residual sums, norms, attention and logits stay float32.
    """
    prepared = copy.deepcopy(model).eval()
    prepared.own_head = nn.Linear(1, 1, bias=False, device="meta")
    prepared.own_head.weight = nn.Parameter(model.head_weight.detach())
    for parent in list(prepared.modules()):
        for name, part in parent.named_children():
            if isinstance(part, nn.Linear) and precision == "bf16":
                narrow = isinstance(parent, FeedForward) and name == "inner"  # the outer projection rounds it anyway
                setattr(parent, name, RoundedLinear(part, narrow))
            elif isinstance(part, nn.Linear):
                part.weight.data = part.weight.t().contiguous().t()
    return prepared


_ROUNDING: Final[list[MatmulPrecision]] = []
"""torch's own setting, then those of the active `matmul_precision` blocks of all threads, oldest first."""
_ROUNDING_LOCK: Final = threading.Lock()


@contextlib.contextmanager
def matmul_precision(precision: MatmulPrecision) -> Iterator[None]:
    """Set the internal precision of float32 matrix products inside the block, and restore it afterwards.

    torch has one setting per process. Blocks of several threads may overlap: the latest block takes precedence. The
    setting from before the first block is restored when the last block ends.
    """
    with _ROUNDING_LOCK:
        if not _ROUNDING:
            _ROUNDING.append(torch.get_float32_matmul_precision())  # type: ignore[arg-type]  # typed as str
        _ROUNDING.append(precision)
        torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        with _ROUNDING_LOCK:
            del _ROUNDING[_ROUNDING.index(precision, 1)]
            torch.set_float32_matmul_precision(_ROUNDING[-1])
            if len(_ROUNDING) == 1:
                _ROUNDING.clear()


@torch.no_grad()
def init_weights(model: nn.Module) -> None:
    """Initialize each weight of `model`, a Transformer or a stack, from torch's random generator, for both norm orders.

    Embeddings and head: normal with standard deviation D^-½. The product of a normalized state (length √D) with a row
    of the head (length 1) then has variance 1, and the first loss is slightly above log V. As an embedding, such a row
    is √D times too short compared with the positions, whose entries are of order 1. Hence the factor √D in `Embedding`
    (Vaswani et al. 2017 §3.4). Both together make tying possible.

    Learned positions: normal with deviation 1/√2, the root mean square of the sinusoids that they replace.

    Projections: Xavier uniform (Glorot and Bengio 2010), each block of a fused projection as a separate matrix. The
    last projection of each sublayer is scaled by 1/√n, with n sublayers in its stack. Pre-norm: the sum of n sublayers
    then has the variance of one (Radford et al. 2019 §2.3). Post-norm: LayerNorm(x + f(x)) shrinks the gradient on the
    residual path by √(1 + var f). With var f = 1/n, n layers shrink it by at most √e; with var f = 1, by 2^(n/2)
    (Zhang et al. 2019 §3, Xiong et al. 2020 §3).

    Biases start at 0, LayerNorm at the identity, and the row of PAD at 0; training changes that row in a tied head.
    """
    if isinstance(model, Transformer) and model.own_head is not None:
        nn.init.normal_(model.own_head.weight, std=model.own_head.in_features**-0.5)
    for module in model.modules():
        if isinstance(module, EncoderStack | DecoderStack):
            gain = 1.0 / math.sqrt(max(1, _SUBLAYERS[type(module)] * len(module.layers)))
            for name, part in module.named_modules():
                if isinstance(part, nn.Linear):
                    blocks = part.blocks if isinstance(part, FusedLinear) else 1
                    for block in part.weight.chunk(blocks, dim=0):
                        nn.init.xavier_uniform_(block, gain if name.endswith((".output", ".outer")) else 1.0)
                    nn.init.zeros_(part.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            module.weight[PAD].zero_()
        elif isinstance(module, PositionEncoding) and isinstance(module.table, nn.Parameter):
            nn.init.normal_(module.table, std=math.sqrt(0.5))
