"""Pictures of inputs and training: masks, positions, the learning-rate schedule, the token budget of batches."""

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from translator.config import Config, ModelConfig, TrainingConfig
from translator.data import DataHandler, DataPosition
from translator.data.batch import collate
from translator.errors import InputError
from translator.masks import MaskGenerator
from translator.model import Transformer
from translator.model.embedding import rotary_positions, sinusoidal_positions
from translator.plots import COLOURS, FAINT, PAGE_INCHES, draw_legend, house_style, new_figure, shown
from translator.run.text import WORD_START, shown_pieces
from translator.special_tokens import SPECIAL_TOKENS
from translator.training.optimizer import learning_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table = npt.NDArray[np.floating[Any]]
MAY: Final = COLOURS[0]
MAY_NOT: Final = FAINT
EXAMPLE: Final = (("The door is open .", "در باز است ."), ("Come in !", "بفرمایید !"))
"""A batch of two pairs, words separated by spaces; the second pair is shorter and is padded."""


@house_style()
def masks_figure(pairs: Sequence[tuple[str, str]] = EXAMPLE) -> "Figure":
    """Return a picture of `MaskGenerator`'s encoder, decoder and cross masks for a batch of `pairs`, a row per pair."""
    words = [[[WORD_START + word for word in text.split()] for text in pair] for pair in pairs]
    spellings = [spelling for spelling, _ in SPECIAL_TOKENS]
    spellings += sorted({word for pair in words for text in pair for word in text})
    sources, targets = ([[spellings.index(word) for word in pair[side]] for pair in words] for side in (0, 1))
    batch = collate(sources, targets, range(len(pairs)))
    masks = MaskGenerator()(batch.source, batch.target_input)
    figure = new_figure(PAGE_INCHES, 2.7 * len(pairs) + 0.5)
    widths = [batch.source.shape[1], batch.target_input.shape[1], batch.source.shape[1]]
    grid = figure.subplots(len(pairs), 3, squeeze=False, width_ratios=widths)
    for row in range(len(pairs)):
        english = shown_pieces([spellings[token] for token in batch.source[row].tolist()])
        persian = shown_pieces([spellings[token] for token in batch.target_input[row].tolist()], right_to_left=True)
        panels = (
            ("encoder  (B, 1, 1, S)", masks.encoder, english, english),
            ("decoder  (B, 1, T, T)", masks.decoder, persian, persian),
            ("cross  (B, 1, 1, S)", masks.cross, persian, english),
        )
        for axes, (title, mask, queries, keys) in zip(grid[row], panels, strict=True):
            draw_allowed(axes, mask[row, 0].expand(len(queries), len(keys)).numpy())
            axes.set_xticks(np.arange(len(keys)) + 0.5, keys, rotation=90)
            axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
            axes.set_aspect("equal", anchor="N")
            axes.set(xlabel="key", title=title if row == 0 else "")
        grid[row, 0].set_ylabel(f"sentence {row + 1} of the batch\nquery")
    draw_legend(figure, {"True: may attend": MAY, "False: may not": MAY_NOT})
    return figure


def draw_allowed(axes: "Axes", allowed: npt.NDArray[np.bool_]) -> None:
    """Draw booleans (queries, keys) as cells, with the first query at the top."""
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([MAY_NOT, MAY])
    axes.pcolormesh(allowed.astype(float), cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def position_vectors(config: ModelConfig, length: int, model: Transformer | None = None) -> Table:
    """Return the first position vectors (length, D): learned ones from `model`; cosines and sines for rotary ones."""
    if config.positions == "learned":
        if model is None:
            raise InputError("model.positions is `learned`: the positions are in a trained run; name one with --run")
        found = model.target_embedding.positions.table
        assert found is not None
    elif config.positions == "rotary":
        rotary = rotary_positions(config)
        assert rotary is not None
        found = rotary.cosines_sines.flatten(1)
    else:
        found = sinusoidal_positions(config.max_positions, config.d_model)
    if not 2 <= length <= len(found):
        raise InputError(f"--length {length} is out of range; give 2 to {len(found)}, the positions of this model")
    table: Table = found[:length].detach().float().numpy()
    return table


@house_style()
def positions_figure(table: Table, title: str) -> "Figure":
    """Return the picture of the position vectors in `table` (length, D), and of the cosine between each two."""
    length, width = table.shape
    figure = new_figure(PAGE_INCHES, 3.4)
    figure.suptitle(title, fontsize=9.5)
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1.0])
    largest = float(np.abs(table).max())
    # Even dimensions first, then odd ones: alternating sines and cosines would flicker.
    apart = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1).T
    extent = (-0.5, length - 0.5, 0, width)
    image = left.imshow(apart, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto", origin="lower", extent=extent)
    left.set(title="values", xlabel="position", ylabel="even dimensions, then odd ones")
    figure.colorbar(image, ax=left)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    image = right.imshow(unit @ unit.T, vmax=1.0, origin="lower")
    right.set(title="cosine between two positions", xlabel="position", ylabel="position")
    figure.colorbar(image, ax=right, shrink=0.8)
    return figure


@house_style()
def schedule_figure(recipes: Mapping[str, TrainingConfig]) -> "Figure":
    """Return the picture of the learning rate of recipes, by name, from the first update to `max_steps`."""
    figure = new_figure(PAGE_INCHES, 3.2 + 0.18 * len(recipes))
    axes = figure.add_subplot()
    for number, (name, config) in enumerate(recipes.items()):
        steps = np.linspace(1, config.max_steps, min(600, config.max_steps)).round().astype(int).tolist()
        steps = sorted({*steps, min(max(config.warmup_steps, 1), config.max_steps)})  # includes the peak
        label = f"{config.schedule}, peak {config.learning_rate:g}, warm-up of {config.warmup_steps:,} updates"
        if config.schedule_clock == "minutes":
            label += f", compressed into {config.max_minutes:g} minutes"
        rates = [learning_rate(step, config) for step in steps]
        axes.plot(steps, rates, color=COLOURS[number % len(COLOURS)], label=f"{shown(name)}: {label}")
    axes.set(xlabel="update of the weights", ylabel="learning rate", xlim=(0, None), ylim=(0, None))
    axes.grid(True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside lower center")
    return figure


def measure_batches(config: Config) -> npt.NDArray[np.int64]:
    """Return the batches of an epoch, at most 4,000; prepares missing data.

    One row per batch: sentence pairs, longest source, longest target, source tokens, target tokens; with EOS.
    """
    found: list[tuple[int, ...]] = []
    with contextlib.closing(DataHandler(config).prepare().train_batches(DataPosition())) as batches:
        for batch, position in itertools.islice(batches, 4000):
            shape = (*batch.source.shape, batch.labels.shape[1])
            found.append((*shape, batch.source_tokens, batch.target_tokens))
            if position.epoch > 0:
                break
    return np.array(found, dtype=np.int64)


@house_style()
def batches_figure(batches: npt.NDArray[np.int64], budget: int, name: str) -> "Figure":
    """Return the picture of the batches of `measure_batches`: pairs, the token `budget`, and the share of padding."""
    pairs, source, target, source_tokens, target_tokens = batches.T
    longest, positions = np.maximum(source, target), pairs * (source + target)
    padding = positions - source_tokens - target_tokens
    figure = new_figure(PAGE_INCHES, 3.9)
    axes = figure.add_subplot()
    share = padding.sum() / positions.sum()
    axes.set_title(f"{shown(name)}: {len(pairs):,} batches of an epoch, {share:.1%} of all positions are padding")
    lengths = np.arange(longest.min(), longest.max() + 1)
    axes.plot(lengths, budget / lengths, color=COLOURS[6], label=f"budget: {budget:,} positions per side")
    drawn = axes.scatter(longest, pairs, s=14, c=100 * padding / positions, label="a batch")
    axes.set(xlabel="longest row of the batch, tokens", ylabel="sentence pairs in the batch", yscale="log")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("{x:,.0f}")
    axes.grid(True)
    axes.legend()
    figure.colorbar(drawn, ax=axes, label="padding in the batch, %")
    return figure
