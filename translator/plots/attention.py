"""The attention of one translation, for each layer and head.

T query positions, S key positions, H heads
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from matplotlib.figure import Figure

from translator.core import EOS, SOS
from translator.errors import InputError
from translator.inference.engines.torch_searcher import TorchSearcher, weights_of_layers
from translator.inference.translator import Translator
from translator.plots.picture import PAGE_INCHES, house_style
from translator.run.piece_labels import shown_pieces

Kind = Literal["cross", "encoder", "decoder"]
"""`cross` is the decoder's attention to the encoder, `encoder` and `decoder` that of either to itself."""
Weights = npt.NDArray[np.float32]
_POINTS_PER_INCH: Final = 72
_MARGIN: Final = 1.9  # inches beside the maps, for the labels and the colour scale
_MIN_WIDTH: Final = 4.2  # inches
_MAX_LABEL_SIZE: Final = 9.0  # points
_CELL_RANGE: Final = (0.13, 0.36)  # inches; smaller cells would make labels unreadable


def sentence_attention(
    run: Path, text: str, kind: Kind = "cross", *, checkpoint: str = "best", overrides: Sequence[str] = ()
) -> tuple[list[str], list[str], Weights]:
    """Return the attention in a run's translation of `text`; only of the first segment if the text is too long.

    Args:
        run: a run folder.
        text: a source text.
        kind: of attention.
        checkpoint: `best`, `last`, `averaged`, a name or a step number.
        overrides: `key.path=value` for the search.

    Returns:
        The T pieces of the queries, the S pieces of the keys, and the weights (layers, H, T, S), whose rows sum to 1.

    Raises InputError: the text has no words.
    """
    # 1. Translate the first segment of the text.
    translator = Translator.load(run, engine="torch", checkpoint=checkpoint, device="cpu", overrides=overrides)
    assert isinstance(translator.searcher, TorchSearcher)
    segments = translator.segments([text])
    if not segments:
        raise InputError("the text has no words to translate; give a sentence")
    source_ids = list(segments[0].ids)
    hypotheses_of_sources = translator.hypotheses([source_ids])
    best = hypotheses_of_sources[0][0]

    # 2. Compute the attention for the whole translation at once, as in training: a query predicts its label from the
    # labels before it.
    source = [*source_ids, EOS]
    labels = [*best.tokens, EOS] if best.finished else list(best.tokens)
    target_input = [SOS, *labels[:-1]]
    model = translator.searcher.models[0]
    attention = weights_of_layers(model, torch.tensor([source]), torch.tensor([target_input]))
    layers = getattr(attention, kind)  # (1, H, T, S) each
    weights = torch.stack(layers)[:, 0]  # (layers, H, T, S)

    # 3. Spell the pieces of queries and keys. A query of the cross-attention is named after the piece that it predicts.
    source_pieces = translator.subword.source.pieces_of(source)
    input_pieces = translator.subword.target.pieces_of(target_input)
    queries, keys = {
        "cross": (translator.subword.target.pieces_of(labels), source_pieces),
        "encoder": (source_pieces, source_pieces),
        "decoder": (input_pieces, input_pieces),
    }[kind]
    return queries, keys, weights.float().numpy()


def chosen_maps(weights: Weights, layer: str, head: str) -> list[list[tuple[str, Weights]]]:
    """Return the maps to draw: a row for each chosen layer, with a title and a map (T, S) for each chosen head.

    Args:
        weights: (layers, H, T, S).
        layer: `last`, `all`, or a number from 1.
        head: `mean`, `all`, or a number from 1.

    Raises InputError: the model has no such layer or head.
    """
    layer_count, head_count = weights.shape[:2]
    rows = []
    for layer_number in _numbers("layer", layer, "last", layer_count):
        layer_weights = weights[layer_number - 1]  # (H, T, S)
        row = []
        if head == "mean":
            row.append((f"layer {layer_number}, mean of {head_count} heads", layer_weights.mean(axis=0)))
        else:
            for head_number in _numbers("head", head, "mean", head_count):  # `mean` is here for the message only
                row.append((f"layer {layer_number}, head {head_number}", layer_weights[head_number - 1]))
        rows.append(row)
    return rows


def _numbers(name: str, choice: str, usual_choice: str, count: int) -> list[int]:
    """Return the numbers of the layers or heads, from 1 to `count`, that `choice` means; `usual_choice`: the last."""
    numbers = list(range(1, count + 1))
    if choice == "all":
        return numbers
    if choice == usual_choice:
        return numbers[-1:]
    if choice in map(str, numbers):
        return [int(choice)]
    raise InputError(
        f"--{name} {choice} does not exist in this model; give a number from 1 to {count}, {usual_choice} or all"
    )


@house_style()
def attention_figure(
    queries: Sequence[str], keys: Sequence[str], rows: Sequence[Sequence[tuple[str, Weights]]], kind: Kind
) -> Figure:
    """Return the picture of maps (T, S) with their titles, in rows of equal length, on one colour scale.

    Args:
        queries: T pieces.
        keys: S pieces.
        rows: the maps, see `chosen_maps`.
        kind: of attention.
    """
    query_side = "source" if kind == "encoder" else "target"
    key_side = "target" if kind == "decoder" else "source"
    query_labels = shown_pieces(queries)
    key_labels = shown_pieces(keys)

    # 1. Choose the sizes; a longer sentence gives a wider picture.
    column_count = len(rows[0])
    smallest_cell, largest_cell = _CELL_RANGE
    cell = float(np.clip((PAGE_INCHES - _MARGIN) / (column_count * len(keys)), smallest_cell, largest_cell))  # inches
    label_size = min(_MAX_LABEL_SIZE, 0.7 * cell * _POINTS_PER_INCH)
    # The labels of the keys stand upright below the maps, above the name of the axis (0.55 inches). A letter is about
    # 0.6 of its size wide.
    label_height = 0.55 + max(map(len, key_labels)) * 0.6 * label_size / _POINTS_PER_INCH
    width = max(cell * column_count * len(keys) + _MARGIN, _MIN_WIDTH)
    height = (cell * len(queries) + 0.3) * len(rows) + label_height  # 0.3 inches for a title

    # 2. Draw the maps.
    figure = Figure(figsize=(width, height), layout="compressed")  # cells are squares
    grid = figure.subplots(len(rows), column_count, sharex=True, sharey=True, squeeze=False)
    highest = max(float(weights.max()) for row in rows for _, weights in row)  # one colour scale for all maps
    for row_of_axes, row in zip(grid, rows, strict=True):
        for axes, (title, weights) in zip(row_of_axes, row, strict=True):
            image = axes.imshow(weights, vmin=0.0, vmax=highest)
            axes.set_title(title)
            axes.set_xticks(range(len(keys)), key_labels, rotation=90, fontsize=label_size)
            axes.set_yticks(range(len(queries)), query_labels, fontsize=label_size)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)

    # 3. Name the axes and the colours.
    figure.supxlabel(f"key: {key_side} piece", fontsize=9)
    figure.supylabel(f"query: {query_side} piece", fontsize=9)
    figure.colorbar(image, ax=grid, shrink=1.0 if len(rows) == 1 else 0.6, aspect=25, label="attention weight")
    return figure
