"""Show all runs below a folder in TensorBoard, each under the name of its folder; runs that begin later come in too."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

SECONDS = 5.0
"""Between two looks for new runs."""


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, help="the folder that the runs are in, or in folders below it")
    parser.add_argument("--port", type=int, default=6006)
    options = parser.parse_args()
    if not options.runs.is_dir():
        parser.error(f"no folder {options.runs}; train a run first: make train")
    signal.signal(signal.SIGTERM, _stop)
    with tempfile.TemporaryDirectory(prefix="tensorboard-") as place:
        links = Path(place, options.runs.resolve().name or "runs")
        links.mkdir()
        link_runs(options.runs, links)
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", links.name, "--port", str(options.port)]
        process = subprocess.Popen(command, cwd=place)  # the page shows the folder as it is given here
        try:
            while process.poll() is None:
                link_runs(options.runs, links)
                try:
                    process.wait(SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            return
    sys.exit(process.returncode)


def link_runs(runs: Path, folder: Path) -> None:
    """Put a link to the event files of each run into `folder`, named as the run is below `runs`."""
    for place, names, _ in os.walk(runs):
        if "tensorboard" in names:
            names.clear()  # no run lies inside another
            run = Path(place)
            link = folder / (run.relative_to(runs) if run != runs else run.resolve().name)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to((run / "tensorboard").resolve())
        names[:] = [name for name in names if not name.startswith(".")]


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
