"""TensorBoard on all runs below a folder, each under the name of its folder; runs that begin later come in too.

Left to itself it would call each of them `NAME/tensorboard`, where its event files lie. So it is shown links.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from translator.errors import InputError
from translator.signals import StopRequest
from translator.storage import explain_os_error, storage_errors

_SECONDS: Final = 5.0
"""Between two looks for new runs."""
_PATIENCE: Final = 2.0
"""Seconds that TensorBoard has to end when it is asked to; less than a stop signal may wait (translator/signals.py)."""


def serve_tensorboard(runs: Path | str, port: int, stop: StopRequest) -> None:
    """Serve at `port` of this machine until it is stopped; TensorBoard says the address by itself.

    Args:
        runs: the folder that the runs are in, or in folders below it, or a single run.
        port: 0 takes a free one.
        stop: of this process: no signal may come between the start of TensorBoard and the knowledge of it.

    Raises:
        InputError: there is no such folder or port, or TensorBoard has ended by itself, most often since the port is
            taken.
        Interrupted: it was stopped.
        StorageError: `runs` may not be read, or there is no room for temporary files.
    """
    runs = Path(runs)
    try:
        os.scandir(runs).close()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            f"no folder {runs}; train a run first: make train, or translator train --config sample"
        ) from error
    except OSError as error:
        raise explain_os_error(error, runs, "read") from error
    if not 0 <= port < 2**16:
        raise InputError(f"--port {port}: a port is a number from 0 to 65535")
    with storage_errors("a temporary folder"), tempfile.TemporaryDirectory(prefix="tensorboard-") as place:
        links = Path(place, runs.resolve().name or "runs")
        links.mkdir()
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", links.name, "--port", str(port)]
        link_runs(runs, links)
        process: subprocess.Popen[bytes] | None = None
        try:
            with stop.deferred():
                process = subprocess.Popen(command, cwd=place)  # the page shows the folder as it is given here
            stop.check()
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_SECONDS)
                link_runs(runs, links)
        finally:
            if process is not None:
                _end(process)
    raise InputError(
        f"TensorBoard has ended with exit code {process.returncode}; what it said stands above. "
        "If the port is taken, name another: translator tensorboard --port 6007"
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def link_runs(runs: Path, folder: Path) -> None:
    """Let `folder` have a link to the event files of each run, named as the run is below `runs`, and no other.

    Raises:
        OSError: `folder` cannot be written.
    """
    found: dict[Path, Path] = {}
    for place, names, _ in os.walk(runs):
        run = Path(place)
        # A run may itself be called tensorboard: then the folder has one of that name in it.
        if "tensorboard" in names and not (run / "tensorboard" / "tensorboard").is_dir():
            names.clear()  # no run lies inside another
            link = folder / (run.relative_to(runs) if run != runs else run.resolve().name)
            found[link] = (run / "tensorboard").resolve()
        names[:] = [name for name in names if not name.startswith(".")]
    if {path for path in folder.rglob("*") if path.is_symlink()} - found.keys():
        # A run was moved or deleted, and there may be folders now where it was: begin anew.
        for path in folder.iterdir():
            path.unlink() if path.is_symlink() else shutil.rmtree(path)
    for link, events in found.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(events)
