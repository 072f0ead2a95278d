"""Initial weights from counts of the training text: the model translates single words before its first update.

From random weights, the first thousand updates learn what counting finds in seconds: which words occur in similar
contexts, and which translate each other. Here the model starts from both:

    target embedding, head   similar vectors for pieces with similar neighbours, by pointwise mutual information
                             (Levy and Goldberg 2014)
    source embedding         the mean of the head rows of a piece's translations, by IBM Model 1 (Brown et al. 1993)
    cross-attention          the identity, so that source vectors reach the head unchanged
    all other sublayers      a tenth of their random initialization, so that their effect is small

S and T source and target pieces, D model width
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translator.model import Transformer
from translator.special_tokens import PAD

Ids = NDArray[np.int32]
Counts = NDArray[np.float32]
MOST_PAIRS: Final = 100_000  # maximum number of counted pairs; bounds the time
WINDOW: Final = 3  # pieces on each side that count as neighbours
ROUNDS: Final = 5  # iterations of expectation maximization
QUIET: Final = 0.1  # factor of the sublayers other than cross-attention
COMMON: Final = 0.5  # share of a target piece's frequency subtracted from its translation probabilities
_LINKS: Final = 16_000_000  # links between source and target pieces counted at a time; bounds memory


@torch.no_grad()
def initialize_from_counts(model: Transformer, pairs: Sequence[tuple[Ids, Ids]]) -> None:
    """Overwrite the random weights of `model` with estimates from `pairs` of ids without special tokens.

    Takes about twenty seconds and 40 · T · max(S, T) bytes. Equal pairs, seed and threads give equal weights.
    """
    source, target = model.source_embedding.tokens.weight, model.target_embedding.tokens.weight  # (S, D), (T, D)
    head, width = model.head_weight, target.size(1)
    vectors = neighbour_vectors([pair[1] for pair in pairs], len(target), width)
    _set_rows(target, vectors)
    if head is not target:
        _set_rows(head, vectors)
    table = torch.from_numpy(translation_probabilities(pairs, len(source), len(target)))  # (S, T)
    frequency = torch.bincount(torch.from_numpy(np.concatenate([pair[1] for pair in pairs])), minlength=len(target))
    typical = (table - COMMON * frequency / frequency.sum()).clamp_(min=0.0)
    _set_rows(source, typical @ head.cpu())
    for layer in model.decoder.layers:
        cross = layer.cross_attention
        for block in (cross.query.weight, *cross.key_value.weight.chunk(2), cross.output.weight):
            block.copy_(torch.eye(width, device=block.device))
    for stack in (model.encoder, model.decoder):
        for name, part in stack.named_modules():
            if name.endswith(("self_attention.output", "feed_forward.outer")):
                part.get_parameter("weight").mul_(QUIET)


def neighbour_vectors(sentences: Sequence[Ids], size: int, width: int) -> Tensor:
    """Return vectors (T, D) of pieces; dot products are large for pieces with similar neighbours in `sentences`.

    They are the left singular vectors, times the square root of the singular values, of max(0, log p(n | piece) / p(n))
    for neighbours n on the left and on the right. p(n) is raised to the power 0.75 (Levy et al. 2015 §3.1).
    """
    far = range(1, WINDOW + 1)
    places = np.concatenate([one[:-away].astype(np.int64) * size + one[away:] for away in far for one in sentences])
    after = np.bincount(places, minlength=size * size).reshape(size, size).astype(np.float32)
    counts = np.concatenate([after, after.T], axis=1)
    own, other = counts.sum(1, keepdims=True) + 1.0, (counts.sum(0, keepdims=True) + 1.0) ** 0.75
    information = torch.from_numpy(np.log(np.maximum(counts / own / (other / other.sum()), 1.0)))
    rank = min(width, size)
    left, values, _ = torch.svd_lowrank(information, rank, niter=3)
    # The first directions are the strongest. A random rotation spreads them over all heads.
    rotation = torch.linalg.qr(torch.randn(width, rank))[0].t()  # (rank, D), rows orthonormal
    vectors: Tensor = left * values.sqrt() @ rotation
    return vectors


def translation_probabilities(pairs: Sequence[tuple[Ids, Ids]], source_size: int, target_size: int) -> Counts:
    """Return p(target piece | source piece), (S, T), by IBM Model 1; a piece without pairs has a row of zeros.

    Each source sentence also has a NULL word, for target pieces that translate no source piece; the result omits it.
    """
    empty = source_size
    table = np.ones((empty + 1) * target_size, np.float32)
    for _ in range(ROUNDS):
        counts = np.zeros(len(table))
        for some in _chunks(pairs):
            links = np.concatenate([_links(np.append(source, empty), target, target_size) for source, target in some])
            lengths = np.concatenate([np.full(len(target), len(source) + 1) for source, target in some])
            weights = table[links]
            sums = np.add.reduceat(weights, np.cumsum(lengths) - lengths)  # per target piece, over the source pieces
            weights /= np.repeat(sums, lengths)
            counts += np.bincount(links, weights, len(table))
        of_source = counts.reshape(empty + 1, target_size)
        table = (of_source / np.maximum(of_source.sum(1, keepdims=True), 1e-9)).astype(np.float32).ravel()
    return table.reshape(empty + 1, target_size)[:-1]


def _links(source: Ids, target: Ids, target_size: int) -> NDArray[Any]:
    """Return the table index of every pair of a target and a source piece, ordered by target piece."""
    return (source.astype(np.int64) * target_size + target[:, None]).ravel()


def _chunks(pairs: Sequence[tuple[Ids, Ids]]) -> Iterator[Sequence[tuple[Ids, Ids]]]:
    ends = np.cumsum([(len(source) + 1) * len(target) for source, target in pairs])
    cuts = [0, *np.searchsorted(ends, np.arange(_LINKS, ends[-1], _LINKS)), len(pairs)]
    return (pairs[start:end] for start, end in itertools.pairwise(cuts) if start < end)


def _set_rows(table: Tensor, rows: Tensor) -> None:
    """Set the rows of `table` (V, D) to `rows`, each scaled to length 1; where a row is zero, keep the old one."""
    lengths = rows.norm(dim=1, keepdim=True)
    known = (lengths > 1e-6) & (torch.arange(len(rows)) != PAD).unsqueeze(1)
    table.copy_(torch.where(known, rows / lengths.clamp(min=1e-6), table.cpu()))
