"""Processes of the benchmarks: workers that compute on request, commands run to their end, and memory in use."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

from translator.errors import Interrupted, RunError

ROOT: Final = Path(__file__).parents[1]
TRANSLATOR: Final = (sys.executable, "-m", "translator")
Answer = dict[str, float]


def environment(threads: int | None = None) -> dict[str, str]:
    """Return an environment with this process's import path; None leaves the number of threads to the new process."""
    variables = dict(os.environ)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        variables.pop(name, None)
        if threads is not None:
            variables[name] = str(threads)
    import_path = [str(ROOT)]
    if variables.get("PYTHONPATH"):
        import_path.append(variables["PYTHONPATH"])
    variables["PYTHONPATH"] = os.pathsep.join(import_path)
    variables["TOKENIZERS_PARALLELISM"] = "false"
    return variables


class Worker:
    """One contestant in one or several processes, which are idle between requests.

    `commands` are the arguments of Python for each process, which calls `serve`.
    """

    def __init__(self, name: str, commands: Sequence[Sequence[str]]) -> None:
        self.name = name
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        self._processes = [
            subprocess.Popen([sys.executable, *command], env=environment(), **pipes) for command in commands
        ]

    def ask(self, verb: str, **arguments: Any) -> list[Answer]:
        """Return the answers of all processes, computed in parallel; raise RunError if a process has ended."""
        for process in self._processes:
            assert process.stdin
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"verb": verb, **arguments}) + "\n")
                process.stdin.flush()
        answers = []
        for process in self._processes:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise RunError(
                    f"the contestant `{self.name}` ended with exit code {process.wait()}; its error is above"
                )
            answers.append(json.loads(line))
        return answers

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()


def in_turns(workers: Sequence[Worker], rounds: int) -> Iterator[Worker]:
    """Yield all workers in each round; the first worker rotates."""
    for number in range(rounds):
        turn = number % len(workers)
        yield from (*workers[turn:], *workers[:turn])


def serve(build: Callable[[], Mapping[str, Callable[..., Answer]]]) -> int:
    """Answer the requests of a `Worker` on standard input, in its process.

    `build` returns the function for each verb. Output of libraries goes to standard error.
    """
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        verbs = build()
        for line in sys.stdin:
            question = json.loads(line)
            answers.write(json.dumps(verbs[question.pop("verb")](**question)) + "\n")
            answers.flush()
    return 0


def run_command(command: Sequence[str], log: Path, threads: int | None = None) -> None:
    """Run `command` to its end, with its output appended to `log`; forwards SIGINT and SIGTERM to it.

    Raises:
        RunError: it failed.
        Interrupted: it was stopped.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        streams: dict[str, Any] = {"stdout": stream, "stderr": subprocess.STDOUT, "start_new_session": True}
        process = subprocess.Popen(command, env=environment(threads), **streams)

    def forward(number: int, frame: FrameType | None) -> None:
        process.send_signal(number)

    earlier_handlers = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        code = process.wait()
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)
    for number in earlier_handlers:
        if code in (128 + number, -number):
            raise Interrupted(number)
    if code:
        last_lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise RunError(f"a command ended with exit code {code}; {log} ends with: {' / '.join(last_lines)}")


def family(process: int) -> list[int]:
    """Return the process and all its descendants; empty if the system has no such information."""
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
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))


def peak_memory() -> int:
    """Return the peak resident memory of this process, in bytes."""
    with contextlib.suppress(OSError):  # on Linux, `getrusage` starts with the parent's peak
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
