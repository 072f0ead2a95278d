"""What the contest asks of a contestant, and how a command of theirs is carried out."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.awaited import good_end, handed_on
from bench.quality_plan import QualityPlan
from bench.quality_text import ContestText
from translator.errors import RunError
from translator.large_pages import large_pages
from translator.storage import storage_errors, write_json

WARM_UP = 3
"""Steps of a trial before its clock begins: the first ones prepare what later ones use."""


@dataclass(frozen=True)
class Trained:
    """What a training came to."""

    seconds: float
    """Of training and validation."""
    steps: int
    target_tokens: int
    """Real ones, all epochs together."""
    weights: int = 0
    """Numbers that were trained; 0 in a trial, where nobody counts them."""
    candidates: tuple[str, ...] = ()
    """Checkpoints that may be chosen, as `translate` knows them; none in a trial."""

    @property
    def tokens_per_second(self) -> float:
        """The speed."""
        return self.target_tokens / max(self.seconds, 1e-9)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Trained":
        """Return what `to_json` gave."""
        return cls(**{**values, "candidates": tuple(values.get("candidates", ()))})


class Contestant(ABC):
    """One toolkit in the contest; everything of it is in one folder."""

    name: str

    def __init__(self, plan: QualityPlan, text: ContestText, run: "Execute") -> None:
        self.plan = plan
        self.text = text
        self.run = run
        self.folder = plan.folder / self.name

    @property
    @abstractmethod
    def ways(self) -> Sequence[Mapping[str, Any]]:
        """Ways to use the cores."""

    @property
    @abstractmethod
    def length_penalties(self) -> Sequence[float]:
        """What is tried on the validation text."""

    @abstractmethod
    def try_way(self, way: Mapping[str, Any], folder: Path) -> Trained:
        """Train for the seconds of a trial in `folder`, which is empty.

        Raises:
            RunError: the command fails, as it may where this way is not supported.
        """

    @abstractmethod
    def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
        """Train for the whole budget; go on, or begin anew, where an earlier call was killed.

        Raises:
            RunError: the command fails.
            Interrupted: it was stopped.
        """

    @abstractmethod
    def translate(self, checkpoint: str, penalty: float, source: str, output: Path) -> None:
        """Translate `choice` or `test` with the plan's beam into the file `output`, one line for each.

        Raises:
            RunError: the command fails.
            Interrupted: it was stopped.
        """


Execute = Callable[[Sequence[str], Path, Mapping[str, str]], int]
"""Runs a command with this log and these further environment variables, and returns its exit code."""


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold `folder` while the block runs; commands inherit the hold, so it lasts as long as any of them.

    Raises:
        RunError: another contest, or a command of one that was killed, still works there.
        StorageError: the folder cannot be made.
    """
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        os.set_inheritable(handle, True)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"another contest, or a command of one that was killed, still works in {folder}; wait for it, or end it"
            ) from error
        yield
    finally:
        os.close(handle)


def execute(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Run `command`, what it says added to `log`, and hand stop signals on to it."""
    with storage_errors(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        stream = log.open("ab")
    with (
        stream,
        subprocess.Popen(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
            close_fds=False,  # of `alone_in`; all others are not inheritable
        ) as process,
        handed_on(lambda number: os.killpg(process.pid, number)),
    ):
        return process.wait()


def carry_out(run: Execute, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """Run `command` to a good end.

    Raises:
        RunError: it fails.
        Interrupted: it was stopped.
    """
    code = run(command, log, environment)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:] if log.is_file() else []
    good_end(code, f"a command of the contest ended with exit code {code}; {log} ends with: {' / '.join(said)}")


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON of a finished part, or carry the part out and keep what it returns."""
    if path.is_file():
        with storage_errors(path, "read"):
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
    made = make()
    write_json(path, made)
    return made


def emptied(folder: Path) -> Path:
    """Return `folder` with nothing in it: what a killed part has left is thrown away."""
    with storage_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    return folder


def threads(count: int) -> dict[str, str]:
    """Return the environment in which a process computes with `count` threads, and with memory in large pages.

    `translator train` takes large pages for itself; the others are given them.
    """
    alone = {"OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count), "TOKENIZERS_PARALLELISM": "false"}
    return alone | large_pages()
