"""The parent's side of the contest: processes that compute only when it is their turn."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from translator.config import Config
from translator.errors import RunError


class Contestant:
    """One contestant's process; it sleeps between two calls."""

    def __init__(self, name: str, config: Config) -> None:
        self.name = name
        arguments = [sys.executable, "-m", "bench.contest", name, config.model_dump_json()]
        # One thread setting for all, set by the recipe: what the shell asks for must not differ from it.
        environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # finds what this process finds
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        )

    @property
    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def ask(self, verb: str, **arguments: Any) -> dict[str, float]:
        """Give one command and wait for its answer.

        Raises:
            RunError: the process is gone.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise RunError(f"the contestant `{self.name}` ended with exit code {code}; what it said is above")
        answer: dict[str, float] = json.loads(line)
        return answer

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if kind is not None:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()  # nothing more to do, so it ends
        self._process.wait()
        self._process.stdout.close()


@contextlib.contextmanager
def start_contestants(names: Sequence[str], config: Config) -> Iterator[dict[str, Contestant]]:
    """Start a process for each name, one after the other, and end them all after the block."""
    with contextlib.ExitStack() as stack:
        contestants = {}
        for name in names:
            contestants[name] = stack.enter_context(Contestant(name, config))
            contestants[name].ask("memory")  # answers when everything is loaded
        yield contestants
