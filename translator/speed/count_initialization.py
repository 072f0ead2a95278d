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
from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from translator.core import PAD
from translator.core.transformer import Transformer
from translator.data.token_store import ranges
from translator.subword.block_encoding import FlatRows

Counts = NDArray[np.float32]
MOST_PAIRS: Final = 100_000  # maximum number of counted pairs; bounds the time
WINDOW: Final = 3  # pieces on each side that count as neighbours
ROUNDS: Final = 5  # iterations of expectation maximization
OTHER_SUBLAYERS_FACTOR: Final = 0.1  # of the output weights of the sublayers other than cross-attention
FREQUENCY_SHARE: Final = 0.5  # of a target piece's relative frequency, subtracted from its translation probabilities
_LINKS: Final = 16_000_000  # links between source and target pieces counted at a time; bounds memory


@torch.no_grad()
def initialize_from_counts(model: Transformer, sources: FlatRows, targets: FlatRows) -> None:
    """Overwrite the random weights of `model` with estimates from the ids of pairs.

    Takes about twenty seconds and 40 · T · max(S, T) bytes, with S source and T target pieces. Equal pairs, seed and
    threads give equal weights.
    """
    source_table = model.source_embedding.tokens.weight  # (S, D)
    target_table = model.target_embedding.tokens.weight  # (T, D)
    head = model.head_weight  # (T, D), the target table itself if tied

    # Target side: vectors of neighbourhoods.
    vectors = neighbour_vectors(targets, len(target_table), target_table.size(1))
    _set_unit_rows(target_table, vectors)
    if head is not target_table:
        _set_unit_rows(head, vectors)

    # Source side: the weighted mean of the head rows of a piece's translations. A target piece's weight is its
    # probability less a share of its frequency; else the most frequent pieces would be in every mean.
    table = translation_probabilities(sources, targets, len(source_table), len(target_table))
    probabilities = torch.from_numpy(table)  # (S, T)
    counts = torch.bincount(torch.from_numpy(targets.ids), minlength=len(target_table))  # (T,)
    weights = (probabilities - FREQUENCY_SHARE * counts / counts.sum()).clamp_(min=0.0)  # (S, T)
    _set_unit_rows(source_table, weights @ head.cpu())

    # The layers: source vectors reach the head unchanged.
    _set_cross_attention_to_identity(model)
    _weaken_other_sublayers(model)


def _set_cross_attention_to_identity(model: Transformer) -> None:
    """Make all four projections of each cross-attention the identity matrix."""
    for layer in model.decoder.layers:
        cross = layer.cross_attention
        key, value = cross.key_value.weight.chunk(2)
        for projection in (cross.query.weight, key, value, cross.output.weight):
            projection.copy_(torch.eye(len(projection), device=projection.device))


def _weaken_other_sublayers(model: Transformer) -> None:
    """Make the outputs of self-attention and feed-forward small."""
    for name, sublayer in model.named_modules():
        if name.endswith(("self_attention.output", "feed_forward.outer")):
            sublayer.get_parameter("weight").mul_(OTHER_SUBLAYERS_FACTOR)


def neighbour_vectors(sentences: FlatRows, size: int, width: int) -> Tensor:
    """Return vectors (T, D) of pieces; dot products are large for pieces with similar neighbours in `sentences`.

    T is `size`, and D is `width`. The vectors are the left singular vectors, times the square root of the singular
    values, of a table with one row per piece and one column per neighbour n on the left or on the right. A cell is
    max(0, log(p(n | piece) / p(n))), with p(n) raised to the power 0.75 (Levy et al. 2015 §3.1).
    """
    # 1. Count neighbours.
    counts_after = _neighbour_counts(sentences, size)
    counts = np.concatenate([counts_after, counts_after.T], axis=1)  # (T, 2T): neighbours on the right, on the left

    # 2. Positive pointwise mutual information, with smoothed counts.
    piece_counts = counts.sum(1, keepdims=True) + 1.0  # (T, 1)
    neighbour_weights = (counts.sum(0, keepdims=True) + 1.0) ** 0.75  # (1, 2T)
    neighbour_shares = neighbour_weights / neighbour_weights.sum()  # (1, 2T) p(n)
    information = np.log(np.maximum(counts / piece_counts / neighbour_shares, 1.0))  # (T, 2T)

    # 3. Reduce 2T columns to D.
    rank = min(width, size)
    directions, strengths, _ = torch.svd_lowrank(torch.from_numpy(information), rank, niter=3)  # (T, rank), (rank,)

    # 4. The first columns are the strongest directions, and a head sees only some columns. A random rotation spreads
    # the directions over all heads.
    orthonormal_columns, _ = torch.linalg.qr(torch.randn(width, rank))  # (D, rank)
    rotation = orthonormal_columns.t()  # (rank, D)
    scaled_directions = directions * strengths.sqrt()  # (T, rank)
    vectors: Tensor = scaled_directions @ rotation
    return vectors


def _neighbour_counts(sentences: FlatRows, size: int) -> Counts:
    """Return (T, T): how often the piece of the column follows that of the row by at most `WINDOW` places."""
    sentence_of_piece = np.repeat(np.arange(len(sentences.lengths)), sentences.lengths)
    row_starts = sentences.ids.astype(np.int64) * size
    cells = []  # row · T + column of each occurrence
    for distance in range(1, WINDOW + 1):
        is_same_sentence = sentence_of_piece[:-distance] == sentence_of_piece[distance:]
        cells_at_distance = row_starts[:-distance] + sentences.ids[distance:]
        cells.append(cells_at_distance[is_same_sentence])
    counts = np.bincount(np.concatenate(cells), minlength=size * size)
    return counts.reshape(size, size).astype(np.float32)


def translation_probabilities(sources: FlatRows, targets: FlatRows, source_size: int, target_size: int) -> Counts:
    """Return p(target piece | source piece), (S, T), by IBM Model 1; a piece without pairs has a row of zeros.

    Each source sentence also has a NULL word, for target pieces that translate no source piece; the result omits it.
    """
    null_word = source_size  # its row, after those of the pieces
    shape = (source_size + 1, target_size)
    probabilities = np.ones(shape, np.float32).ravel()  # ((S + 1) · T,): a table, flat; at first, all are equal
    for _ in range(ROUNDS):
        # E-step: how often each source piece is linked to each target piece.
        counts = np.zeros(len(probabilities))
        for source_chunk, target_chunk in _chunks(sources, targets):
            counts += _expected_counts(source_chunk, target_chunk, probabilities, null_word, target_size)
        # M-step: normalize the counts of each source piece.
        table = counts.reshape(shape)
        row_sums = np.maximum(table.sum(1, keepdims=True), 1e-9)
        probabilities = (table / row_sums).astype(np.float32).ravel()
    return probabilities.reshape(shape)[:null_word]


def _expected_counts(
    sources: FlatRows, targets: FlatRows, probabilities: Counts, null_word: int, target_size: int
) -> NDArray[np.float64]:
    """Return how often each source piece is expected to be linked to each target piece.

    This is the E-step of IBM Model 1 (Brown et al. 1993 §4.1): each target piece is linked to one piece of its source
    sentence, with a probability in proportion to p(target piece | source piece).

    Args:
        sources: the ids of source sentences.
        targets: the ids of their translations.
        probabilities: p(target piece | source piece) of the last M-step, flat, ((S + 1) · T,).
        null_word: row of the NULL word, which is added to each source sentence.
        target_size: T.

    Returns the expected counts, flat, ((S + 1) · T,).
    """
    # 1. Each source sentence gets its NULL word.
    source_ids = np.insert(sources.ids, np.cumsum(sources.lengths), null_word)
    source_lengths = sources.lengths + 1
    # 2. List all links, each as a cell of the table: row · T + column. A target piece is linked to all pieces of its
    # source sentence; its links stand together. For each target piece: the place of that sentence, and its length.
    sentence_starts = np.repeat(np.cumsum(source_lengths) - source_lengths, targets.lengths)
    link_counts = np.repeat(source_lengths, targets.lengths)
    links = source_ids[ranges(sentence_starts, link_counts)].astype(np.int64)
    links *= target_size
    links += np.repeat(targets.ids, link_counts)
    # 3. The links of a target piece share a count of 1, in proportion to their probabilities.
    weights = probabilities[links]
    first_links = np.cumsum(link_counts) - link_counts
    weight_sums = np.add.reduceat(weights, first_links)
    weights /= np.repeat(weight_sums, link_counts)
    counts: NDArray[np.float64] = np.bincount(links, weights, len(probabilities)).astype(np.float64, copy=False)
    return counts


def _chunks(sources: FlatRows, targets: FlatRows) -> Iterator[tuple[FlatRows, FlatRows]]:
    """Yield the sentences of both sides in parts of about `_LINKS` links."""
    links_up_to = np.cumsum((sources.lengths + 1) * targets.lengths)
    cuts = np.searchsorted(links_up_to, np.arange(_LINKS, links_up_to[-1], _LINKS))
    for start, end in itertools.pairwise([0, *cuts, len(links_up_to)]):
        if start < end:
            yield sources.between(start, end), targets.between(start, end)


def _set_unit_rows(table: Tensor, rows: Tensor) -> None:
    """Set the rows of `table` (V, D) to `rows`, each scaled to length 1; where a row is zero, keep the old one."""
    lengths = rows.norm(dim=1, keepdim=True)
    is_pad = torch.arange(len(rows)).unsqueeze(1) == PAD
    replaced = (lengths > 1e-6) & ~is_pad
    unit_rows = rows / lengths.clamp(min=1e-6)
    table.copy_(torch.where(replaced, unit_rows, table.cpu()))
