"""The verbs on runs as such: runs, tensorboard, average."""

import argparse

from translator.cli.arguments import Verbs, place
from translator.cli.say import say
from translator.signals import StopRequest


def add_verbs(verbs: Verbs) -> None:
    """Add the verbs runs, tensorboard and average."""
    summary = "list runs: state, best score, speed"
    runs = verbs.add_parser("runs", help=summary, description=summary)
    runs.add_argument("folder", nargs="?", default="runs", metavar="FOLDER", help="where they are (default: runs)")
    runs.set_defaults(verb=_runs)
    summary = "watch all runs in a browser, each under the name of its folder"
    tensorboard = verbs.add_parser("tensorboard", help=summary, description=summary)
    tensorboard.add_argument(
        "folder", nargs="?", type=place, default="runs", metavar="FOLDER", help="where they are (default: runs)"
    )
    tensorboard.add_argument(
        "--port", type=int, default=6006, metavar="N", help="of this machine; 0 takes a free one (default: 6006)"
    )
    tensorboard.set_defaults(verb=_tensorboard)
    summary = "average checkpoints of a run into its checkpoint `averaged`"
    average = verbs.add_parser("average", help=summary, description=summary)
    average.add_argument(
        "--run", type=place, required=True, metavar="FOLDER", help="run folder, for example runs/sample"
    )
    average.add_argument("--count", type=int, default=5, metavar="K", help="how many (default: 5)")
    average.add_argument(
        "--of", choices=("last", "best"), default="last", help="the newest or the best (default: last)"
    )
    average.set_defaults(verb=_average)


def _runs(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.run_list import format_run_list

    say(format_run_list(options.folder))


def _tensorboard(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.tensorboard_server import serve_tensorboard

    serve_tensorboard(options.folder, options.port, stop)


def _average(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.checkpoint import average_run

    say(average_run(options.run, options.count, options.of))
