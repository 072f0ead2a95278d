"""Training killed, stopped and disturbed: each run must end with the same bits as an undisturbed one.

Processes of `translator train` on a tiny recipe are interrupted and restarted until they finish.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.options import FailedError, Options
from bench.processes import TRANSLATOR, environment, family
from translator.checkpoint.state import find_checkpoint
from translator.run.folder import RunFolder

KILLS: Final = 25
FEWER: Final = {"stop": 12, "processes": 8}
"""Number of interruptions of scenarios that need fewer, or take longer for each."""
STOPPED: Final = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}  # exit codes after a stop signal
PATIENCE: Final = 60.0  # seconds after which surviving processes are killed
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
"""Learns to copy words, with dropout, micro-batches, validation, checkpoints and early stopping, in seconds."""
ALL_THAT_DRAWS: Final = (
    *("subword.model_type=unigram", "subword.vocabulary_size=40", "subword.byte_fallback=false"),
    "subword.sampling=0.3",
    *("training.augmentation.typos=0.3", "training.augmentation.final_punctuation=0.3"),
    *("training.r_drop=1.0", "training.ema_decay=0.9"),
)
"""Everything that draws random numbers, and what follows the weights."""

# --- one process ---


class Instant(NamedTuple):
    """The instant of an interruption."""

    seconds: float  # CPU seconds: wall time on a busy machine would shift all instants
    of_training: bool = False  # counted from the start of training, not of the process
    in_a_save: bool = False  # after that time, during a checkpoint write


class Death(NamedTuple):
    """The end of an interrupted process."""

    phase: str  # `start`, `training`, `checkpoint write` or `evaluation`
    exit_code: int
    all_gone: bool  # whether all its processes ended without another kill


class TrainingProcess:
    """One process of `translator train`, from its start to its end."""

    def __init__(self, run: Path, output: Path, command: Sequence[str]) -> None:
        self._checkpoints = run / "checkpoints"
        self._scores = run / "evaluation" / "scores.json"
        self._info = run / "run.json"  # written at the start of training
        self._info_before = self._info.stat().st_mtime_ns if self._info.exists() else 0
        self.computed = 0.0  # CPU seconds, children included
        self.training_began: float | None = None  # CPU seconds before training
        with output.open("wb") as stream:
            streams: dict[str, Any] = {"stdout": stream, "stderr": stream, "stdin": subprocess.DEVNULL}
            self.process = subprocess.Popen(command, env=environment(1), **streams)

    def wait(self) -> int:
        """Wait for its end and return its exit code."""
        while (code := self.process.poll()) is None:
            self._look()
            time.sleep(0.02)
        return code

    def strike(self, blow: signal.Signals, instant: Instant, chance: random.Random) -> Death | None:
        """Send a signal at an instant and wait for the end; return None if the process had ended before.

        `chance` selects which of several processes gets a SIGKILL; other signals go to the first.
        """
        due = None if instant.of_training else instant.seconds
        while due is None or self.computed < due or (instant.in_a_save and not self._is_saving()):
            if self.process.poll() is not None:
                return None
            self._look()
            if due is None and self.training_began is not None:
                due = self.training_began + instant.seconds
            time.sleep(0.005 if due is None or self.computed < due else 0.0005)
        everyone = family(self.process.pid)
        victim = chance.choice(everyone) if blow == signal.SIGKILL and everyone else self.process.pid
        phase = self._phase()
        began = time.monotonic()
        all_gone = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, blow)
        while self.process.poll() is None or any(map(_lives, everyone[1:])):
            if all_gone and time.monotonic() - began > PATIENCE:
                all_gone = False
                for member in everyone:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(member, signal.SIGKILL)
            time.sleep(0.005)
        return Death(phase, self.process.returncode, all_gone)

    def _look(self) -> None:
        ticks = [sum(map(int, _status(process)[11:15])) for process in family(self.process.pid)]
        self.computed = max(self.computed, sum(ticks) / os.sysconf("SC_CLK_TCK"))
        if self.training_began is None and self._info.exists() and self._info.stat().st_mtime_ns != self._info_before:
            self.training_began = self.computed

    def _is_saving(self) -> bool:
        return any(self._checkpoints.glob(".step-*"))

    def _phase(self) -> str:
        if self.training_began is None:
            return "start"
        if self._is_saving():
            return "checkpoint write"
        return "evaluation" if self._scores.exists() or (self._checkpoints / "step-000072").exists() else "training"


def _status(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state; empty if the process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _lives(process: int) -> bool:
    return _status(process)[:1] not in ([], ["Z"])


# --- one run, in as many processes as it takes ---


@dataclass
class TortureRun:
    """A run that is started, interrupted and restarted."""

    recipe: Path
    folder: Path
    settings: tuple[str, ...] = ()
    prepared: Path | None = None  # data of another run; None prepares its own
    outputs: list[Path] = field(default_factory=list)

    def start(self) -> TrainingProcess:
        """Start or restart the run."""
        prepared = self.prepared or self.folder.with_name(f"{self.folder.name}-prepared")
        settings = (f"run.directory={self.folder}", f"corpus.prepared_directory={prepared}", *self.settings)
        self.outputs.append(self.folder.with_name(f"{self.folder.name}-{len(self.outputs)}.txt"))
        command = [*TRANSLATOR, "train", "--config", str(self.recipe), "--set", *settings]
        return TrainingProcess(self.folder, self.outputs[-1], command)

    def finish(self) -> list[str]:
        """Run to the end; return an error message if the exit code is not 0."""
        code = self.start().wait()
        last = " / ".join(self.last_output.strip().splitlines()[-3:])
        return [f"{self.folder.name}, start {len(self.outputs)}: exit code {code}: {last}"] if code else []

    @property
    def last_output(self) -> str:
        """The output of the last process."""
        return self.outputs[-1].read_text(encoding="utf-8", errors="replace")


def differences(run: Path, undisturbed: Path) -> list[str]:
    """Return the differences between the final states of two runs, which must be bit-identical."""
    end = _end(run)
    expected_end = _end(undisturbed)
    different_keys = [key for key in sorted(end.keys() | expected_end.keys()) if end.get(key) != expected_end.get(key)]
    return [f"{run.name}: {key} differs" for key in different_keys]


def _end(run: Path) -> dict[str, Any]:
    """Return the final state of a run, without the time spent and the number of starts."""
    end: dict[str, Any] = {}
    # 1. Checkpoints: which ones, and their tensors.
    for name in ("last", "best"):
        end[name] = (run / "checkpoints" / name).resolve(strict=True).name
    last = run / "checkpoints" / "last"
    for file in last.glob("*.safetensors"):
        end[file.name] = file.read_bytes()

    # 2. The state of training.
    state: dict[str, Any] = json.loads((last / "state.json").read_text(encoding="utf-8"))["state"]
    progress = state.pop("progress")
    end |= state
    for key, value in progress.items():
        if not re.search("seconds|starts", key):
            end[key] = value

    # 3. Scores.
    end["scores.json"] = json.loads((run / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    return end


# --- the scenarios ---


@dataclass
class Workshop:
    """The settings of a scenario, and its findings."""

    folder: Path
    recipe: Path
    kills: int
    chance: random.Random
    where: Counter[str] = field(default_factory=Counter)  # interruptions by phase of the process
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    life: tuple[float, float] = (0.0, 0.0)  # CPU seconds of the undisturbed run before and from the start of training

    def run(self, name: str, settings: tuple[str, ...] = (), prepared: Path | None = None) -> TortureRun:
        """Return a new run."""
        return TortureRun(self.recipe, self.folder / name, settings, prepared)

    def undisturbed(self, settings: tuple[str, ...] = ()) -> Path:
        """Train a run from its start to its end, and return its folder."""
        run = self.run("undisturbed", settings)
        process = run.start()
        if code := process.wait():
            self.failures.append(f"the undisturbed run: exit code {code}: {run.last_output[-300:]}")
        before = process.training_began or 0.0
        self.life = (before, process.computed - before)
        return run.folder

    def instant(self, number: int) -> Instant:
        """Return the instant of interruption `number`: of three, one at any time, one in training, one in a save.

        The start takes longer than training here, so instants at any time would mostly hit the start. A run resumes
        where it stopped, so a third of the rest is enough to reach all phases several times.
        """
        before, then = self.life[0], self.life[1] / 3
        if number % 3 == 0:
            return Instant(self.chance.uniform(0, before + then))
        return Instant(self.chance.uniform(0, then), of_training=True, in_a_save=number % 3 == 2)

    def strike(self, run: TortureRun, blow: signal.Signals, instant: Instant) -> Death | None:
        """Start and interrupt `run`; return its end, or None if it had ended before."""
        death = run.start().strike(blow, instant, self.chance)
        if death is not None:
            self.where[death.phase] += 1
            if not death.all_gone:
                self.failures.append(f"{run.folder.name}: {blow.name} in {death.phase} left processes")
        return death

    def finish(self, run: TortureRun, undisturbed: Path) -> None:
        """Run `run` to its end, and record its differences from the undisturbed one."""
        self.failures += run.finish() or differences(run.folder, undisturbed)


def strike_repeatedly(work: Workshop, settings: tuple[str, ...] = (), blows: Sequence[signal.Signals] = ()) -> None:
    """Interrupt runs `work.kills` times, with `blows` in turn, and compare the end of each with an undisturbed run."""
    undisturbed, blows = work.undisturbed(settings), blows or [signal.SIGKILL]
    count = struck = 0
    while struck < work.kills and not work.failures:
        run = work.run(f"struck-{count}", settings)
        count += 1
        while struck < work.kills and not work.failures:
            blow = blows[struck % len(blows)]
            death = work.strike(run, blow, work.instant(struck))
            if death is None:
                break
            struck += 1
            if blow != signal.SIGKILL:
                work.failures += stop_complaints(run, blow, death)
        if not work.failures:
            work.finish(run, undisturbed)
    work.remarks.append(f"{count} runs")


def stop_complaints(run: TortureRun, blow: signal.Signals, death: Death) -> list[str]:
    """Return an error message if a stopped process has another exit code, or the step it names is not saved."""
    extra = {"start": [-blow], "evaluation": [0]}  # before signal handlers are set; when nothing is left to do
    if death.exit_code not in [STOPPED[blow], *extra.get(death.phase, [])]:
        return [f"{blow.name} in {death.phase}: exit code {death.exit_code}: {run.last_output[-300:]}"]
    stop_message = re.search(r"stopped at step (\d+)", run.last_output)
    if death.phase == "training" and stop_message:
        last = find_checkpoint(RunFolder(run.folder).checkpoints_folder, "last").resolve().name
        if last != f"step-{int(stop_message[1]):06d}":
            return [f"{blow.name} in {death.phase}: stopped at step {stop_message[1]}, and {last} is saved"]
    return []


SCENARIOS: Final[dict[str, Callable[[Workshop], object]]] = {
    "plain": strike_repeatedly,
    "all": lambda work: strike_repeatedly(work, ALL_THAT_DRAWS),
    "stop": lambda work: strike_repeatedly(work, blows=list(STOPPED)),
    "processes": lambda work: strike_repeatedly(work, ("training.processes=2",)),  # any process is interrupted
}


def play(name: str, folder: Path, seed: int, kills: int) -> Workshop:
    """Run one scenario in `folder`, print a line on it, and return its findings."""
    folder.mkdir()
    letters = random.Random(1)
    words: dict[str, None] = {}  # in the order of drawing
    for _ in range(220):
        words["".join(letters.choices("abcdefgh", k=letters.randint(3, 8)))] = None
    (folder / "toy.tsv").write_text("".join(f"{word}\t{word}\n" for word in words), encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE.format(folder=folder), encoding="utf-8")
    work = Workshop(folder, folder / "recipe.yaml", kills, random.Random(f"{seed} {name}"))
    began = time.monotonic()
    SCENARIOS[name](work)
    summary = [f"{work.where.total()} blows"]
    for where, count in work.where.most_common():
        summary.append(f"{count} in {where}")
    verdict = f"FAILED, see {folder}" if work.failures else "PASSED"
    print(f"{name}: {', '.join([*summary, *work.remarks])}; {time.monotonic() - began:.0f} s; {verdict}", flush=True)
    for failure in work.failures:
        print(f"  {failure}", flush=True)
    return work


def bench(options: Options) -> Iterator[str]:
    """Run the scenarios and yield the verdict; runs of failed scenarios are kept.

    Raises:
        ConfigError: a scenario is unknown.
        FailedError: a scenario failed.
    """
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under `nohup`; the runs must receive SIGHUP
        signal.signal(signal.SIGHUP, lambda *_: None)
    names = options.chosen(SCENARIOS)
    failed = []
    folder = Path(tempfile.mkdtemp(prefix="torture-")).resolve()
    for name in names:
        if play(name, folder / name, options.seed, options.kills or FEWER.get(name, KILLS)).failures:
            failed.append(name)
        else:
            shutil.rmtree(folder / name)
    if failed:
        raise FailedError(f"torture failed: {', '.join(failed)}; seed {options.seed}; runs kept in {folder}")
    folder.rmdir()
    yield f"torture PASSED; seed {options.seed}"
