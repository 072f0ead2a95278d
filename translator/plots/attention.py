"""The attention of one translation, for each layer and head.

T query positions, S key positions, H heads
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from translator.core import EOS, SOS
from translator.errors import InputError
from translator.inference.attention_weights import weights_of_layers
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.plots.style import PAGE_INCHES, house_style, new_figure
from translator.run.arabic_shaping import shown_pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["cross", "encoder", "decoder"]
Maps = npt.NDArray[np.float32]
_POINTS_PER_INCH: Final = 72
_MARGIN: Final = 1.9  # inches, for the labels and the colour scale
_MIN_WIDTH: Final = 4.2  # inches
_MAX_LABEL_SIZE: Final = 9.0  # points
_CELL_RANGE: Final = (0.13, 0.36)  # inches; smaller cells would make labels unreadable


@dataclass(frozen=True, kw_only=True)
class SentenceAttention:
    """The attention of all layers and heads of one kind, for one sentence."""

    kind: Kind
    queries: Sequence[str]  # T pieces: the produced ones for cross-attention, else the input pieces
    keys: Sequence[str]  # S pieces
    weights: Maps  # (layers, H, T, S); each row sums to 1

    def panels(self, layer: str = "last", head: str = "mean") -> dict[str, Maps]:
        """Return the maps to draw by title, each (T, S).

        Args:
            layer: `last`, `all`, or a number from 1.
            head: `mean`, `all`, or a number from 1.

        Raises InputError: the model has no such layer or head.
        """
        layers, heads = self.weights.shape[:2]
        layer_numbers = _numbers_of("layer", layer, {"last": [layers - 1]}, layers)
        head_numbers = _numbers_of("head", head, {"mean": []}, heads)
        panels = {}
        for layer_number in layer_numbers:
            weights = self.weights[layer_number]  # (H, T, S)
            if head == "mean":
                panels[f"layer {layer_number + 1}, mean of {heads} heads"] = weights.mean(axis=0)
            for head_number in head_numbers:
                panels[f"layer {layer_number + 1}, head {head_number + 1}"] = weights[head_number]
        return panels


def _numbers_of(name: str, choice: str, words: dict[str, list[int]], count: int) -> list[int]:
    """Return the numbers, from 0, that `choice` means: one of `words`, `all`, or a number from 1 to `count`."""
    if choice in words:
        return words[choice]
    if choice == "all":
        return list(range(count))
    numbers = {str(number + 1): number for number in range(count)}
    if choice in numbers:
        return [numbers[choice]]
    choices = f"a number from 1 to {count}, {' or '.join([*words, 'all'])}"
    raise InputError(f"--{name} {choice} does not exist in this model; give {choices}")


def sentence_attention(
    run: Path | str, text: str, *, kind: Kind = "cross", checkpoint: str = "best", overrides: Sequence[str] = ()
) -> SentenceAttention:
    """Return the attention of a run's translation of `text`; only of the first segment if the text is too long.

    Args:
        text: a source text.
        kind: `cross` is the decoder's attention to the encoder, `encoder` and `decoder` that of either to itself.
        checkpoint: `best`, `last`, `averaged`, a name or a step number.
        overrides: `key.path=value` for the search.

    Raises InputError: the text has no words.
    """
    # 1. Translate the first segment of the text.
    translator = Translator.load(run, engine="torch", checkpoint=checkpoint, device="cpu", overrides=overrides)
    assert isinstance(translator.searcher, TorchSearcher)
    segments = translator.segments([text])
    if not segments:
        raise InputError("the text has no words to translate; give a sentence")
    source_ids = list(segments[0].ids)
    best = translator.hypotheses([source_ids])[0][0]

    # 2. Compute the attention for the whole translation at once, as in training.
    source = [*source_ids, EOS]
    labels = [*best.tokens, EOS] if best.finished else list(best.tokens)
    target_input = [SOS, *labels[:-1]]
    model = translator.searcher.models[0]
    attention = weights_of_layers(model, torch.tensor([source]), torch.tensor([target_input]))
    weights = torch.stack(getattr(attention, kind))  # (layers, 1, H, T, S)

    # 3. Spell the pieces of queries and keys.
    source_pieces = translator.subword.source.pieces_of(source)
    produced_pieces = translator.subword.target.pieces_of(labels)
    input_pieces = translator.subword.target.pieces_of(target_input)
    queries = {"cross": produced_pieces, "encoder": source_pieces, "decoder": input_pieces}
    keys = {"cross": source_pieces, "encoder": source_pieces, "decoder": input_pieces}
    return SentenceAttention(kind=kind, queries=queries[kind], keys=keys[kind], weights=weights[:, 0].float().numpy())


@house_style()
def attention_figure(attention: SentenceAttention, panels: Mapping[str, Maps]) -> "Figure":
    """Return the picture of `panels`, maps (T, S) of `attention` by title, on one colour scale; a row per layer."""
    queries = shown_pieces(attention.queries, right_to_left=attention.kind != "encoder")
    keys = shown_pieces(attention.keys, right_to_left=attention.kind == "decoder")
    rows = len({title.split(",")[0] for title in panels})  # a title begins with the layer
    columns = len(panels) // rows

    # 1. Choose the sizes.
    sizes = _choose_sizes(rows, columns, queries, keys)
    figure = new_figure(sizes.width, sizes.height)
    figure.set_layout_engine("compressed")  # cells are squares

    # 2. Draw the maps.
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    highest = max(float(weights.max()) for weights in panels.values())
    for axes, (title, weights) in zip(grid.flat, panels.items(), strict=True):
        image = axes.imshow(weights, vmin=0.0, vmax=highest)
        axes.set_title(title)
        axes.set_xticks(range(len(keys)), keys, rotation=90, fontsize=sizes.label)
        axes.set_yticks(range(len(queries)), queries, fontsize=sizes.label)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)

    # 3. Name the axes and the colours.
    key_side = "target" if attention.kind == "decoder" else "source"
    query_side = "source" if attention.kind == "encoder" else "target"
    figure.supxlabel(f"key: {key_side} piece", fontsize=9)
    figure.supylabel(f"query: {query_side} piece", fontsize=9)
    figure.colorbar(image, ax=grid, shrink=1.0 if rows == 1 else 0.6, aspect=25, label="attention weight")
    return figure


class _Sizes(NamedTuple):
    """Sizes of the picture."""

    label: float  # points
    width: float  # inches
    height: float  # inches


def _choose_sizes(rows: int, columns: int, queries: Sequence[str], keys: Sequence[str]) -> _Sizes:
    """Return sizes for maps in `rows` and `columns`; a longer sentence gives a wider picture."""
    cell = float(np.clip((PAGE_INCHES - _MARGIN) / (columns * len(keys)), *_CELL_RANGE))
    label = min(_MAX_LABEL_SIZE, 0.7 * cell * _POINTS_PER_INCH)
    # The labels of the keys stand upright below the maps; a letter is about 0.6 of its size wide.
    longest_key = max(map(len, keys))
    height_of_labels = 0.55 + longest_key * 0.6 * label / _POINTS_PER_INCH
    return _Sizes(
        label=label,
        width=max(cell * columns * len(keys) + _MARGIN, _MIN_WIDTH),
        height=(cell * len(queries) + 0.3) * rows + height_of_labels,
    )
