"""The command line: every verb is one function elsewhere; here are only arguments, what is printed, and exit codes.

Exit codes: 0 done; 1 a bug, with its traceback; 2 the user's mistake, with one message; 129, 130 and 143 stopped by
SIGHUP, SIGINT and SIGTERM after saving.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from translator import __version__
from translator.errors import InputError, Interrupted, TranslatorError
from translator.large_pages import begin_in_large_pages
from translator.log import log_to_console
from translator.signals import StopRequest, stop_on_signals
from translator.streaming import translate_interactively, translate_stream, write_lines
from translator.training.launch import handed_over, launch, launched

if TYPE_CHECKING:
    from translator.evaluation import Score, TranslatedPair

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    if arguments is None and sys.argv[1:2] == ["train"] and not launched():
        begin_in_large_pages()  # before anything has happened that would happen twice
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as we live
    for stream in (sys.stdout, sys.stderr):  # Persian is UTF-8, whatever the locale says
        if isinstance(stream, io.TextIOWrapper):
            # What cannot be shown must not stop a message; `reconfigure` would take "strict" by itself.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else stream.errors)
    log_to_console()
    try:
        with stop_on_signals() as stop:
            options = _parse(arguments)
            options.arguments = sys.argv[1:] if arguments is None else arguments
            options.verb(options, stop)
    except TranslatorError as error:
        if not handed_over(error):
            print(f"translator: {error}", file=sys.stderr)
        return USER_ERROR
    except Interrupted as interrupted:
        if not handed_over(interrupted):
            print(f"translator: {interrupted}", file=sys.stderr)
        return interrupted.exit_code
    except BrokenPipeError:
        pass  # the reader of our output has gone (`| head`): nothing is left to say
    return 0


def _say(*lines: str) -> None:
    """Print `lines` and all that was printed before, now, so that no failure is left to the interpreter's exit."""
    write_lines(sys.stdout, lines)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return _parser().parse_args(arguments)
    finally:
        _say()  # argparse prints its help and leaves


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="translator",
        description="Train, evaluate and use English→Persian neural translation models.",
        epilog="Example: translator train --config configs/sample.yaml --set training.max_steps=2000",
    )
    parser.add_argument("--version", action="version", version=f"translator {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    for name, function, summary in (
        ("prepare", _prepare, "clean and split a corpus, train its subword models, store its tokens"),
        ("train", _train, "prepare, train (or go on training), and evaluate"),
    ):
        verb = verbs.add_parser(name, help=summary, description=summary)
        verb.add_argument(
            "--config", required=True, metavar="FILE", help="YAML recipe, for example configs/sample.yaml"
        )
        _add_set(verb)
        verb.set_defaults(verb=function)
        if name == "train":
            verb.add_argument(
                "--allow-changed",
                action="store_true",
                help="go on with settings that make the run end otherwise than it would have",
            )
    runs = verbs.add_parser("runs", help="list runs: state, best score, speed")
    runs.add_argument("folder", nargs="?", default="runs", metavar="FOLDER", help="where they are (default: runs)")
    runs.set_defaults(verb=_runs)
    average = verbs.add_parser("average", help="average checkpoints of a run into its checkpoint `averaged`")
    average.add_argument("--run", required=True, metavar="FOLDER", help="run folder, for example runs/sample")
    average.add_argument("--count", type=int, default=5, metavar="K", help="how many (default: 5)")
    average.add_argument(
        "--of", choices=("last", "best"), default="last", help="the newest or the best (default: last)"
    )
    average.set_defaults(verb=_average)

    corpus = verbs.add_parser("corpus", help="look into corpora")
    questions = corpus.add_subparsers(metavar="QUESTION", required=True)
    summary = "count the pairs, and the texts of either side, that two corpora share"
    overlap = questions.add_parser("overlap", help=summary, description=summary)
    place = "a zip, a two-column TSV, a folder of these, or two files as ENGLISH:PERSIAN"
    overlap.add_argument("first", metavar="A", help=place)
    overlap.add_argument("second", metavar="B", help="the same")
    overlap.set_defaults(verb=_overlap)

    summary = "fetch a public corpus into a folder; nothing is ever downloaded without this"
    download = verbs.add_parser("download", help=summary, description=summary)
    download.add_argument("dataset", nargs="?", metavar="DATASET", help="its name; without one, all are listed")
    download.add_argument("--folder", default="data", metavar="FOLDER", help="where to (default: data)")
    download.set_defaults(verb=_download)

    evaluate = verbs.add_parser("evaluate", help="score a run on its test sets")
    evaluate.set_defaults(verb=_evaluate)
    translate = verbs.add_parser("translate", help="translate text, or standard input line by line")
    translate.set_defaults(verb=_translate)
    for verb in (evaluate, translate):
        verb.add_argument("--run", required=True, metavar="FOLDER", help="run folder, for example runs/sample")
        verb.add_argument("--checkpoint", default="best", help="best (default), last, averaged, or a step number")
        verb.add_argument("--search", choices=("greedy", "beam"), help="search.method (default: as in the run)")
        verb.add_argument("--beam", type=int, metavar="N", help="search.beam_size, with beam search")
        _add_set(verb)
    translate.add_argument("text", nargs="*", help="English text, one sentence each; without it, standard input")
    return parser


def _add_set(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY.PATH=VALUE", help="override one setting"
    )


def _prepare(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.corpus import format_report
    from translator.data import DataHandler, preparation_report, write_preparation_report
    from translator.prepared import fingerprint_of, prepared_folder
    from translator.subword import format_subword_tables

    config = load_config(options.config, options.overrides)
    data = DataHandler(config)
    report = preparation_report(data, config)
    prepared = data.corpus.directory.parent
    _, page = write_preparation_report(report, prepared_folder(prepared, "report", fingerprint_of(report.to_json())))
    _say(format_report(report.corpus), "", data.format_report(), "", format_subword_tables(report.subwords))
    _say("", f"prepared in {prepared}; the report with examples: {page}")


def _overlap(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import NormalizationConfig
    from translator.corpus import Normalizer
    from translator.corpus.comparison import compare_corpora, corpus_argument, format_comparison

    first, second = corpus_argument(options.first), corpus_argument(options.second)
    _say(format_comparison(compare_corpora(first, second, Normalizer(NormalizationConfig()))))


def _download(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.download import dataset_table, download_dataset, recipe_snippet

    if not options.dataset:
        _say(dataset_table())
        return
    folder = Path(options.folder)
    path = download_dataset(options.dataset, folder)
    _say(f"{path} is ready; for a recipe:", recipe_snippet(options.dataset, folder))


def _train(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.training.choices import choose_processes, threads_for
    from translator.training.run import train_run

    config = load_config(options.config, options.overrides)
    if not launched():
        processes, why = choose_processes(config)
        if processes > 1:
            print(f"training.processes: {processes} ({why})", file=sys.stderr)
            code = launch(options.arguments, processes, stop, threads_for(config.run.threads, processes))
            if code:
                raise SystemExit(code)
            return
    outcome = train_run(config, stop, options.allow_changed)
    if not outcome.tells:
        return
    folder = outcome.run.path
    if outcome.was_finished:
        _say(
            f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.",
            "To train it longer, raise that setting; for a new run, set run.directory or run another recipe.",
        )
    _say(*_score_table(outcome.scores), *_sample_lines(outcome.samples))
    _say(
        f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).",
        "Next:",
        "  make tensorboard",
        f"  make evaluate RUN={folder} SEARCH=beam BEAM=5",
        f'  make translate RUN={folder} TEXT="The door is open."',
    )


def _runs(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.run_list import format_run_list

    _say(format_run_list(options.folder))


def _average(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.checkpoint import average_run

    _say(average_run(options.run, options.count, options.of))


def _search_overrides(options: argparse.Namespace) -> list[str]:
    """Return the search flags as overrides; a beam size implies beam search.

    Raises:
        InputError: a beam size is given for greedy search, which has no beam.
    """
    if options.search == "greedy" and options.beam is not None:
        raise InputError(
            f"--beam {options.beam} means nothing with --search greedy, which keeps one hypothesis; "
            "leave out --beam, or take --search beam"
        )
    overrides = list(options.overrides)
    if options.search or options.beam is not None:
        overrides.append(f"search.method={options.search or 'beam'}")
    if options.beam is not None:
        overrides.append(f"search.beam_size={options.beam}")
    return overrides


def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.evaluation import evaluate_run
    from translator.run_folder import RunFolder

    overrides = _search_overrides(options)
    run = RunFolder.open(options.run)
    evaluation = evaluate_run(run, checkpoint=options.checkpoint, overrides=overrides)
    _say(*_score_table(evaluation.scores), *_sample_lines(evaluation.samples))
    _say(f"\nWritten to {run.evaluation_folder}")


def _translate(options: argparse.Namespace, stop: StopRequest) -> None:
    overrides = _search_overrides(options)
    if not options.text and sys.stdin is None:
        raise InputError("standard input is closed; give the text as arguments, or on standard input")
    from translator.inference import Translator

    translator = Translator.load(options.run, checkpoint=options.checkpoint, overrides=overrides)
    if options.text:
        _say(*translator.translate_lines(options.text))
    elif sys.stdin.isatty():
        translate_interactively(translator)
    else:
        translate_stream(translator, sys.stdin.fileno(), sys.stdout)


def _score_table(scores: "Sequence[Score]") -> list[str]:
    """Return a line for each score under a heading, with all that tells two scores of a test set apart."""
    if not scores:
        return []
    rows = [("test set", "metric", "score", "text", "search", "checkpoint", "signature")]
    rows += [
        (one.test_set, one.metric, f"{one.score:.2f}", one.normalization, one.search, one.checkpoint, one.signature)
        for one in scores
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if heading == "score" else cell.ljust(width)
            for heading, cell, width in zip(rows[0], row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _sample_lines(samples: "Sequence[TranslatedPair]") -> list[str]:
    return [
        f"\n  English    {sample.source}\n  reference  {sample.reference}\n  translated {sample.hypothesis}"
        for sample in samples[:3]
    ]
