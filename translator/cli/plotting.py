"""The verbs `plot ...`: draw pictures of runs as PNG or SVG."""

import argparse
from pathlib import Path
from typing import Final

from translator.cli.arguments import CHECKPOINT, RUN, SET, chosen_run, option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

_TEXT: Final = "The children are at school."
_METRIC: Final = "loss, perplexity, bleu, chrf, or a TensorBoard tag; one panel for each (default: loss, bleu and chrf)"
_OUTPUT: Final = option("--output FILE", "picture file to write; ends in .png or .svg", required=True, type=place)


@verb(
    "plot attention",
    "the attention weights of a model for one sentence",
    *(RUN, CHECKPOINT, SET),
    option("text TEXT", "sentence to translate (default: a short example)", nargs="?"),
    option("--kind", "attention (default: cross)", choices=("cross", "encoder", "decoder"), default="cross"),
    option("--layer N", "layer: last (default), all, or a number from 1", default="last"),
    option("--head N", "head: mean (default), all, or a number from 1", default="mean"),
    _OUTPUT,
    examples=(f'translator plot attention --run runs/sample "{_TEXT}" --output attention.png',),
)
def _attention(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.plots.picture import check_picture, write_picture
    from translator.run.folder import RunFolder

    file = Path(options.output)
    check_picture(file)
    run = chosen_run(options.run)
    text = options.text
    if text is None:
        text = RunFolder(run).config().corpus.languages[0].example
    from translator.plots.attention import attention_figure, chosen_maps, sentence_attention

    queries, keys, weights = sentence_attention(
        run, text, options.kind, checkpoint=options.checkpoint, overrides=options.overrides
    )
    maps = chosen_maps(weights, options.layer, options.head)
    write_picture(attention_figure(queries, keys, maps, options.kind), file)
    say(f"Written to {file}")


@verb(
    "plot curves",
    "learning curves of runs, from their TensorBoard events",
    option("runs FOLDER", "run folders; each gets one colour", nargs="+", type=place),
    option("--metric NAME", _METRIC, dest="metrics", action="append"),
    option("--over", "horizontal axis (default: steps)", choices=("steps", "tokens", "minutes"), default="steps"),
    option("--smooth N", "smooth training curves by averaging N points (default: 1)", type=int, default=1),
    _OUTPUT,
    examples=("translator plot curves runs/a runs/b --metric chrf --output curves.svg",),
)
def _curves(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.plots.picture import check_picture, write_picture

    file = Path(options.output)
    check_picture(file)
    if options.smooth < 1:
        raise InputError(f"--smooth {options.smooth}: give a number of at least 1 (no smoothing)")
    from translator.plots.curves import USUAL_METRICS, curves_figure, read_curves

    # A run is named by its folder; two folders of one name, by their paths.
    folders = list(dict.fromkeys(options.runs))
    last_parts = [Path(folder).resolve().name for folder in folders]
    runs = {}
    for folder, last_part in zip(folders, last_parts, strict=True):
        runs[folder if last_parts.count(last_part) > 1 else last_part] = read_curves(folder)
    metrics = list(dict.fromkeys(options.metrics or USUAL_METRICS))
    write_picture(curves_figure(runs, metrics, options.over, options.smooth), file)
    say(f"Written to {file}")
