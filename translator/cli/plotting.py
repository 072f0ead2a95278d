"""The verbs `plot ...`: draw pictures of runs as PNG or SVG."""

import argparse
from pathlib import Path

from translator.cli.arguments import chosen_run, say
from translator.errors import InputError
from translator.plots.curves import USUAL_METRICS, curves_figure, read_curves
from translator.plots.picture import check_picture, write_picture
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest


def attention(options: argparse.Namespace, stop: StopRequest) -> None:
    """Draw the attention of a run in the translation of a sentence."""
    file = Path(options.output)
    check_picture(file)
    run = chosen_run(options.run)
    text = options.text
    if text is None:
        text = RunFolder(run).config().corpus.languages[0].example
    # This imports torch: only after the user's mistakes are told.
    from translator.plots.attention import attention_figure, chosen_maps, sentence_attention

    queries, keys, weights = sentence_attention(
        run, text, options.kind, checkpoint=options.checkpoint, overrides=options.overrides
    )
    maps = chosen_maps(weights, options.layer, options.head)
    write_picture(attention_figure(queries, keys, maps, options.kind), file)
    say(f"Written to {file}")


def curves(options: argparse.Namespace, stop: StopRequest) -> None:
    """Draw the learning curves of runs."""
    file = Path(options.output)
    check_picture(file)
    if options.smooth < 1:
        raise InputError(f"--smooth {options.smooth}: give a number of at least 1 (no smoothing)")

    # In the legend, a run has the name of its folder; or the path, if several folders have that name.
    folders = list(dict.fromkeys(options.runs))
    names = [Path(folder).resolve().name for folder in folders]
    runs = {}
    for folder, name in zip(folders, names, strict=True):
        label = folder if names.count(name) > 1 else name
        runs[label] = read_curves(folder)
    metrics = list(dict.fromkeys(options.metrics or USUAL_METRICS))
    write_picture(curves_figure(runs, metrics, options.over, options.smooth), file)
    say(f"Written to {file}")
