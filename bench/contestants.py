"""The parent's side of the contest: processes that compute only when it is their turn."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from translator.config import Config
from translator.errors import RunError
from translator.large_pages import large_pages

OURS = "translator"
OURS_TWICE = "translator, two processes"


class Contestant:
    """One contestant's process, or the several that train together; they sleep between two calls."""

    def __init__(self, name: str, config: Config) -> None:
        self.name = name
        count = 2 if name == OURS_TWICE else 1
        # One thread setting for all, set by the recipe: what the shell asks for must not differ from it.
        environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # finds what this process finds
        if name in (OURS, OURS_TWICE):
            environment |= large_pages()  # as `translator train` takes them for itself
        ranks: list[dict[str, str]] = [{}]
        if count > 1:
            meeting = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(_free_port()), "WORLD_SIZE": str(count)}
            ranks = [meeting | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
        arguments = [sys.executable, "-m", "bench.contest", name, config.model_dump_json()]
        self._processes = [
            subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=environment | rank,
            )
            for rank in ranks
        ]

    @property
    def running(self) -> bool:
        """Whether all its processes are alive."""
        return all(process.poll() is None for process in self._processes)

    def ask(self, verb: str, **arguments: Any) -> dict[str, float]:
        """Give one command and wait for its answer; of several processes, that of the first, and all their memory.

        Raises:
            RunError: a process is gone.
        """
        for process in self._processes:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
                process.stdin.flush()
        answers = [self._answer(process) for process in self._processes]
        if verb == "memory":
            return {"bytes": sum(answer["bytes"] for answer in answers)}
        return answers[0]

    def _answer(self, process: "subprocess.Popen[str]") -> dict[str, float]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            raise RunError(f"the contestant `{self.name}` ended with exit code {code}; what it said is above")
        answer: dict[str, float] = json.loads(line)
        return answer

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for process in self._processes:
            assert process.stdin is not None and process.stdout is not None
            if kind is not None:
                process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()  # nothing more to do, so it ends
        for process in self._processes:
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def start_contestants(names: Sequence[str], config: Config) -> Iterator[dict[str, Contestant]]:
    """Start a process for each name, one after the other, and end them all after the block."""
    with contextlib.ExitStack() as stack:
        contestants = {}
        for name in names:
            contestants[name] = stack.enter_context(Contestant(name, config))
            contestants[name].ask("memory")  # answers when everything is loaded
        yield contestants
