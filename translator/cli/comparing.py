"""The verb compare."""

import argparse
import json
from typing import Any, Final

from translator.cli.arguments import FORMAT, option, place, say, verb
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest

_TEXTS: Final = ("raw", "normalized", "folded")  # in the order of `text_variants`
_METRICS: Final = ("bleu", "bleu_intl", "chrf", "chrf++", "ter")
_USUAL_METRICS: Final = [metric for metric in _METRICS if metric != "bleu_intl"]
_SYSTEMS: Final = "evaluated run folders, or text files of translations; the first is the baseline"
_VARIANTS: Final = "raw (default), normalized (by the rules for Persian), or folded (half-spaces also become spaces)"


@verb(
    "compare",
    "test whether one system is significantly better than another, and show sentences that differ",
    option("systems SYSTEM", _SYSTEMS, nargs="+", type=place),
    option("--source FILE", "source text, when systems are text files (default: source.txt beside them)", type=place),
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
    option("--metrics", "default: all but bleu_intl", nargs="+", choices=_METRICS, default=_USUAL_METRICS),
    option("--text", _VARIANTS, nargs="+", choices=_TEXTS, default=["raw"]),
    FORMAT,
    option("--json FILE", "also write all results to FILE as JSON", type=place),
    examples=("translator compare runs/a runs/b",),
)
def _compare(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import NormalizationConfig
    from translator.evaluation.compare import compare_systems
    from translator.evaluation.systems import languages_of, read_systems
    from translator.evaluation.terminal_report import format_comparison
    from translator.evaluation.text_variants import text_variants
    from translator.run.output_paths import refuse_input_as_output, write_output

    if options.json is not None:
        inputs = [*options.systems, *options.reference, *filter(None, [options.source])]
        refuse_input_as_output(inputs, options.json)
    # An evaluation may have several test sets; the systems of each are compared.
    systems = read_systems(
        options.systems,
        source=options.source,
        references=options.reference,
        test_sets=options.test_set,
        checkpoint=options.checkpoint,
    )
    # Each test set is compared on its own: scores of different texts cannot be added.
    results: list[dict[str, Any]] = []
    for sets in systems:
        languages = languages_of(text for texts in sets[0].text.references for text in texts)
        variants = dict(zip(_TEXTS, text_variants(NormalizationConfig(), languages), strict=True))
        comparison = compare_systems(
            sets,
            metrics=options.metrics,
            variants=[variants[name] for name in dict.fromkeys(options.text)],
            description=f"comparing on {sets[0].text.name}",
        )
        if results:
            say("")
        say(*format_comparison(comparison, options.format))
        results.append(comparison.to_json())
    if options.json is not None:
        write_output(options.json, json.dumps(results, ensure_ascii=False, indent=2) + "\n")
        LOGGER.info("written: %s", options.json)
