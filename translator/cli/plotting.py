"""The verbs `plot ...`: pictures as PNG or SVG."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import CHECKPOINT, CONFIG, RUN, SET, Option, Verb, option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TEXT: Final = "The children are at school."
_SENTENCE: Final = option("text TEXT", "sentence (default: a short one)", nargs="?")
_MODEL: Final = (RUN, CHECKPOINT, SET, _SENTENCE)
_METRIC: Final = "loss, perplexity, bleu, chrf, or a TensorBoard tag; a panel each (default: loss, bleu and chrf)"


def _text(options: argparse.Namespace) -> str:
    """Return the sentence that is given, or a short one in the source language of the run."""
    from translator.run.folder import RunFolder

    if options.text is not None:
        return str(options.text)
    return RunFolder.open(options.run).config().corpus.languages[0].example


def picture(
    name: str, summary: str, *options: Option, examples: tuple[str, ...] = ()
) -> Callable[[Callable[[argparse.Namespace], "Figure"]], Verb]:
    """Make a verb of the decorated function, which returns the picture once its output is known to be writable."""

    def decorate(draw: Callable[[argparse.Namespace], "Figure"]) -> Verb:
        def write(options: argparse.Namespace, stop: StopRequest) -> None:
            from translator.plots import check_picture, write_picture

            check_picture(options.output)
            write_picture(draw(options), options.output)
            say(f"Written to {options.output}")

        return verb(f"plot {name}", summary, *options, output, examples=examples)(write)

    output = option("--output FILE", "where to; ends in .png or .svg", required=True, type=Path)
    return decorate


@picture(
    "attention",
    "where a model looks while it translates a sentence",
    *_MODEL,
    option("--kind", "cross: from target to source", choices=("cross", "encoder", "decoder"), default="cross"),
    option("--layer N", "last (default), all, or a number from 1", default="last"),
    option("--head N", "mean (default), all, or a number from 1", default="mean"),
    examples=(f'translator plot attention --run runs/sample "{_TEXT}" --output attention.png',),
)
def _attention(options: argparse.Namespace) -> "Figure":
    from translator.plots.attention import attention_figure, look

    found = look(
        options.run, _text(options), kind=options.kind, checkpoint=options.checkpoint, overrides=options.overrides
    )
    return attention_figure(found, found.panels(options.layer, options.head))


@picture(
    "cache",
    "the cache of a beam search: its tree, and who attends to what",
    *_MODEL,
    option("--beam N", "search.beam_size (default: the run's)", type=int),
    option("--step N", "after N steps (default: at the end)", type=int),
)
def _cache(options: argparse.Namespace) -> "Figure":
    from translator.plots.attention import cache_figure, record_search

    overrides = options.overrides + ([] if options.beam is None else [f"search.beam_size={options.beam}"])
    return cache_figure(
        record_search(
            options.run, _text(options), checkpoint=options.checkpoint, step=options.step, overrides=overrides
        )
    )


@picture(
    "curves",
    "how runs learned, from their TensorBoard events",
    option("runs FOLDER", "run folders, each a colour", nargs="+", type=place),
    option("--metric NAME", _METRIC, dest="metrics", action="append"),
    option("--over", "default: steps", choices=("steps", "tokens", "minutes"), default="steps"),
    option("--smooth N", "draw training curves as means of N points (default: 1)", type=int, default=1),
    examples=("translator plot curves runs/a runs/b --metric chrf --output curves.svg",),
)
def _curves(options: argparse.Namespace) -> "Figure":
    if options.smooth < 1:
        raise InputError(f"--smooth {options.smooth} is no number of points; give 1 (no smoothing) or more")
    from translator.plots.curves import USUAL_METRICS, curves_figure, read_curves

    found = [read_curves(path) for path in dict.fromkeys(options.runs)]
    return curves_figure(found, list(dict.fromkeys(options.metrics or USUAL_METRICS)), options.over, options.smooth)


@picture("masks", "which position may attend to which, in a batch of two sentence pairs")
def _masks(options: argparse.Namespace) -> "Figure":
    from translator.plots.pictures import masks_figure

    return masks_figure()


@picture(
    "positions",
    "the position vectors of a model",
    option("--config FILE", "of this recipe (default: sample)"),
    option("--run FOLDER", "of this trained run, which may have learned them", type=place),
    *(CHECKPOINT, SET),
    option("--length N", "positions to draw (default: 64)", type=int, default=64),
)
def _positions(options: argparse.Namespace) -> "Figure":
    from translator.checkpoint.files import load_model
    from translator.config import load_config
    from translator.model.device import choose_device
    from translator.plots.pictures import position_vectors, positions_figure
    from translator.run.folder import RunFolder

    trained = None
    if options.run is not None:
        if options.overrides or options.config is not None:
            raise InputError("--config and --set are for a recipe, and a trained run does not change; leave them out")
        run = RunFolder.open(options.run)
        name, model = run.path.resolve().name, run.config().model
        trained, _ = load_model(run.checkpoints_folder, options.checkpoint, choose_device("cpu"))
    else:
        recipe = options.config or "sample"
        name, model = Path(recipe).stem, load_config(recipe, options.overrides).model
    heads = f", {model.heads} heads" if model.positions == "rotary" else ""
    title = f"{model.positions} positions of {name}, width {model.d_model}{heads}"
    return positions_figure(position_vectors(model, options.length, trained), title)


@picture(
    "schedule",
    "the learning rate over the updates of recipes",
    option("--config FILE", "recipe, or name of a shipped one; repeat it for several", action="append", required=True),
    SET,
)
def _schedule(options: argparse.Namespace) -> "Figure":
    from translator.config import load_config
    from translator.plots import distinct
    from translator.plots.pictures import schedule_figure

    names = distinct([Path(file).with_suffix("") for file in options.config])
    settings = [load_config(file, options.overrides).training for file in options.config]
    return schedule_figure(dict(zip(names, settings, strict=True)))


@picture(
    "batches",
    "the token budget at work: how much of a recipe's batches is padding; prepares what is not prepared yet",
    *(CONFIG, SET),
)
def _batches(options: argparse.Namespace) -> "Figure":
    from translator.config import load_config
    from translator.plots.pictures import batches_figure, measure_batches

    config = load_config(options.config, options.overrides)
    return batches_figure(measure_batches(config), config.batching.tokens_per_batch, Path(options.config).stem)
