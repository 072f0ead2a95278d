"""Commands killed at random, alone and two at a time, with files of the user's beside all that they write.

After each series of blows the same command runs to its end: its outputs must equal those of an undisturbed one, and
each stranger (a file, folder or link that no command made) must still have its bytes.

Each command runs in a fork of this process, which has imported everything: 300 kills would take an hour otherwise.
"""

import contextlib
import importlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from bench.processes import family

SERIES: Final = 3  # blows before a command runs to its end, at most
TO_PERSIAN: Final = str.maketrans("abcdefghxyz", "ابپتجچحخدذر")
RECIPE: Final = """
run: {{directory: "{folder}/inputs/{direction}", seed: 1, device: cpu, threads: 1}}
corpus:
  direction: {direction}
  sources: [{{name: toy, path: "{folder}/inputs/toy.tsv"}}]
  prepared_directory: "{folder}/prepared"
  split: {{validation: 10, test: 60}}
  filters: {{max_length_ratio: null}}
subword: {{vocabulary_size: 60, model_type: char, byte_fallback: false}}
model: {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, max_positions: 64}}
batching: {{max_length: 64, tokens_per_batch: 512}}
training: {{max_steps: 4, warmup_steps: 2, validate_every: 4, checkpoint_every: 4, processes: 1}}
search: {{method: beam, beam_size: 2, avoid_loops: false, min_length_ratio: 0.9, max_length_ratio: 1.1}}
"""
IMPORTED: Final = (
    *("ctranslate2", "matplotlib.figure", "sacrebleu", "tensorboard.compat.proto.event_pb2"),
    *("translator.cli.deriving", "translator.cli.small_verbs", "translator.evaluation", "translator.export.package"),
    *("translator.training.run_training", "translator.training.monitoring.monitor", "translator.inference.translator"),
)
"""Modules that the commands use, imported once."""
PATIENCE: Final = 60.0  # seconds after which a process that outlives its parent counts as abandoned
VOLATILE: Final = re.compile(r"^(log\.txt|run\.json|events\..*|.*\.html|doctor\.json|\.lock)$")
"""Files that differ from run to run: they hold times, versions or pictures."""
REMAINS: Final = re.compile(r"^\..*\.[0-9a-f]{8}\.(tmp|partial|replaced)$")
"""Hidden files and folders that a killed process may leave."""
CHANGING_KEYS: Final = re.compile(rb'"[a-z_]*(?:seconds|starts|minutes|time|sha256|memory|identity)[a-z_]*": [^,}\n]*')
"""Values in JSON that differ from run to run."""
Contents = dict[str, bytes]
"""The bytes of each file in a folder; of a link and of a folder, what it is."""


@dataclass(frozen=True)
class Case:
    """One command of `translator`, and what it writes."""

    name: str
    command: str  # `{work}` stands for the folder of inputs and outputs
    outputs: tuple[str, ...]  # files and folders in that folder
    blows: tuple[signal.Signals, ...] = (signal.SIGKILL,)
    has_ranks: bool = False  # a blow may strike any of its processes


# --- one command ---


class Command(ForkProcess):
    """A command of `translator` in a fork of this process."""

    def __init__(self, line: str, log: Path) -> None:
        super().__init__()
        self._line = line
        self.log = log

    def run(self) -> None:
        """Run the command with its output in the log."""
        import torch

        from translator.cli import main

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        output = os.open(self.log, os.O_WRONLY | os.O_CREAT, 0o600)
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        torch.set_num_threads(1)
        sys.exit(main(self._line.split()))

    @property
    def output(self) -> str:
        """What the command has said."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    @property
    def processes(self) -> list[int]:
        """The command and the processes that it has started."""
        assert self.pid is not None
        return family(self.pid) or [self.pid]


def lives(process: int) -> bool:
    """Return whether a process has not ended; a zombie has."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


# --- what lies in a folder ---


def contents(folder: Path) -> Contents:
    """Return what lies below `folder`."""
    entries: Contents = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = f"link to {path.readlink()}".encode()
        elif path.is_file():
            entries[name] = path.read_bytes()
        else:
            entries[name] = b"folder"
    return entries


def outcome(work: Path, outputs: Sequence[str]) -> Contents:
    """Return what a command has written, without what differs from run to run."""
    written: Contents = {}
    for name, content in contents(work).items():
        parts = Path(name).parts
        if parts[0] not in outputs or VOLATILE.match(parts[-1]) or any(REMAINS.match(part) for part in parts):
            continue
        if name.endswith((".json", ".jsonl")):
            content = CHANGING_KEYS.sub(b"", content)
        # The name of an engine's model has a hash of the checkpoint's state, and that has times.
        name = re.sub(r"(ctranslate2-step-\d+)-[0-9a-f]+", r"\1", name)
        written[name] = content
    return written


# --- the blows ---


class Torture:
    """The blows to one command, and their findings."""

    def __init__(self, case: Case, folder: Path, seed: int) -> None:
        self.case = case
        self._inputs = folder / "inputs"
        self._folder = folder / case.name
        self._work = self._folder / "work"  # each series begins with a new one of the same name
        self._chance = random.Random(f"{seed} {case.name}")
        self._commands = 0
        self.series = 0
        self.struck = 0
        self.ends: Counter[str] = Counter()  # what became of the commands
        self.failures: list[str] = []
        self.seconds = 0.0  # of an undisturbed command
        self._expected: Contents = {}

    def run(self, blows: int) -> None:
        """Strike until `blows` have hit a process; after each series, finish and compare."""
        # 1. Two undisturbed commands: their outputs must be equal.
        self._begin()
        began = time.monotonic()
        self._finish()
        self.seconds = time.monotonic() - began
        self._expected = outcome(self._work, self.case.outputs)
        self._begin()
        self._finish()
        self._compare()

        # 2. Disturbed ones.
        while self.struck < blows and not self.failures:
            self._begin()
            for _ in range(self._chance.randint(1, SERIES)):
                self._disturb()
            self._finish()
            self._compare()

    def _begin(self) -> None:
        """Make a new folder with the inputs."""
        self.series += 1
        if self._work.exists():
            shutil.rmtree(self._work)
        shutil.copytree(self._inputs, self._work, symlinks=True)

    def _start(self) -> Command:
        self._commands += 1
        command = Command(self.case.command.format(work=self._work), self._folder / f"{self._commands}.log")
        command.start()
        return command

    def _disturb(self) -> None:
        """Start the command, alone or twice at once, and strike it at a random instant."""
        # 1. Wait for the instant.
        chance = self._chance
        commands = [self._start()]
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0.0, self.seconds))
            commands.append(self._start())
        time.sleep(chance.uniform(0.0, 1.1 * self.seconds))

        # 2. Strike one of the commands, or both.
        blow = chance.choice(self.case.blows)
        victims = [chance.choice(commands)] if chance.random() < 0.6 else commands
        for command in victims:
            if command.is_alive():
                self.struck += 1
                self._strike(command, blow)

        # 3. Judge their ends: by the signal, by success, or by one message.
        for command in commands:
            command.join()
            self._judge(command, (0, 2, -blow, 128 + blow) if command in victims else (0, 2))
            stop = re.search(r"stopped at step \d+, which is saved in ([^;]+)", command.output)
            if stop and not Path(stop[1]).is_dir():
                self.failures.append(f"{command.log}: {stop[0]} is not there")

    def _strike(self, command: Command, blow: signal.Signals) -> None:
        """Send a signal to one of the processes of a command, all of which must end."""
        processes = command.processes
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._chance.choice(processes) if self.case.has_ranks else processes[0], blow)
        deadline = time.monotonic() + PATIENCE
        while command.is_alive() or any(map(lives, processes)):
            if time.monotonic() > deadline:
                self.failures.append(f"{command.log}: a struck process leaves children")
                break
            time.sleep(0.02)

    def _judge(self, command: Command, codes: Sequence[int]) -> None:
        """Count the end of a command; it is a failure unless it is one of `codes`, and without a traceback."""
        text = command.output
        self.ends[f"exit code {command.exitcode}"] += 1
        if command.exitcode not in codes or "Traceback" in text:
            self.failures.append(f"{command.log}: exit code {command.exitcode}: {text[-300:]}")

    def _finish(self) -> None:
        """Run the command to its end, undisturbed; it may refuse a complete output."""
        command = self._start()
        command.join()
        self._judge(command, (0, 2))

    def _compare(self) -> None:
        """Compare the outputs with the expected ones."""
        written = outcome(self._work, self.case.outputs)
        for name in sorted(written.keys() | self._expected.keys()):
            if written.get(name) != self._expected.get(name):
                self.failures.append(f"series {self.series}: {name} differs from the undisturbed one")


# --- the inputs of all commands ---


def make_inputs() -> Path:
    """Return a new folder with what the commands read: corpora of made-up words, their texts, and recipes."""
    folder = Path(tempfile.mkdtemp(prefix="kills-")).resolve()
    inputs = folder / "inputs"
    inputs.mkdir()
    letters = random.Random(1)
    for name, alphabet, count in (("toy", "abcdefgh", 250), ("new", "abcxyz", 60), ("more", "abcdefgh", 300)):
        texts = [" ".join("".join(letters.choices(alphabet, k=5)) for _ in range(3)) for _ in range(count)]
        pairs = "".join(f"{text}\t{text.translate(TO_PERSIAN)}\n" for text in texts)
        (inputs / f"{name}.tsv").write_text(pairs, encoding="utf-8")
        english = "".join(f"{text}\n" for text in texts)
        (inputs / f"{name}.en").write_text(english, encoding="utf-8")
        (inputs / f"{name}.fa").write_text(english.translate(TO_PERSIAN), encoding="utf-8")
    for direction in ("en-fa", "fa-en"):
        recipe = RECIPE.format(folder=folder, direction=direction)
        (inputs / f"{direction}.yaml").write_text(recipe, encoding="utf-8")
    for module in IMPORTED:
        importlib.import_module(module)
    return folder
