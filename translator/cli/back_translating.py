"""The verb back-translate: training pairs from monolingual Persian text (Sennrich et al. 2016)."""

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import Final

from translator.cli.arguments import PARENT_RUN, SEARCH, load_model, option, place, say, search_flags, verb
from translator.cli.deriving import PLAIN_TEXT, format_counts, open_trained_run, write_monolingual, write_translations
from translator.errors import InputError
from translator.run.signals import StopRequest

_LEAST_CHRF: Final = 20.0


@verb(
    "back-translate",
    "make training pairs from monolingual Persian text, with a run that translates Persian into English",
    PARENT_RUN,
    option("--monolingual FILE", f"Persian text, {PLAIN_TEXT}", nargs="+", action="extend", type=place, required=True),
    option(
        "--output FOLDER",
        "folder of the pairs (default: data/back-translated)",
        type=place,
        default="data/back-translated",
    ),
    option("--round-trip RUN", "en-fa run that translates the English back to filter pairs", type=place),
    option("--min-chrf SCORE", "with --round-trip: least chrF against the Persian line (default: 20)", type=float),
    *SEARCH,
    examples=("translator back-translate --run runs/mizan-reverse --monolingual persian.txt",),
)
def _back_translate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.derived import read_texts, write_synthetic
    from translator.evaluation.metrics import sentence_chrf
    from translator.recipes.back_translation import BackTranslationPlan
    from translator.run.made_files import filled_folder

    # 1. Decide.
    if options.min_chrf is not None and options.round_trip is None:
        raise InputError("--min-chrf has no meaning without --round-trip; name an en-fa run there, or leave it out")
    backward = open_trained_run(options.run, "fa-en")
    forward = None if options.round_trip is None else open_trained_run(options.round_trip, "en-fa")
    plan = BackTranslationPlan(Path(options.output), has_round_trip=forward is not None)

    # 2. Translate into English, and back if the pairs are filtered by that.
    with filled_folder(plan.folder, options.monolingual, plan.outputs) as made_files:
        write_monolingual(options.monolingual, backward, plan.persian, made_files)
        model = options.engine, "best", options.device, tuple(search_flags(options))
        load_backward = partial(load_model, (backward.folder.path,), *model)
        write_translations(load_backward, plan.persian, plan.english, made_files)
        scores = None
        if forward is not None:
            load_forward = partial(load_model, (forward.folder.path,), *model)
            write_translations(load_forward, plan.english, plan.round_trip, made_files)
            references = [(text,) for text in read_texts(plan.persian, made_files)]
            scores = sentence_chrf(list(read_texts(plan.round_trip, made_files)), references)

        # 3. Write the pairs that pass the filters.
        counts = write_synthetic(
            plan.english,
            plan.persian,
            backward.config.corpus.filters,
            plan.synthetic,
            made_files,
            scores,
            _LEAST_CHRF if options.min_chrf is None else options.min_chrf,
        )
    say(f"back-translated pairs: {format_counts(counts)}")
    if not counts["kept"]:
        raise InputError(
            f"no back-translated pair is left; check the text ({plan.persian}) and its translations ({plan.english}), "
            "or loosen corpus.filters of the run"
        )
    say("", "Next: mix them in, as configs/back-translation.yaml does:")
    say(f"  translator train --config back-translation --set {shlex.join(plan.training_overrides())}", "")
