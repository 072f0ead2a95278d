"""The verbs evaluate and compare."""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from translator.cli.arguments import TEXT_FORMS, chosen_runs, say, search_flags
from translator.config import NormalizationConfig
from translator.errors import InputError
from translator.evaluation import System, evaluate_systems
from translator.evaluation.compare import compare_systems
from translator.evaluation.systems import languages_of, read_systems
from translator.evaluation.tables import format_tables
from translator.evaluation.terminal_report import format_comparison, format_differences, format_samples
from translator.evaluation.text_variants import text_variants
from translator.inference.engines.exported import is_export
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.output_paths import refuse_input_as_output, write_output
from translator.run.signals import StopRequest


def evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    """Translate and score test sets with one or several systems, and print the tables."""
    overrides = search_flags(options)
    if options.robustness:
        overrides.append("evaluation.robustness=true")
    runs = [RunFolder(folder) for folder in chosen_runs(list(dict.fromkeys(options.runs)))]
    _refuse_contradictions(options, runs)
    systems = _systems(runs, options)
    evaluation = evaluate_systems(
        systems,
        test_sets=options.test_sets,
        split=options.split or "test",
        hypotheses=_hypotheses(options.hypotheses),
        overrides=overrides,
        engine=options.engine,
        device=options.device,
        report=not options.no_report,
        output=None if options.output is None else Path(options.output),
    )

    say(*format_tables(evaluation.tables, options.format))
    # Other forms than text are read by programs and papers, so they have the tables only.
    if options.format != "text":
        return
    for comparison in evaluation.comparisons:
        say(*format_differences(comparison))
    say(*format_samples(evaluation.samples), "")
    if evaluation.sets:  # none if the run has no text of this split
        say(*(f"Written to {folder}" for folder in dict.fromkeys(system.folder for system in systems)))
    if evaluation.report is not None:
        say(f"For a browser: {evaluation.report}")


def _hypotheses(arguments: Sequence[str]) -> dict[str, Path]:
    """Return the files of translations by the names of their programs; raise InputError for another form."""
    files = {}
    for argument in arguments:
        name, _, path = argument.partition("=")
        if not re.fullmatch(r"[\w.+-]{1,40}", name) or not path:
            raise InputError(f"--hypotheses {argument}: give a name and a file, such as google=translations.txt")
        files[name] = Path(path)
    return files


def _refuse_contradictions(options: argparse.Namespace, runs: Sequence[RunFolder]) -> None:
    """Raise InputError if the options contradict each other, or if the runs cannot be evaluated so."""
    if options.test_sets and options.split is not None:
        raise InputError("--split selects the run's own text, and --test-set another text; leave out one of them")
    if options.output is not None and options.no_report:
        raise InputError("--output and --no-report contradict each other; leave out one of them")
    first = runs[0].path
    if is_export(first) and not options.test_sets:
        raise InputError(f"{first} is an export and has no test set; give one: --test-set ENGLISH:PERSIAN")
    if options.ensemble and len(runs) < 2:
        raise InputError("--ensemble needs at least two runs: --run FOLDER --run FOLDER")


def _systems(runs: Sequence[RunFolder], options: argparse.Namespace) -> list[System]:
    """Return the systems to evaluate: each run, or all as one ensemble, with each checkpoint."""
    groups = [tuple(runs)] if options.ensemble else [(run,) for run in runs]
    checkpoints = list(dict.fromkeys(options.checkpoints or ["best"]))
    systems = []
    for group in groups:
        systems += [System(group, checkpoint) for checkpoint in checkpoints]
    return systems


def compare(options: argparse.Namespace, stop: StopRequest) -> None:
    """Compare evaluated runs, or text files of translations, on each test set that they share."""
    if options.json is not None:
        inputs = [*options.systems, *options.reference, *filter(None, [options.source])]
        refuse_input_as_output(inputs, options.json)
    systems_of_sets = read_systems(
        options.systems,
        source=options.source,
        references=options.reference,
        test_sets=options.test_set,
    )
    # Each test set is compared on its own: scores of different texts cannot be added.
    results: list[dict[str, Any]] = []
    for sets in systems_of_sets:
        languages = languages_of(text for texts in sets[0].text.references for text in texts)
        variants = text_variants(NormalizationConfig(), languages)
        labels = dict(zip(TEXT_FORMS, variants, strict=True))  # both have the same order
        chosen_variants = {labels[form]: variants[labels[form]] for form in options.text}
        comparison = compare_systems(sets, metrics=options.metrics, variants=chosen_variants)
        if results:
            say("")  # a blank line between test sets
        say(*format_comparison(comparison, options.format))
        results.append(comparison.to_json())
    if options.json is not None:
        write_output(options.json, json.dumps(results, ensure_ascii=False, indent=2) + "\n")
        LOGGER.info("written: %s", options.json)
