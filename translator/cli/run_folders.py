"""The verbs that look after runs: average, tensorboard."""

import argparse
import os
import sys
from pathlib import Path

from translator.cli.arguments import RUN, chosen_run, option, place, say, verb
from translator.errors import InputError
from translator.run.signals import StopRequest


@verb(
    "average",
    "average the weights of several checkpoints of a run into a new checkpoint `averaged`",
    RUN,
    option("--count K", "number of checkpoints (default: 5)", type=int, default=5),
    option(
        "--of", "which checkpoints: the newest (last, default) or the best", choices=("last", "best"), default="last"
    ),
    examples=("translator average --run runs/mizan --of best --count 5",),
)
def _average(options: argparse.Namespace, stop: StopRequest) -> None:
    run = chosen_run(options.run)
    from translator.checkpoint.averaging import average_run

    say(average_run(run, options.count, options.of))


@verb(
    "tensorboard",
    "start TensorBoard for all runs in a folder",
    option("folder FOLDER", "folder of the runs (default: runs)", nargs="?", type=place, default="runs"),
    option("--port N", "port on this machine (default: 6006)", type=int, default=6006),
    examples=("translator tensorboard experiments --port 6007",),
)
def _tensorboard(options: argparse.Namespace, stop: StopRequest) -> None:
    # TensorBoard itself would start, and show an empty page.
    if not Path(options.folder).is_dir():
        raise InputError(f"{options.folder} is not a folder; name the folder that holds the runs, for example runs")
    command = [
        sys.executable,
        "-m",
        "translator.run.tensorboard",
        "--logdir",
        options.folder,
        "--port",
        str(options.port),
    ]
    os.execv(sys.executable, command)  # TensorBoard is a separate program, which replaces this process
