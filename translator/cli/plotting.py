"""The verbs `plot ...`: draw pictures as PNG or SVG."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import CHECKPOINT, CONFIG, RUN, SET, Option, Verb, chosen_run, option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEXT: Final = "The children are at school."
_SENTENCE: Final = option("text TEXT", "sentence to translate (default: a short example)", nargs="?")
_MODEL: Final = (RUN, CHECKPOINT, SET, _SENTENCE)
_METRIC: Final = "loss, perplexity, bleu, chrf, or a TensorBoard tag; one panel for each (default: loss, bleu and chrf)"


def picture(
    name: str, summary: str, *options: Option, examples: tuple[str, ...] = ()
) -> Callable[[Callable[[argparse.Namespace], "Figure"]], Verb]:
    """Return a decorator that turns a drawing function into a verb; it first checks that the output is writable."""

    def decorate(draw: Callable[[argparse.Namespace], "Figure"]) -> Verb:
        def draw_and_write(options: argparse.Namespace, stop: StopRequest) -> None:
            from translator.plots.picture_file import check_picture, write_picture
            from translator.run.output_paths import refuse_input_as_output

            # A picture may take a translation or a preparation, so its output is checked first.
            file = Path(options.output)
            check_picture(file)
            refuse_input_as_output(_recipes(options), file)
            write_picture(draw(options), file)
            say(f"Written to {file}")

        return verb(f"plot {name}", summary, *options, output, examples=examples)(draw_and_write)

    output = option("--output FILE", "picture file to write; ends in .png or .svg", required=True, type=place)
    return decorate


def _recipes(options: argparse.Namespace) -> list[str]:
    """Return the recipes that a picture is drawn of: none, one, or several."""
    recipes = getattr(options, "config", None) or []
    return [recipes] if isinstance(recipes, str) else list(recipes)


@picture(
    "attention",
    "the attention weights of a model for one sentence",
    *_MODEL,
    option("--kind", "attention (default: cross)", choices=("cross", "encoder", "decoder"), default="cross"),
    option("--layer N", "layer: last (default), all, or a number from 1", default="last"),
    option("--head N", "head: mean (default), all, or a number from 1", default="mean"),
    examples=(f'translator plot attention --run runs/sample "{_TEXT}" --output attention.png',),
)
def _attention(options: argparse.Namespace) -> "Figure":
    from translator.run.folder import RunFolder

    run = chosen_run(options.run)
    text = options.text
    if text is None:
        text = RunFolder(run).config().corpus.languages[0].example
    from translator.plots.attention import attention_figure, sentence_attention

    attention = sentence_attention(
        run, text, kind=options.kind, checkpoint=options.checkpoint, overrides=options.overrides
    )
    return attention_figure(attention, attention.panels(options.layer, options.head))


@picture(
    "curves",
    "learning curves of runs, from their TensorBoard events",
    option("runs FOLDER", "run folders; each gets one colour", nargs="+", type=place),
    option("--metric NAME", _METRIC, dest="metrics", action="append"),
    option("--over", "horizontal axis (default: steps)", choices=("steps", "tokens", "minutes"), default="steps"),
    option("--smooth N", "smooth training curves by averaging N points (default: 1)", type=int, default=1),
    examples=("translator plot curves runs/a runs/b --metric chrf --output curves.svg",),
)
def _curves(options: argparse.Namespace) -> "Figure":
    if options.smooth < 1:
        raise InputError(f"--smooth {options.smooth}: give a number of at least 1 (no smoothing)")
    from translator.plots.curves import USUAL_METRICS, curves_figure, read_curves

    curves = [read_curves(path) for path in dict.fromkeys(options.runs)]
    metrics = list(dict.fromkeys(options.metrics or USUAL_METRICS))
    return curves_figure(curves, metrics, options.over, options.smooth)


@picture("masks", "the attention masks of a row with two sentence pairs")
def _masks(options: argparse.Namespace) -> "Figure":
    from translator.plots.attention_masks import masks_figure

    return masks_figure()


@picture(
    "positions",
    "the position encodings of a model",
    option("--config FILE", "recipe of the model (default: sample)", type=place),
    option("--run FOLDER", "trained run, instead of a recipe; shows learned positions", type=place),
    *(CHECKPOINT, SET),
    option("--length N", "positions to draw (default: 64)", type=int, default=64),
)
def _positions(options: argparse.Namespace) -> "Figure":
    from translator.checkpoint.state import pin_checkpoint
    from translator.config import load_config
    from translator.run.folder import RunFolder

    # A run shows the positions that it has learned; a recipe shows those of a new model.
    checkpoint = None
    if options.run is not None:
        if options.overrides or options.config is not None:
            raise InputError("--run draws a trained model, so --config and --set have no effect; leave them out")
        run = RunFolder.open(options.run)
        checkpoint = pin_checkpoint(run.checkpoints_folder, options.checkpoint)
        name = run.path.resolve().name
        model = checkpoint.state.model
    else:
        recipe = options.config or "sample"
        name = Path(recipe).stem
        model = load_config(recipe, options.overrides).model
    from translator.checkpoint.files import load_model
    from translator.plots.position_vectors import position_vectors, positions_figure
    from translator.speed.device import choose_device

    trained = None if checkpoint is None else load_model(checkpoint, choose_device("cpu"))
    heads = f", {model.heads} heads" if model.positions == "rotary" else ""
    title = f"{model.positions} positions of {name}, width {model.d_model}{heads}"
    return positions_figure(position_vectors(model, options.length, trained), title)


@picture(
    "schedule",
    "the learning rate at each update, for one recipe or several",
    option(
        "--config FILE",
        "recipe, or name of a shipped one; repeat it for several",
        action="append",
        required=True,
        type=place,
    ),
    SET,
)
def _schedule(options: argparse.Namespace) -> "Figure":
    from translator.config import load_config
    from translator.plots.learning_rate_curves import schedule_figure
    from translator.plots.style import distinct_names

    names = distinct_names([Path(file).with_suffix("") for file in options.config])
    settings = [load_config(file, options.overrides).training for file in options.config]
    return schedule_figure(dict(zip(names, settings, strict=True)))


@picture(
    "batches",
    "rows of an epoch: their sentences and padding; prepares the data of the recipe first if needed",
    *(CONFIG, SET),
)
def _batches(options: argparse.Namespace) -> "Figure":
    from translator.config import load_config

    config = load_config(options.config, options.overrides)
    from translator.plots.epoch_rows import batches_figure, epoch_rows

    return batches_figure(epoch_rows(config), Path(options.config).stem)
