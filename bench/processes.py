"""Processes of the benchmarks: commands run to their end, and memory in use."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from translator.errors import Interrupted, RunError
from translator.run.signals import stop_on_signals

ROOT: Final = Path(__file__).parents[1]
TRANSLATOR: Final = (sys.executable, "-m", "translator")


def environment(threads: int | None = None) -> dict[str, str]:
    """Return an environment with this process's import path; None leaves the number of threads to the new process."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        variables.pop(name, None)
        if threads is not None:
            variables[name] = str(threads)
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), variables.get("PYTHONPATH")]))
    return variables


def run_command(command: Sequence[str], log: Path, threads: int | None = None) -> None:
    """Run `command` to its end, with its output appended to `log`; a stop signal is sent on to it.

    Raises:
        RunError: it failed.
        Interrupted: it was stopped.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, env=environment(threads), stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        with stop_on_signals():
            code = process.wait()
    except Interrupted as stop:
        process.send_signal(stop.signal_number)
        process.wait()
        raise
    if code:
        last_lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise RunError(f"a command ended with exit code {code}; {log} ends with: {' / '.join(last_lines)}")


def family(process: int) -> list[int]:
    """Return the process and all its descendants; empty if it has ended."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    members = [process]
    for child in children:
        members += family(int(child))
    return members


def memory_of(process: int) -> int:
    """Return the current resident bytes of a process, with its part of shared memory (PSS)."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0
    (line,) = [line for line in rollup.splitlines() if line.startswith("Pss:")]
    return int(line.split()[1]) * 1024
