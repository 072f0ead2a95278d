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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final

from bench.options import FailedError, Options
from bench.processes import family

SERIES: Final = 3  # blows before a command runs to its end, at most
PATIENCE: Final = 60.0  # seconds after which a process that outlives its parent counts as abandoned
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
    *("ctranslate2", "matplotlib.figure", "pooch", "requests", "sacrebleu", "tensorboard.compat.proto.event_pb2"),
    *("translator.cli.deriving", "translator.cli.small_verbs", "translator.evaluation", "translator.export.package"),
    *("translator.training.run_training", "translator.training.monitoring.monitor", "translator.inference.translator"),
)
"""Modules that the commands use, imported once."""
STRANGE: Final = bytes(range(256))
"""The content of files that no command made."""
VOLATILE: Final = re.compile(r"^(log\.txt|run\.json|events\..*|.*\.html|doctor\.json|\.lock)$")
"""Files that differ from run to run: they hold times, versions or pictures."""
REMAINS: Final = re.compile(r"^\..*\.[0-9a-f]{8}\.(tmp|partial|replaced)$")
"""Hidden files and folders that a killed process may leave."""
CHANGING_KEYS: Final = re.compile(r'"[a-z_]*(?:seconds|starts|minutes|time|sha256|memory|identity)[a-z_]*": [^,}\n]*')
"""Values in JSON that differ from run to run."""
Contents = dict[str, str | bytes]
"""The bytes of each file in a folder, the target of each link, and the name of each folder."""


@dataclass(frozen=True)
class Case:
    """One command of `translator`, and what it writes."""

    name: str
    command: str  # `{work}` stands for the folder of inputs and outputs
    outputs: tuple[str, ...]  # files and folders in that folder
    strangers_in: tuple[str, ...] = ()  # folders of outputs in which the user may keep files as well
    refused_when_done: str = ""  # part of the message with which a complete output is refused
    blows: tuple[signal.Signals, ...] = (signal.SIGKILL,)
    saving: str = ""  # the pattern of what is there during a save, for which half of the blows wait
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

    def strike(self, blow: signal.Signals, victim: int) -> bool:
        """Send a signal to one of the processes, and return whether all of them end within a minute."""
        members = self.processes
        _send(blow, [victim])
        deadline = time.monotonic() + PATIENCE
        while self.is_alive() or any(map(_lives, members[1:])):
            if time.monotonic() > deadline:
                _send(signal.SIGKILL, members)
                return False
            time.sleep(0.02)
        return True


def _send(number: signal.Signals, processes: Sequence[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _lives(process: int) -> bool:
    """Return whether a process has not ended; a zombie has."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


# --- what lies in a folder ---


def strangers(place: Path, outputs: Sequence[str], elsewhere: Path) -> None:
    """Put files, folders and links that look like temporary ones into `place`, beside `outputs`."""
    names = [".photos.partial", "notes.partial", ".backup.replaced"]
    for output in outputs:
        names += [f".{output}.partial", f".{output}.0123abcd.partial", f".{output}.replaced", f".{output}.old.partial"]
    for name in names:
        (place / name).mkdir(parents=True)
        (place / name / "picture.png").write_bytes(STRANGE)
    for output in outputs:
        (place / f".{output}.tmp").write_bytes(STRANGE)
        (place / f".{output}.abcdefgh").write_bytes(STRANGE)
        (place / f".{output}.89abcdef.partial").symlink_to(elsewhere)
        (place / f".{output}.dangling.partial").symlink_to(elsewhere / "nothing")
    (place / "my notes.txt").write_text("یادداشت\n", encoding="utf-8")


def contents(folder: Path) -> Contents:
    """Return what lies below `folder`."""
    entries: Contents = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = f"link to {path.readlink()}"
        elif path.is_file():
            entries[name] = path.read_bytes()
        else:
            entries[name] = "folder"
    return entries


def outcome(work: Path, outputs: Sequence[str]) -> Contents:
    """Return what a command has written, without what differs from run to run."""
    written: Contents = {}
    for name, content in contents(work).items():
        parts = Path(name).parts
        if parts[0] not in outputs or VOLATILE.match(parts[-1]) or any(REMAINS.match(part) for part in parts):
            continue
        if name.endswith((".json", ".jsonl")) and isinstance(content, bytes):
            content = CHANGING_KEYS.sub("", content.decode("utf-8"))
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
        self._elsewhere = folder / "elsewhere"
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
        self._foreign: Contents = {}  # what the command must not touch
        self._foreign_elsewhere: Contents = {}

    def run(self, blows: int) -> None:
        """Strike until `blows` have hit a process; after each series, finish and compare."""
        # 1. Two undisturbed commands: their outputs must be equal.
        for _ in range(2):
            self._begin()
            began = time.monotonic()
            self._finish()
            self.seconds = time.monotonic() - began
            if self._expected:
                self._compare()
            self._expected = outcome(self._work, self.case.outputs)

        # 2. Disturbed ones.
        while self.struck < blows and not self.failures:
            self._begin()
            for _ in range(self._chance.randint(1, SERIES)):
                self._disturb()
            self._finish()
            self._compare()

    def _begin(self) -> None:
        """Make a new folder with inputs and strangers, which must keep their bytes."""
        self.series += 1
        if self._work.exists():
            shutil.rmtree(self._work)
        shutil.copytree(self._inputs, self._work, symlinks=True)
        may_change = {name for name in contents(self._work) if Path(name).parts[0] in self.case.outputs}
        strangers(self._work, self.case.outputs, self._elsewhere)
        for place in self.case.strangers_in:
            strangers(self._work / place, (), self._elsewhere)
        everything = contents(self._work)
        self._foreign = {name: content for name, content in everything.items() if name not in may_change}
        self._foreign_elsewhere = contents(self._elsewhere)

    def _start(self) -> Command:
        self._commands += 1
        line = self.case.command.format(work=self._work)
        command = Command(line, self._folder / f"{self._commands}.log")
        command.start()
        return command

    def _disturb(self) -> None:
        """Start the command, alone or twice at once, and strike it at a random instant."""
        # 1. Wait for the instant.
        chance = self._chance
        is_doubled = chance.random() < 0.5
        waits_for_save = bool(self.case.saving) and chance.random() < 0.5
        instant = time.monotonic() + chance.uniform(0.0, 1.1) * self.seconds * (1.5 if is_doubled else 1.0)
        commands = [self._start()]
        if is_doubled:
            time.sleep(chance.choice([0.0, chance.uniform(0.0, self.seconds)]))
            commands.append(self._start())
        time.sleep(max(0.0, instant - time.monotonic()))
        while waits_for_save and not any(self._work.glob(self.case.saving)) and commands[0].is_alive():
            time.sleep(0.0005)

        # 2. Strike one of the commands, or both.
        blow = chance.choice(self.case.blows)
        victims = [chance.choice(commands)] if chance.random() < 0.6 else commands
        for command in victims:
            if not command.is_alive():
                continue
            self.struck += 1
            self.ends[f"{blow.name} in a save" if waits_for_save else blow.name] += 1
            processes = command.processes
            victim = chance.choice(processes) if self.case.has_ranks else processes[0]
            if not command.strike(blow, victim):
                self.failures.append(f"{command.log}: a struck process leaves children")

        # 3. Judge their ends: by the signal, by success, or by one message.
        for command in commands:
            command.join()
            signalled = (-blow, 128 + blow) if command in victims else ()
            self._judge(command, (0, 2, *signalled))
            if command.exitcode in (0, 2):
                self.ends["finished" if command.exitcode == 0 else "refused"] += 1
            self._check_stop(command, 128 + blow)

    def _judge(self, command: Command, codes: Sequence[int]) -> None:
        """Record a failure unless the command ended with one of `codes`, and without a traceback."""
        text = command.output
        if command.exitcode not in codes or "Traceback" in text:
            self.failures.append(f"{command.log}: exit code {command.exitcode}: {text[-300:]}")

    def _check_stop(self, command: Command, code: int) -> None:
        """Record a failure if a training that names the step at which it stops has not saved it."""
        stop = re.search(r"stopped at step \d+, which is saved in ([^;]+)", command.output)
        if stop and not (command.exitcode == code and Path(stop[1]).is_dir()):
            self.failures.append(f"{command.log}: exit code {command.exitcode}, but {stop[0]}")

    def _finish(self) -> None:
        """Run the command to its end, undisturbed."""
        command = self._start()
        command.join()
        is_done = bool(self.case.refused_when_done) and self.case.refused_when_done in command.output
        self._judge(command, (0, 2) if is_done else (0,))

    def _compare(self) -> None:
        """Compare the outputs with the expected ones, and the strangers with themselves before."""
        written = outcome(self._work, self.case.outputs)
        for name in sorted(written.keys() | self._expected.keys()):
            if written.get(name) != self._expected.get(name):
                self.failures.append(f"series {self.series}: {name} differs from the undisturbed one")
        after = contents(self._work)
        for name, content in self._foreign.items():
            if after.get(name) != content:
                self.failures.append(f"series {self.series}: the stranger {name} is changed or gone")
        if contents(self._elsewhere) != self._foreign_elsewhere:
            self.failures.append(f"series {self.series}: files elsewhere are changed")


# --- all commands of a part ---


def make_inputs() -> Path:
    """Return a new folder with what the commands read: a corpus of words of eight letters, text, and recipes."""
    folder = Path(tempfile.mkdtemp(prefix="kills-")).resolve()
    inputs = folder / "inputs"
    inputs.mkdir()
    letters = random.Random(1)

    def sentences(alphabet: str, count: int) -> list[str]:
        texts = []
        for _ in range(count):
            words = ["".join(letters.choices(alphabet, k=letters.randint(3, 8))) for _ in range(3)]
            texts.append(" ".join(words))
        return texts

    for name, texts in {"toy": sentences("abcdefgh", 250), "new": sentences("abcxyz", 60)}.items():
        pairs = "".join(f"{text}\t{text.translate(TO_PERSIAN)}\n" for text in texts)
        (inputs / f"{name}.tsv").write_text(pairs, encoding="utf-8")
    more = "".join(f"{text}\n" for text in sentences("abcdefgh", 300))
    (inputs / "more.en").write_text(more, encoding="utf-8")
    (inputs / "more.fa").write_text(more.translate(TO_PERSIAN), encoding="utf-8")
    for direction in ("en-fa", "fa-en"):
        recipe = RECIPE.format(folder=folder, direction=direction)
        (inputs / f"{direction}.yaml").write_text(recipe, encoding="utf-8")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "precious.txt").write_text("precious\n", encoding="utf-8")
    for module in IMPORTED:
        importlib.import_module(module)
    return folder


def strike_all(part: str, cases: Sequence[Case], folder: Path, options: Options) -> Iterator[str]:
    """Strike each command, and yield a line on it; the folder stays if one failed.

    Raises:
        ConfigError: a case is unknown.
        FailedError: a command failed.
    """
    names = options.chosen(case.name for case in cases)
    failed = []
    for case in cases:
        if case.name not in names:
            continue
        began = time.monotonic()
        torture = Torture(case, folder, options.seed)
        torture.run(options.kills)
        ends = ", ".join(f"{count} {end}" for end, count in torture.ends.most_common())
        seconds = f"{torture.seconds:.1f} s alone; {time.monotonic() - began:.0f} s"
        yield f"{case.name}: {torture.series} series, {ends}; {seconds}; {'FAILED' if torture.failures else 'PASSED'}"
        for failure in torture.failures:
            yield f"  {failure}"
        if torture.failures:
            failed.append(case.name)
    if failed:
        raise FailedError(f"{part} failed: {', '.join(failed)}; seed {options.seed}; logs kept in {folder}")
    shutil.rmtree(folder)
    yield f"{part} PASSED; seed {options.seed}"
