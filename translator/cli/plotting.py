"""The verb plot: pictures as PNG or SVG."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from translator.cli.arguments import Verbs, add_checkpoint, add_config, add_set, place
from translator.cli.say import say
from translator.errors import InputError
from translator.signals import StopRequest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ANY_RECIPE = "run: {directory: none}\ncorpus: {sources: [{name: none, path: none.tsv}]}"
"""For pictures of the model's defaults: what a recipe must name, and these pictures do not ask for."""
_SENTENCE = "The children are at school."


def add_verbs(verbs: Verbs) -> None:
    """Add the verb plot, with a picture as its first argument."""
    summary = "draw a picture as PNG or SVG: attention, positions, schedule, batches, curves, masks, cache"
    plot = verbs.add_parser("plot", help=summary, description=summary)
    pictures = plot.add_subparsers(metavar="PICTURE", required=True)
    _add_attention(pictures)
    _add_positions(pictures)
    _add_schedule(pictures)
    _add_batches(pictures)
    _add_curves(pictures)
    _add_masks(pictures)
    _add_cache(pictures)


def _add_picture(pictures: Verbs, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a picture, which is written to a file."""
    picture = pictures.add_parser(name, help=summary, description=summary)
    picture.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="where to; ends in .png or .svg, which is the format"
    )
    return picture


def _add_run(picture: argparse.ArgumentParser) -> None:
    """Let `picture` take a run and a sentence for it."""
    picture.add_argument(
        "--run", required=True, type=place, metavar="FOLDER", help="run folder, for example runs/sample"
    )
    add_checkpoint(picture)
    add_set(picture)
    picture.add_argument(
        "text", nargs="?", default=_SENTENCE, metavar="TEXT", help=f"English sentence (default: {_SENTENCE})"
    )


def _write(options: argparse.Namespace, figure: "Figure") -> None:
    from translator.plots.figure import write_picture

    write_picture(figure, options.output)
    say(f"Written to {options.output}")


def _check(options: argparse.Namespace) -> None:
    from translator.plots.figure import check_picture

    check_picture(options.output)


def _add_attention(pictures: Verbs) -> None:
    picture = _add_picture(pictures, "attention", "where a model looks while it translates a sentence")
    _add_run(picture)
    picture.add_argument(
        "--kind",
        choices=("cross", "encoder", "decoder"),
        default="cross",
        help="from Persian to English (default), within the English, or within the Persian",
    )
    picture.add_argument("--layer", default="last", metavar="N", help="last (default), all, or a number from 1")
    picture.add_argument("--head", default="mean", metavar="N", help="mean (default), all, or a number from 1")
    picture.set_defaults(verb=_attention)


def _attention(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.plots.attention import attention_figure
    from translator.plots.sentence_attention import look

    found = look(
        options.run, options.text, kind=options.kind, checkpoint=options.checkpoint, overrides=options.overrides
    )
    _write(options, attention_figure(found, found.panels(options.layer, options.head)))


def _add_positions(pictures: Verbs) -> None:
    picture = _add_picture(pictures, "positions", "what tells a model the position of a token")
    whose = picture.add_mutually_exclusive_group()
    whose.add_argument("--config", metavar="FILE", help="of this recipe (default: of a recipe that sets nothing)")
    whose.add_argument("--run", type=place, metavar="FOLDER", help="of this trained run, which may have learned them")
    add_checkpoint(picture)
    picture.add_argument("--length", type=int, default=64, metavar="N", help="positions to draw (default: 64)")
    add_set(picture)
    picture.set_defaults(verb=_positions)


def _positions(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.config import load_config, parse_config
    from translator.plots.positions import described, positions_figure, positions_of_recipe, positions_of_run
    from translator.run_folder import RunFolder

    if options.run is not None:
        if options.overrides:
            raise InputError("--set changes a recipe, and a trained run stays as it is; leave out --set or --run")
        run = RunFolder.open(options.run)
        name, model = run.path.resolve().name, run.config().model
        table = positions_of_run(run, options.checkpoint, options.length)
    elif options.config is not None:
        name, model = Path(options.config).stem, load_config(options.config, options.overrides).model
        table = positions_of_recipe(model, options.length)
    else:
        name, model = None, parse_config(_ANY_RECIPE, "the recipe of this picture", options.overrides).model
        table = positions_of_recipe(model, options.length)
    _write(options, positions_figure(table, described(model, name), turned=model.positions == "rotary"))


def _add_schedule(pictures: Verbs) -> None:
    picture = _add_picture(pictures, "schedule", "the learning rate over the updates of recipes")
    picture.add_argument(
        "--config",
        action="append",
        required=True,
        metavar="FILE",
        help="YAML recipe, or the name of one of ours (translator recipe); several are drawn together",
    )
    add_set(picture)
    picture.set_defaults(verb=_schedule)


def _schedule(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.config import load_config
    from translator.plots.figure import distinct
    from translator.plots.schedule import schedule_figure

    settings = [load_config(file, options.overrides).training for file in options.config]
    names = distinct([Path(file).with_suffix("") for file in options.config])
    _write(options, schedule_figure(list(zip(names, settings, strict=True))))


def _add_batches(pictures: Verbs) -> None:
    picture = _add_picture(
        pictures,
        "batches",
        "the token budget at work: what of the batches of a recipe is text, and what is padding; prepares what is not "
        "prepared yet",
    )
    add_config(picture)
    picture.set_defaults(verb=_batches)


def _batches(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.config import load_config
    from translator.plots.batch_fill import measure_batches
    from translator.plots.batches import batches_figure

    fill = measure_batches(load_config(options.config, options.overrides))
    _write(options, batches_figure(fill, Path(options.config).stem))


def _add_curves(pictures: Verbs) -> None:
    picture = _add_picture(pictures, "curves", "how runs learned, from what they told TensorBoard")
    picture.add_argument("runs", nargs="+", type=place, metavar="FOLDER", help="run folders, each a colour")
    picture.add_argument(
        "--metric",
        dest="metrics",
        action="append",
        metavar="NAME",
        help="loss, perplexity, bleu, chrf, or a curve of TensorBoard by its whole name; a panel each "
        "(default: loss, bleu and chrf)",
    )
    picture.add_argument(
        "--over", choices=("steps", "tokens", "minutes"), default="steps", help="what runs across (default: steps)"
    )
    picture.add_argument(
        "--smooth", type=int, default=1, metavar="N", help="draw training curves as means of N points (default: 1)"
    )
    picture.set_defaults(verb=_curves)


def _curves(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    if options.smooth < 1:
        raise InputError(f"--smooth {options.smooth} is no number of points; give 1 (no smoothing) or more")
    from translator.plots.curves import USUAL_METRICS, curves_figure, metric_panels
    from translator.plots.event_files import read_curves

    runs = [read_curves(path) for path in dict.fromkeys(options.runs)]
    panels = metric_panels(runs, list(dict.fromkeys(options.metrics or USUAL_METRICS)), options.over)
    _write(options, curves_figure(runs, panels, options.over, options.smooth))


def _add_masks(pictures: Verbs) -> None:
    picture = _add_picture(pictures, "masks", "which position may attend to which, in a batch of two sentence pairs")
    picture.set_defaults(verb=_masks)


def _masks(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.plots.mask_example import example_masks
    from translator.plots.masks import masks_figure

    _write(options, masks_figure(example_masks()))


def _add_cache(pictures: Verbs) -> None:
    picture = _add_picture(
        pictures, "cache", "what the cache of a beam search holds, and which branch each row attends to"
    )
    _add_run(picture)
    picture.add_argument("--beam", type=int, metavar="N", help="search.beam_size (default: as in the run)")
    picture.add_argument("--step", type=int, metavar="N", help="as it is after N steps (default: all steps)")
    picture.set_defaults(verb=_cache)


def _cache(options: argparse.Namespace, stop: StopRequest) -> None:
    _check(options)
    from translator.plots.beam_cache import beam_cache_figure
    from translator.plots.beam_history import remember_search

    overrides = list(options.overrides)
    if options.beam is not None:
        overrides.append(f"search.beam_size={options.beam}")
    found = remember_search(
        options.run, options.text, checkpoint=options.checkpoint, step=options.step, overrides=overrides
    )
    _write(options, beam_cache_figure(found))
