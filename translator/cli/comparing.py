"""The verb compare."""

import argparse
import json
from pathlib import Path
from typing import Any, Final

from translator.cli.arguments import option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest

_TEXTS: Final = ("raw", "normalized", "folded")  # in the order of `text_variants`
_METRICS: Final = ("bleu", "bleu_intl", "chrf", "chrf++", "ter")
_USUAL_METRICS: Final = [metric for metric in _METRICS if metric != "bleu_intl"]
_SYSTEMS: Final = "evaluated run folders, *.sentences.jsonl of an evaluation, or text files; the first is the baseline"
_VARIANTS: Final = "raw (default), normalized (by the rules for Persian), or folded (half-spaces also become spaces)"


@verb(
    "compare",
    "test whether one system is significantly better than another, and show sentences that differ",
    option("systems SYSTEM", _SYSTEMS, nargs="+", type=place),
    option("--source FILE", "source text, when systems are text files", type=place),
    option(
        "--reference FILE",
        "references, when systems are text files",
        action="extend",
        nargs="+",
        type=place,
        default=[],
    ),
    option("--test-set NAME", "compare only on these test sets (default: all)", action="extend", nargs="+", default=[]),
    option("--checkpoint NAME", "checkpoint of the runs (default: the one evaluated last)"),
    option("--search-label LABEL", "search settings of the runs, for example beam-5 (default: the last evaluated)"),
    option("--metrics", "default: all but bleu_intl", nargs="+", choices=_METRICS, default=_USUAL_METRICS),
    option("--text", _VARIANTS, nargs="+", choices=_TEXTS, default=["raw"]),
    option("--samples N", "bootstrap resamples, or 0 (default: 1000)", type=int, default=1000),
    option("--trials N", "randomisation trials, or 0 (default: 10000)", type=int, default=10_000),
    option("--examples N", "example sentences per direction (default: 10)", type=int, default=10),
    option("--json FILE", "also write all results to FILE as JSON", type=place),
    examples=("translator compare runs/a runs/b",),
)
def _compare(options: argparse.Namespace, stop: StopRequest) -> None:
    _check_numbers(options)
    from translator.config import NormalizationConfig
    from translator.evaluation.compare import compare_systems
    from translator.evaluation.system_files import languages_of, read_systems
    from translator.evaluation.terminal_report import format_comparison
    from translator.evaluation.text_variants import text_variants
    from translator.run.output_paths import refuse_input_as_output, write_output

    if options.json is not None:
        refuse_input_as_output(_input_files(options), options.json)
    # An evaluation may have several test sets; the systems of each are compared.
    systems = read_systems(
        options.systems,
        source=options.source,
        references=options.reference,
        test_sets=options.test_set,
        checkpoint=options.checkpoint,
        search=options.search_label,
    )
    # Each test set is compared on its own: scores of different texts cannot be added.
    results: list[dict[str, Any]] = []
    for sets in systems:
        languages = languages_of(text for texts in sets[0].references for text in texts)
        variants = dict(zip(_TEXTS, text_variants(NormalizationConfig(), languages), strict=True))
        comparison = compare_systems(
            sets,
            metrics=options.metrics,
            variants=[variants[name] for name in dict.fromkeys(options.text)],
            samples=options.samples,
            trials=options.trials,
            examples=options.examples,
            description=f"comparing on {sets[0].test_set}",
        )
        if results:
            say("")
        say(*format_comparison(comparison))
        results.append(comparison.to_json())
    if options.json is not None:
        write_output(options.json, json.dumps(results, ensure_ascii=False, indent=2) + "\n")
        say("", f"Written to {options.json}")


def _check_numbers(options: argparse.Namespace) -> None:
    """Raise InputError for a negative number, or if no significance test is left."""
    for name in ("samples", "trials", "examples"):
        number = getattr(options, name)
        if number < 0:
            raise InputError(f"--{name} {number} is negative; give 0 to switch it off")
    if options.samples == options.trials == 0:
        raise InputError("--samples 0 and --trials 0 leave no significance test; raise one of them")


def _input_files(options: argparse.Namespace) -> list[Path]:
    """Return the files that the command reads, with those of evaluations in run folders."""
    files = [*map(Path, options.systems), *map(Path, options.reference)]
    if options.source is not None:
        files.append(Path(options.source))
    for system in options.systems:
        files += Path(system).glob("evaluation/*.json*")
    return files
