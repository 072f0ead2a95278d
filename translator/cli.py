"""The command line: every verb is one function elsewhere; here are only arguments, what is printed, and exit codes.

Exit codes: 0 done; 1 a bug, with its traceback; 2 the user's mistake, with one message; 130 and 143 stopped by SIGINT
and SIGTERM after saving.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from translator import __version__
from translator.errors import Interrupted, TranslatorError
from translator.log import log_to_console
from translator.signals import StopRequest, stop_on_signals

if TYPE_CHECKING:
    from translator.evaluation import Score, TranslatedPair

USER_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    options = _parser().parse_args(arguments)
    log_to_console()
    try:
        with stop_on_signals() as stop:
            options.verb(options, stop)
    except TranslatorError as error:
        print(f"translator: {error}", file=sys.stderr)
        return USER_ERROR
    except Interrupted as interrupted:
        print(f"translator: {interrupted}", file=sys.stderr)
        return interrupted.exit_code
    except BrokenPipeError:  # the reader of our output has gone (`| head`): nothing is left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


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

    evaluate = verbs.add_parser("evaluate", help="score a run on its test sets")
    evaluate.set_defaults(verb=_evaluate)
    translate = verbs.add_parser("translate", help="translate text, or standard input line by line")
    translate.set_defaults(verb=_translate)
    for verb in (evaluate, translate):
        verb.add_argument("--run", required=True, metavar="FOLDER", help="run folder, for example runs/sample")
        verb.add_argument("--checkpoint", default="best", help="best (default), last, or a step number")
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
    from translator.data import DataHandler

    data = DataHandler(load_config(options.config, options.overrides))
    print(format_report(data.corpus.report))
    print(data.format_report())
    print(f"prepared in {data.corpus.directory.parent}")


def _train(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.config import load_config
    from translator.training.run import train_run

    outcome = train_run(load_config(options.config, options.overrides), stop)
    folder = outcome.run.path
    if outcome.was_finished:
        print(f"{folder} is finished: {outcome.reason}, after {outcome.progress.step} steps.")
        print("To train it longer, raise that setting; for a new run, set run.directory or run another recipe.")
    _print_scores(outcome.scores)
    _print_samples(outcome.samples)
    print(f"\nThe run is in {folder} ({outcome.progress.step} steps, {outcome.progress.seconds / 60:.1f} minutes).")
    print("Next:")
    print("  make tensorboard")
    print(f"  make evaluate RUN={folder} SEARCH=beam BEAM=5")
    print(f'  make translate RUN={folder} TEXT="The door is open."')


def _search_overrides(options: argparse.Namespace) -> list[str]:
    """Return the search flags as overrides; a beam size implies beam search."""
    overrides = list(options.overrides)
    if options.search or options.beam is not None:
        overrides.append(f"search.method={options.search or 'beam'}")
    if options.beam is not None:
        overrides.append(f"search.beam_size={options.beam}")
    return overrides


def _evaluate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.evaluation import evaluate_run
    from translator.run_folder import RunFolder

    run = RunFolder.open(options.run)
    evaluation = evaluate_run(run, checkpoint=options.checkpoint, overrides=_search_overrides(options))
    _print_scores(evaluation.scores)
    _print_samples(evaluation.samples)
    print(f"\nWritten to {run.evaluation_folder}")


def _translate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.inference import Translator
    from translator.streaming import translate_interactively, translate_stream

    overrides = _search_overrides(options)
    translator = Translator.load(options.run, checkpoint=options.checkpoint, overrides=overrides)
    if options.text:
        for line in translator.translate_lines(options.text):
            print(line)
    elif sys.stdin.isatty():
        translate_interactively(translator)
    else:
        translate_stream(translator, sys.stdin.buffer, sys.stdout)


def _print_scores(scores: "Sequence[Score]") -> None:
    for score in scores:
        print(f"{score.test_set}  {score.metric:<10} {score.score:6.2f}  {score.normalization:<12} {score.signature}")


def _print_samples(samples: "Sequence[TranslatedPair]") -> None:
    for sample in samples[:3]:
        print(f"\n  English    {sample.source}\n  reference  {sample.reference}\n  translated {sample.hypothesis}")


if __name__ == "__main__":
    sys.exit(main())
