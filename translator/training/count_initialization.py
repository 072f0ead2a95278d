"""Initial weights from counts of the training text: before its first update, the model translates single words.

Training from random weights spends its first thousand updates on what counting finds in seconds: which words are used
alike, and which translate each other. Here the model starts from both:

    target embedding, head   pieces with like neighbours are alike, by the pointwise mutual information of neighbours
                             (Levy and Goldberg 2014)
    source embedding         the mean of the head's rows of a piece's translations, by IBM Model 1 (Brown et al. 1993)
    cross-attention          the identity, so that source vectors reach the head as they are
    all other sublayers      a tenth of their random start, so that they disturb little

S and T pieces of source and target, D model width
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
MOST_PAIRS: Final = 100_000  # that are counted; bounds the time
WINDOW: Final = 3  # pieces on each side that count as neighbours
ROUNDS: Final = 5  # of expectation maximization
QUIET: Final = 0.1  # factor of the sublayers that are not the identity
COMMON: Final = 0.5  # share of a target piece's frequency that is no sign of a translation
_LINKS: Final = 16_000_000  # between source and target pieces that are counted at a time; bounds the memory


@torch.no_grad()
def initialize_from_counts(model: Transformer, pairs: Sequence[tuple[Ids, Ids]]) -> None:
    """Overwrite the random weights of `model` by what `pairs`, ids without special tokens, say of its pieces.

    It takes some twenty seconds and 40 · T · max(S, T) bytes. Equal pairs, seed and threads give equal weights.
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
    """Return vectors (T, D) of pieces; their products are large for pieces with like neighbours in `sentences`.

    They are the left singular vectors, times the root of the singular values, of max(0, log p(n | piece) / p(n)) for
    neighbours n on the left and on the right, with p(n) raised to the power 0.75 (Levy et al. 2015 §3.1).
    """
    far = range(1, WINDOW + 1)
    places = np.concatenate([one[:-away].astype(np.int64) * size + one[away:] for away in far for one in sentences])
    after = np.bincount(places, minlength=size * size).reshape(size, size).astype(np.float32)
    counts = np.concatenate([after, after.T], axis=1)
    own, other = counts.sum(1, keepdims=True) + 1.0, (counts.sum(0, keepdims=True) + 1.0) ** 0.75
    information = torch.from_numpy(np.log(np.maximum(counts / own / (other / other.sum()), 1.0)))
    rank = min(width, size)
    left, values, _ = torch.svd_lowrank(information, rank, niter=3)
    # A random rotation spreads the directions, of which the first are the strongest, over all heads.
    rotation = torch.linalg.qr(torch.randn(width, rank))[0].t()  # (rank, D), rows orthonormal
    vectors: Tensor = left * values.sqrt() @ rotation
    return vectors


def translation_probabilities(pairs: Sequence[tuple[Ids, Ids]], source_size: int, target_size: int) -> Counts:
    """Return p(target piece | source piece), (S, T), by IBM Model 1; a piece that is in no pair has a row of zeros.

    Each source sentence has an empty word, too, which takes what translates nothing; it is left out of the result.
    """
    empty = source_size
    table = np.ones((empty + 1) * target_size, np.float32)
    for _ in range(ROUNDS):
        counts = np.zeros(len(table))
        for some in _chunks(pairs):
            links = np.concatenate([_links(np.append(source, empty), target, target_size) for source, target in some])
            lengths = np.concatenate([np.full(len(target), len(source) + 1) for source, target in some])
            weights = table[links]
            sums = np.add.reduceat(weights, np.cumsum(lengths) - lengths)  # of all source pieces of a target piece
            weights /= np.repeat(sums, lengths)
            counts += np.bincount(links, weights, len(table))
        of_source = counts.reshape(empty + 1, target_size)
        table = (of_source / np.maximum(of_source.sum(1, keepdims=True), 1e-9)).astype(np.float32).ravel()
    return table.reshape(empty + 1, target_size)[:-1]


def _links(source: Ids, target: Ids, target_size: int) -> NDArray[Any]:
    """Return the place in the table of each target piece with each source piece, target piece by target piece."""
    return (source.astype(np.int64) * target_size + target[:, None]).ravel()


def _chunks(pairs: Sequence[tuple[Ids, Ids]]) -> Iterator[Sequence[tuple[Ids, Ids]]]:
    ends = np.cumsum([(len(source) + 1) * len(target) for source, target in pairs])
    cuts = [0, *np.searchsorted(ends, np.arange(_LINKS, ends[-1], _LINKS)), len(pairs)]
    return (pairs[start:end] for start, end in itertools.pairwise(cuts) if start < end)


def _set_rows(table: Tensor, rows: Tensor) -> None:
    """Set the rows of `table` (V, D) to those of `rows`, each scaled to length 1; a row of zeros keeps what it has."""
    lengths = rows.norm(dim=1, keepdim=True)
    known = (lengths > 1e-6) & (torch.arange(len(rows)) != PAD).unsqueeze(1)
    table.copy_(torch.where(known, rows / lengths.clamp(min=1e-6), table.cpu()))
