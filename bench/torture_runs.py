"""Training runs that are started as processes, struck down, and started again."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from translator.run_folder import RunFolder

ROOT: Final = Path(__file__).parents[1]
RECIPE: Final = """
run: {{seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: toy, path: "{folder}/toy.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 20, test: 20}}
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 200, max_length: 40}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, dropout: 0.1, max_positions: 64}}
training:
  {{max_steps: 72, accumulation_steps: 2, learning_rate: 0.01, warmup_steps: 4, log_every: 3, processes: 1,
    validate_every: 12, validation_sentences: 8, checkpoint_every: 5, keep_checkpoints: 2, early_stopping: 6}}
search: {{method: greedy}}
"""
"""Learns to copy words, with dropout, two batches a step, validation, checkpoints and patience: seconds of work."""

PHASES: Final = (
    ("waiting for the processes it launched", r"in launch_agent\b"),
    ("start of the trainer", r"translator/training/trainer\.py\", line \d+ in (__init__|_restore)\b"),
    ("checkpoint write", r"translator/training/keeper\.py\", line \d+ in (save|wait|close|_write)\b"),
    ("evaluation", r"in evaluate_run\b"),
    ("validation", r"translator/training/validation\.py|in _validate\b"),
    ("training", r"translator/training/trainer\.py\", line \d+ in "),
    ("preparation", r"translator/data/handler\.py\", line \d+ in __init__"),
    ("imports", r"importlib"),
    ("end", r"in main\b"),
)
"""Where a process stands, by its stack: the first that is found in it."""
_SOON: Final = 60.0
"""Seconds after which a process that outlives the blow, or others that it had started, are ended by force."""


def write_recipe(folder: Path) -> Path:
    """Write the corpus and the recipe of all the runs here."""
    chance = random.Random(1)
    words = dict.fromkeys("".join(chance.choices("abcdefgh", k=chance.randint(3, 8))) for _ in range(220))
    (folder / "toy.tsv").write_text("".join(f"{word}\t{word}\n" for word in words), encoding="utf-8")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(folder=folder), encoding="utf-8")
    return recipe


@dataclass
class Death:
    """How a process that was struck ended."""

    phase: str
    exit_code: int
    seconds: float
    """From the blow to the end of the last of its processes."""
    all_gone: bool = True
    """Whether that end came by itself."""


@dataclass(frozen=True)
class Instant:
    """When a blow falls."""

    seconds: float
    """Of computing: a busy machine makes a process slow, and instants of the clock would all fall early or late."""
    of_training: bool = False
    """Counted from the beginning of training, not from that of the process."""
    in_a_save: bool = False
    """After that time, when a checkpoint is being written."""


@dataclass(frozen=True)
class Life:
    """How long a run computed that was left in peace, in seconds."""

    before_training: float
    from_training_on: float
    processes: int
    """At most at once."""

    def instant(self, chance: random.Random, number: int) -> Instant:
        """Return the instant of blow `number`: of three, one in the whole life, one in training, one in a save.

        Starting takes longer than training here, so instants of the whole life alone would mostly hit imports. Each
        sitting goes on where one was struck, so a third of the rest is enough to be struck everywhere in the end, and
        a run is struck several times.
        """
        then = self.from_training_on / 3
        if number % 3 == 0:
            return Instant(chance.uniform(0, self.before_training + then))
        return Instant(chance.uniform(0, then), of_training=True, in_a_save=number % 3 == 2)


class Sitting:
    """One process of `translator train`, from its start to its end."""

    def __init__(self, run: Path, number: int, driver: Sequence[str] | None, arguments: Sequence[str]) -> None:
        self.told = run.parent / f"{run.name}-{number}.txt"
        self._stack = run.parent / f"{run.name}-{number}.stack"
        self._checkpoints = RunFolder(run).checkpoints_folder
        self._info = RunFolder(run).info_file  # is written when training begins
        self._info_before = self._info.stat().st_mtime_ns if self._info.exists() else 0
        self.computed = 0.0
        """Seconds that it and its children have computed so far."""
        self.training_began: float | None = None
        """How many these were when training began."""
        self.most_processes = 1
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        module = (
            ["bench.torture_driver", "--stack", str(self._stack), *driver, "--"]
            if driver is not None
            else ["translator"]
        )
        with self.told.open("wb") as told:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *module, *arguments],
                stdout=told,
                stderr=told,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
            )

    def wait(self) -> int:
        """Let it live; return its exit code."""
        while (code := self.process.poll()) is None:
            self._look()
            time.sleep(0.02)
        return code

    def strike(self, blow: signal.Signals, instant: "Instant", chance: random.Random) -> Death | None:
        """Send it a signal at an instant, and wait for its end; None if it had ended by itself before.

        `chance` decides which of several processes gets a SIGKILL; other signals go to the first.
        """
        due = None if instant.of_training else instant.seconds
        while due is None or self.computed < due or (instant.in_a_save and not self._is_saving()):
            if self.process.poll() is not None:
                return None
            self._look()
            if due is None and self.training_began is not None:
                due = self.training_began + instant.seconds
            time.sleep(0.005 if due is None or self.computed < due else 0.0005)
        # To be asked where it stands takes longer than a save here.
        phase = "checkpoint write" if instant.in_a_save else self._where()
        everyone = family(self.process.pid)
        victim = chance.choice(everyone) if blow == signal.SIGKILL and everyone else self.process.pid
        began = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, blow)
        while self.process.poll() is None or any(map(_alive, everyone[1:])):
            if time.monotonic() - began > _SOON:
                for left in everyone:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(left, signal.SIGKILL)
                self.process.wait()
                return Death(phase, self.process.returncode, _SOON, all_gone=False)
            time.sleep(0.005)
        if instant.in_a_save and blow == signal.SIGKILL and not self._is_saving():
            phase = "training"  # nothing half-written was left
        return Death(phase, self.process.returncode, time.monotonic() - began)

    def _look(self) -> None:
        everyone = family(self.process.pid)
        self.most_processes = max(self.most_processes, len(everyone))
        self.computed = max(self.computed, sum(map(_computed, everyone)))
        if self.training_began is None and self._info.exists() and self._info.stat().st_mtime_ns != self._info_before:
            self.training_began = self.computed

    def _is_saving(self) -> bool:
        return any(self._checkpoints.glob(".step-*"))

    def _where(self) -> str:
        """Ask the process what it is doing."""
        if not self._stack.exists():
            return "start of the interpreter"  # it cannot answer yet, and would die of the question
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)
        asked, before, size = time.monotonic(), -1, 0
        while time.monotonic() - asked < 2.0 and (not size or size != before):  # until it has been written to its end
            time.sleep(0.002)
            before, size = size, self._stack.stat().st_size
        stack = self._stack.read_text(encoding="utf-8", errors="replace")
        return next((name for name, pattern in PHASES if re.search(pattern, stack)), "elsewhere")


def family(process: int) -> list[int]:
    """Return the process and all that it started, directly or not; nothing where the system does not tell."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(member for child in children for member in family(int(child)))]


def _computed(process: int) -> float:
    """Return the seconds that a process and its children that are gone have computed."""
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    except OSError:
        return 0.0
    return sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")


def _alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Course:
    """One run on its way through as many sittings as it takes."""

    recipe: Path
    run: Path
    overrides: tuple[str, ...] = ()
    prepared: Path | None = None
    """Prepared data of another run; None prepares its own."""
    sittings: int = 0
    tellings: list[Path] = field(default_factory=list)

    def start(self, driver: Sequence[str] | None = ()) -> Sitting:
        """Start it, or start it again, with options of `bench.torture_driver`; None is the plain command line."""
        own = (f"run.directory={self.run}", f"corpus.prepared_directory={self.prepared_directory}")
        sets = [part for override in (*own, *self.overrides) for part in ("--set", override)]
        sitting = Sitting(self.run, self.sittings, driver, ["train", "--config", str(self.recipe), *sets])
        self.sittings += 1
        self.tellings.append(sitting.told)
        return sitting

    @property
    def prepared_directory(self) -> Path:
        """Where its prepared data are."""
        return self.prepared or self.run.with_name(f"{self.run.name}-prepared")

    def finish(self, driver: Sequence[str] | None = ()) -> list[str]:
        """Let it come to its end; return what went wrong."""
        return self.complaints(self.start(driver).wait())

    def complaints(self, exit_code: int) -> list[str]:
        """Return a complaint if a process that was left in peace did not end well."""
        if exit_code == 0:
            return []
        last = self.last_telling.strip().splitlines()[-3:]
        return [f"{self.run.name}, sitting {self.sittings}: exit code {exit_code}: " + " / ".join(last)]

    @property
    def last_telling(self) -> str:
        """What the last process printed."""
        return self.tellings[-1].read_text(encoding="utf-8", errors="replace")
