"""What the verbs that build on a trained run share: the run, its text and translations, and the comparison."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translator.cli.arguments import say
from translator.corpus.derived import read_monolingual
from translator.corpus.normalizer.normalizer_file import normalizer_of_run
from translator.errors import InputError
from translator.inference.engines.exported import is_export
from translator.inference.files.document import Document
from translator.inference.files.file_translation import translate_file
from translator.inference.files.output_formats import OutputForm
from translator.recipes.text_folder import TextFolder
from translator.run.folder import RunFolder

if TYPE_CHECKING:
    from translator.inference.translator import Translator


def open_trained_run(folder: str, direction: str | None = None) -> RunFolder:
    """Return the run at `folder`.

    Raises InputError: `folder` is an export, or the run has another `direction`, such as `fa-en`.
    """
    run = RunFolder.open(folder)
    if is_export(run.path):
        raise InputError(
            f"{folder} is an export, and this command needs the training text of the run; name the run folder"
        )
    run_direction = run.config().corpus.direction
    if direction is not None and run_direction != direction:
        raise InputError(f"{folder} translates {run_direction}; give a run with corpus.direction: {direction}")
    return run


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


def monolingual_lines(files: Sequence[str], run: RunFolder) -> list[str]:
    """Return the distinct lines of text in one language, normalized as source text of `run`; print counts.

    Raises InputError: there is no text.
    """
    config = run.config()
    normalizer = normalizer_of_run(run, config)
    lines, counts = read_monolingual([Path(file) for file in files], normalizer, config.corpus.filters.max_words)
    if not lines:
        raise InputError(f"no line of {', '.join(files)} has text to translate ({format_counts(counts)})")
    say(f"{config.corpus.languages[0].name} lines: {format_counts(counts)}")
    return lines


def format_counts(counts: Counter[str]) -> str:
    """Return counts by reason, the largest first."""
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def write_translations(
    load: "Callable[[], Translator]", source: Path, texts: TextFolder, name: str, count: int = 1
) -> None:
    """Write `count` translations of each line of `source` to a file of `texts`, unless it has them; say what was done.

    Several translations of a line are one row of JSON Lines.
    """
    output = texts.folder / name
    document = Document(source, OutputForm("text" if count == 1 else "jsonl", count))
    earlier = texts.made_from(name)
    made_from = translate_file(load, document, output, earlier)
    texts.note(name, made_from)
    say(f"{output} {'exists and is reused' if made_from == earlier else 'is written'}")
