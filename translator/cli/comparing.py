"""The verb compare."""

import argparse
from pathlib import Path
from typing import Any

from translator.cli.arguments import Verbs, place
from translator.cli.say import say
from translator.errors import InputError
from translator.signals import StopRequest

TEXTS = ("raw", "normalized", "folded")
"""In the order of `text_variants`."""


def add_verbs(verbs: Verbs) -> None:
    """Add the verb compare."""
    summary = "say whether one system is better than another, or whether it was chance, and in which sentences"
    compare = verbs.add_parser("compare", help=summary, description=summary)
    compare.add_argument(
        "systems",
        nargs="+",
        type=place,
        metavar="SYSTEM",
        help="run folders that were evaluated, *.sentences.jsonl of an evaluation, or text files of translations; "
        "the first is the baseline",
    )
    compare.add_argument("--source", metavar="FILE", help="English text of text files")
    compare.add_argument("--reference", action="extend", nargs="+", default=[], metavar="FILE", help="their references")
    compare.add_argument(
        "--test-set", action="extend", nargs="+", default=[], metavar="NAME", help="only these (default: all)"
    )
    compare.add_argument("--checkpoint", metavar="NAME", help="of the runs (default: what was evaluated last)")
    compare.add_argument("--search-label", metavar="LABEL", help="of the runs, for example beam-5 (default: the last)")
    compare.add_argument(
        "--metrics",
        nargs="+",
        choices=("bleu", "bleu_intl", "chrf", "chrf++", "ter"),
        default=["bleu", "chrf", "chrf++", "ter"],
        help="default: bleu chrf chrf++ ter",
    )
    compare.add_argument(
        "--text",
        nargs="+",
        choices=TEXTS,
        default=["raw"],
        help="as it is (default), with Persian normalization on both sides, or with half-spaces as spaces too",
    )
    compare.add_argument("--samples", type=int, default=1000, metavar="N", help="of the bootstrap (default: 1000)")
    compare.add_argument(
        "--trials", type=int, default=10_000, metavar="N", help="of the randomisation (default: 10000)"
    )
    compare.add_argument("--examples", type=int, default=10, metavar="N", help="sentences each way (default: 10)")
    compare.add_argument("--json", metavar="FILE", help="write everything there, too")
    compare.set_defaults(verb=_compare)


def _compare(options: argparse.Namespace, stop: StopRequest) -> None:
    for name in ("samples", "trials", "examples"):
        if getattr(options, name) < 0:
            raise InputError(f"--{name} {getattr(options, name)} is less than nothing; give 0 to leave it out")
    if options.samples == options.trials == 0:
        raise InputError(
            "--samples 0 and --trials 0 leave no test, and scores are shown with a test; leave out one of them at most"
        )
    from translator.config import NormalizationConfig
    from translator.evaluation.comparison import compare_systems, format_comparison
    from translator.evaluation.comparison.systems import read_systems
    from translator.evaluation.text_variants import text_variants
    from translator.storage import check_writable, write_json

    if options.json is not None:
        check_writable(Path(options.json))
    systems = read_systems(
        options.systems,
        source=options.source,
        references=options.reference,
        test_sets=options.test_set,
        checkpoint=options.checkpoint,
        search=options.search_label,
    )
    variants = dict(zip(TEXTS, text_variants(NormalizationConfig()), strict=True))
    found: list[dict[str, Any]] = []
    for sets in systems:
        comparison = compare_systems(
            sets,
            metrics=options.metrics,
            variants=[variants[name] for name in dict.fromkeys(options.text)],
            samples=options.samples,
            trials=options.trials,
            examples=options.examples,
            description=f"comparing on {sets[0].test_set}",
        )
        say(*([""] if found else []), *format_comparison(comparison))
        found.append(comparison.to_json())
    if options.json is not None:
        write_json(Path(options.json), found)
        say("", f"Written to {options.json}")
