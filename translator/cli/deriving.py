"""What the verbs that build on a trained run share: the run, a verb that they run in turn, and the comparison."""

import argparse
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from translator.cli.arguments import Verb, say
from translator.errors import InputError
from translator.inference.file_translation import translate_file
from translator.inference.line_translation import Work
from translator.inference.output_formats import OutputForm
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.config import Config
    from translator.inference.translator import Translator
    from translator.run.folder import RunFolder
    from translator.run.made_files import MadeFiles

PLAIN_TEXT: Final = "one sentence per line, in UTF-8 or UTF-16, plain or compressed by gzip, xz or zstd"


class TrainedRun(NamedTuple):
    """A run to build on, and its configuration."""

    folder: "RunFolder"
    config: "Config"


def open_trained_run(folder: str, direction: str | None = None) -> TrainedRun:
    """Return the run at `folder`.

    Raises InputError: `folder` is an export, or the run has another `direction`, such as `fa-en`.
    """
    from translator.inference.exported import is_export
    from translator.run.folder import RunFolder

    run = RunFolder.open(folder)
    if is_export(run.path):
        raise InputError(
            f"{folder} is an export, and this command needs the training text of the run; name the run folder"
        )
    config = run.config()
    if direction is not None and config.corpus.direction != direction:
        raise InputError(
            f"{folder} translates {config.corpus.direction}; give a run with corpus.direction: {direction}"
        )
    return TrainedRun(folder=run, config=config)


def run_verb(verb: Verb, arguments: Sequence[str], stop: StopRequest) -> None:
    """Print a command of this program, and run it in this process."""
    # The command is printed as a user would type it, so that it can be repeated alone.
    typed = [verb.name, *arguments]
    say("", f"translator {shlex.join(typed)}", "")
    options = verb.parser().parse_args(arguments, argparse.Namespace(arguments=typed))
    verb.run(options, stop)


def compare_runs(before: Path, after: Path, test_sets: Sequence[str]) -> None:
    """Evaluate two runs on the same test sets; print score differences with p-values of paired bootstrap tests."""
    from translator.evaluation import System, evaluate_systems
    from translator.evaluation.metrics import show_value
    from translator.run.folder import RunFolder
    from translator.run.text import text_table

    output = after / "evaluation"
    # The evaluation of the run before, which may have more metrics, stays as it is.
    systems = [System((RunFolder(before),), results=output / before.name), System((RunFolder(after),))]
    evaluation = evaluate_systems(
        systems, test_sets=test_sets, overrides=["evaluation.metrics=[bleu, chrf]"], output=output
    )
    # One test suffices for this short table; the report in the folder has all of them.
    rows = []
    for comparison in evaluation.comparisons:
        for test in comparison.tests:
            if test.method != "bootstrap":
                continue
            baseline, system = test.systems
            rows.append(
                [
                    comparison.test_set,
                    test.metric,
                    show_value(test.metric, baseline.score),
                    show_value(test.metric, system.score),
                    f"{system.difference:+.2f}",
                    f"{system.p_value:.4f}",
                ]
            )
    header = ["test set", "metric", before.name, after.name, "difference", "p"]
    say("", text_table(header, rows, text_columns=2), f"For a browser: {evaluation.report}")


def write_monolingual(
    files: Sequence[str],
    run: TrainedRun,
    output: Path,
    made_files: "MadeFiles",
    student: "RunFolder | None" = None,
) -> None:
    """Write the distinct lines of text in one language, and print counts.

    Args:
        files: the text, one sentence per line.
        run: will translate the text; its languages, normalizer and filters apply.
        output: the file to write.
        made_files: the record of the folder of `output`.
        student: the run that learns from the text; once it is trained, its text stays.

    Raises InputError: there is no text, or a trained `student` has seen other text.
    """
    from translator.corpus.derived import read_monolingual, read_texts, write_lines
    from translator.corpus.normalizer_file import normalizer_of_run

    config = run.config
    normalizer = normalizer_of_run(run.folder, config)
    text = read_monolingual([Path(file) for file in files], normalizer, config.corpus.filters.max_words)
    if not text.lines:
        raise InputError(f"no line of {', '.join(files)} has text to translate ({format_counts(text.counts)})")
    # A trained student must not get other text than it has learned from: its run would no longer tell the truth.
    is_trained = student is not None and student.has_checkpoint and output.exists()
    if is_trained and list(read_texts(output, made_files)) != text.lines:
        raise InputError(f"the student was trained on other text than {', '.join(files)}; give another --output")
    with made_files.writing(output):
        write_lines(output, text.lines)
    say(f"{config.corpus.languages[0].name} lines: {format_counts(text.counts)}")


def format_counts(counts: "Counter[str]") -> str:
    """Return counts by reason, the largest first."""
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def write_translations(
    load: "Callable[[], Translator]", source: Path, output: Path, made_files: "MadeFiles", count: int = 1
) -> None:
    """Write `count` translations of each line of `source` to `output` unless it is complete; print what was done."""
    work = Work(load, OutputForm("text" if count == 1 else "jsonl", count))
    is_written = translate_file(work, source, output, made_files)
    say(f"{output} {'is written' if is_written else 'exists and is reused'}")
