"""Pictures of one translation: the attention of each head, and the cache of a beam search.

No entry moves in that cache: each row attends to its own branch of a tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from translator.data import collate_source
from translator.errors import InputError
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.plots import COLOURS, FAINT, PAGE_INCHES, draw_legend, house_style, new_figure, shown
from translator.plots.pictures import MAY, MAY_NOT, draw_allowed
from translator.run.text import excerpt, shown_pieces
from translator.search.search import search
from translator.special_tokens import EOS, SOS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["cross", "encoder", "decoder"]
Maps = npt.NDArray[np.float32]
_FIRST_ROW: Final = COLOURS[1]
_ATTENDED: Final = "#CFE3F2"


@dataclass(frozen=True)
class SentenceAttention:
    """The attention of all layers and heads of one kind, for one sentence."""

    kind: Kind
    looking: Sequence[str]  # T queries: the produced pieces for cross-attention, else the input pieces
    looked_at: Sequence[str]  # S keys
    weights: Maps  # (layers, H, T, S); each row sums to 1

    def panels(self, layer: str = "last", head: str = "mean") -> dict[str, Maps]:
        """Return (T, S) maps by title, for `last`, `mean`, `all` or a number from 1; raise InputError for others."""
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


def look(
    run: Path | str, text: str, *, kind: Kind = "cross", checkpoint: str = "best", overrides: Sequence[str] = ()
) -> SentenceAttention:
    """Return the attention of a run's translation of `text`; only of the first segment if the text is too long."""
    # 1. Translate the sentence.
    loaded, engine, ids = _first_segment(run, text, checkpoint, overrides)
    best = loaded.hypotheses([ids])[0][0]
    source = [*ids, EOS]
    labels = [*best.tokens, *([EOS] if best.finished else [])]
    target_input = [SOS, *labels[:-1]]

    # 2. Compute the attention for the whole translation at once.
    attention = engine.models[0].attention(torch.tensor([source]), torch.tensor([target_input]))
    weights = torch.stack(getattr(attention, kind))  # (layers, 1, H, T, S)

    # 3. Spell the pieces of queries and keys.
    source_pieces = loaded.subword.source.pieces_of(source)
    produced_pieces = loaded.subword.target.pieces_of(labels)
    input_pieces = loaded.subword.target.pieces_of(target_input)
    pieces = {
        "cross": (produced_pieces, source_pieces),
        "encoder": (source_pieces, source_pieces),
        "decoder": (input_pieces, input_pieces),
    }
    looking, looked_at = pieces[kind]
    return SentenceAttention(kind, looking, looked_at, weights[:, 0].float().numpy())


def _first_segment(
    run: Path | str, text: str, checkpoint: str, overrides: Sequence[str]
) -> tuple[Translator, TorchSearcher, list[int]]:
    loaded = Translator.load(run, engine="torch", checkpoint=checkpoint, device="cpu", overrides=overrides)
    segments = loaded.segments([text])
    if not segments:
        raise InputError("the text has no words to translate; give a sentence")
    assert isinstance(loaded.searcher, TorchSearcher)
    return loaded, loaded.searcher, list(segments[0].ids)


@house_style()
def attention_figure(attention: SentenceAttention, panels: dict[str, Maps]) -> "Figure":
    """Return the picture of `panels`, maps of `attention`, on one colour scale; a row per layer."""
    looking = shown_pieces(attention.looking, right_to_left=attention.kind != "encoder")
    looked_at = shown_pieces(attention.looked_at, right_to_left=attention.kind == "decoder")
    rows = len({title.split(",")[0] for title in panels})
    columns = len(panels) // rows
    margin = 1.9  # inches, for the labels and the colour scale
    # Smaller cells would make labels unreadable, so a longer sentence gives a wider picture.
    cell = float(np.clip((PAGE_INCHES - margin) / (columns * len(looked_at)), 0.13, 0.36))
    size = min(9.0, 0.7 * cell * 72)
    below = 0.55 + max(map(len, looked_at)) * 0.6 * size / 72
    width = max(cell * columns * len(looked_at) + margin, 4.2)
    figure = new_figure(width, (cell * len(looking) + 0.3) * rows + below)
    figure.set_layout_engine("compressed")  # cells are squares
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    highest = max(float(weights.max()) for weights in panels.values())
    for axes, (title, weights) in zip(grid.flat, panels.items(), strict=True):
        image = axes.imshow(weights, vmin=0.0, vmax=highest)
        axes.set_title(title)
        axes.set_xticks(range(len(looked_at)), looked_at, rotation=90, fontsize=size)
        axes.set_yticks(range(len(looking)), looking, fontsize=size)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    figure.supxlabel(f"key: {'target' if attention.kind == 'decoder' else 'source'} piece", fontsize=9)
    figure.supylabel(f"query: {'source' if attention.kind == 'encoder' else 'target'} piece", fontsize=9)
    figure.colorbar(image, ax=grid, shrink=1.0 if rows == 1 else 0.6, aspect=25, label="attention weight")
    return figure


# --- the cache of a beam search ---


@dataclass(frozen=True)
class BeamHistory:
    """A beam search over one sentence as recorded in the decoder's cache; T steps, W rows."""

    parents: npt.NDArray[np.int64]  # (T, W) back-pointers: the parent row at the previous position
    pieces: Sequence[Sequence[str]] = ()  # (T, W) the piece that each row cached at each position, SOS first
    title: str = ""

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Return (W, T, W): whether the newest position of each row may attend to each row's entry at each position.

        It may attend to its own branch; at the first position all rows are equal, and may attend to each other.
        """
        length, width = self.parents.shape
        allowed = np.full((width, length, width), length == 1)
        for row in range(width):
            allowed[row, range(length), self.branch(length - 1, row)] = True
        return allowed

    def branch(self, position: int, row: int) -> list[int]:
        """Return the rows, by position, on the branch that ends in `row` at `position`."""
        rows = [row]
        for place in range(position, 0, -1):
            rows.append(int(self.parents[place, rows[-1]]))
        return rows[::-1]


class _Recorder:
    """A model and the state of its search; records the tokens and back-pointers of each step."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.max_positions: int = model.max_positions
        self.steps: list[tuple[list[int], list[int]]] = []

    def start(self, source: Tensor, width: int = 1) -> "_Recorder":
        self._state, self._rows = self._model.start(source, width), torch.arange(width)
        return self

    def select(self, rows: Tensor) -> None:
        self._rows = rows
        self._state.select(rows)

    def step(self, tokens: Tensor, cache: "_Recorder", /) -> Tensor:
        self.steps.append((tokens.tolist(), self._rows.tolist()))
        logits: Tensor = self._model.step(tokens, self._state)
        return logits


def record_search(
    run: Path | str, text: str, *, checkpoint: str = "best", step: int | None = None, overrides: Sequence[str] = ()
) -> BeamHistory:
    """Return the history of a beam search on `text`, or its first segment, up to `step` or for all steps."""
    loaded, engine, ids = _first_segment(run, text, checkpoint, overrides)
    settings = loaded.search.model_copy(update={"method": "beam"})
    if settings.beam_size < 2:
        raise InputError("a beam of one row has no branches; give --beam 2 or more")
    recorder = _Recorder(engine.models[0])
    best = search(recorder, collate_source([ids]), settings)[0][0]
    steps = len(recorder.steps)
    if step is not None and not 1 <= step <= steps:
        raise InputError(f"--step {step} does not exist: this search took {steps} steps; give 1 to {steps}")
    tokens, parents = zip(*recorder.steps[:step], strict=True)
    (translation,) = loaded.subword.target.decode_ids([list(best.tokens)])
    english = shown(excerpt(text, 60))
    persian = shown(excerpt(translation, 60))
    return BeamHistory(
        parents=np.array(parents),
        pieces=[loaded.subword.target.pieces_of(tokens_of_step) for tokens_of_step in tokens],
        title=f"{english}  →  {persian}, beam of {settings.beam_size}",
    )


@house_style()
def cache_figure(history: BeamHistory) -> "Figure":
    """Return the picture of the cache at the last step: the tree of branches, and each row's attention bias."""
    length, width = history.parents.shape
    figure = new_figure(max(PAGE_INCHES, 0.62 * length + 0.8), 0.56 * width + 2.5)
    figure.suptitle(history.title, fontsize=9.5)
    tree, bias = figure.subplots(2, 1, height_ratios=[0.36 * width, 0.2 * width])
    allowed, positions = history.allowed(), range(1, length + 1)
    _draw_tree(tree, history, np.any(allowed, axis=0))
    tree.set_xticks(range(length), map(str, positions))
    tree.set(title="the entry of each row at each position, and the branch it continues")
    draw_allowed(bias, allowed.reshape(width, length * width))
    bias.set_xticks([width * (position - 0.5) for position in positions], map(str, positions))
    bias.set(title="the cache entries that the newest position of each row may attend to")
    for position in positions:
        bias.axvline(position * width, color="black", linewidth=0.8)
    for axes in (tree, bias):
        axes.set(xlabel="position in the target", ylabel="row", yticks=[])
        axes.tick_params(length=0)
    legend = {"branch of the first row": _FIRST_ROW, "another row attends to it": _ATTENDED, "no row attends": FAINT}
    draw_legend(figure, legend | {"bias 0: may attend": MAY, "bias −∞: may not": MAY_NOT})
    return figure


def _draw_tree(axes: "Axes", history: BeamHistory, attended: npt.NDArray[np.bool_]) -> None:
    """Draw a box for each cache entry, and a line from each to its parent."""
    length, width = history.parents.shape
    first = history.branch(length - 1, 0)
    for position, row in np.ndindex(length, width):
        in_first = row == first[position]
        colour = _FIRST_ROW if in_first else _ATTENDED if attended[position, row] else FAINT
        if position:
            ends = [int(history.parents[position, row]), row]
            axes.plot([position - 1, position], ends, color=colour, linewidth=1.8, zorder=2 if in_first else 1)
        branch = [history.pieces[at][of] for at, of in enumerate(history.branch(position, row))]
        label = shown_pieces(branch, right_to_left=True)[-1]  # with letters joined to the previous pieces
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "none"}
        letters = "white" if in_first else "black"
        axes.text(position, row, label, ha="center", va="center", fontsize=8, color=letters, bbox=box, zorder=3)
    axes.set(xlim=(-0.6, length - 0.4), ylim=(width - 0.5, -0.5))
    axes.spines[:].set_visible(False)
