"""The verb back-translate: training pairs from monolingual Persian text (Sennrich et al. 2016)."""

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import Final

from translator.cli.arguments import load_model, say, search_flags
from translator.cli.deriving import format_counts, monolingual_lines, open_trained_run, write_translations
from translator.corpus.derived import read_texts, synthetic_pairs, write_lines
from translator.errors import InputError
from translator.evaluation.metrics import sentence_chrf
from translator.recipes.text_folder import text_folder
from translator.run.signals import StopRequest

_LEAST_CHRF: Final = 20.0
_NAMES: Final = ("monolingual.fa", "translated.en", "round-trip.fa", "synthetic.en", "synthetic.fa")


def back_translate(options: argparse.Namespace, stop: StopRequest) -> None:
    """Translate Persian text into English, and write the pairs that pass the filters."""
    # 1. Read the runs and the text.
    if options.min_chrf is not None and options.round_trip is None:
        raise InputError("--min-chrf has no meaning without --round-trip; name an en-fa run there, or leave it out")
    backward = open_trained_run(options.run, "fa-en")
    forward = None if options.round_trip is None else open_trained_run(options.round_trip, "en-fa")
    lines = monolingual_lines(options.monolingual, backward)

    folder = Path(options.output)
    monolingual, english, round_trip, *synthetic = (folder / name for name in _NAMES)
    model = options.engine, "best", options.device, tuple(search_flags(options))
    with text_folder(folder, _NAMES) as texts:
        # 2. Translate into English, and back if the pairs are filtered by that.
        write_lines(monolingual, lines)
        write_translations(partial(load_model, (backward.path,), *model), monolingual, texts, english.name)
        scores = None
        if forward is not None:
            write_translations(partial(load_model, (forward.path,), *model), english, texts, round_trip.name)
            scores = sentence_chrf(list(read_texts(round_trip)), [(line,) for line in lines])

        # 3. Write the pairs that pass the filters.
        least = _LEAST_CHRF if options.min_chrf is None else options.min_chrf
        filters = backward.config().corpus.filters
        pairs, counts = synthetic_pairs(list(read_texts(english)), lines, filters, scores, least)
        for side, file in enumerate(synthetic):
            write_lines(file, (pair[side] for pair in pairs))
    say(f"back-translated pairs: {format_counts(counts)}")
    if not pairs:
        raise InputError(
            f"no back-translated pair is left; check the text ({monolingual}) and its translations ({english}), "
            "or loosen corpus.filters of the run"
        )
    files = [f"corpus.sources.2.{key}_path={file}" for key, file in zip(("source", "target"), synthetic, strict=True)]
    say("", "Next: mix them in, as configs/back-translation.yaml does:")
    say(f"  translator train --config back-translation --set {shlex.join(files)}", "")
