"""Training struck down in every way: `python -m bench.torture [--scenario NAME]... [--kills N] [--seed N]`.

Real processes of `translator train` on a tiny recipe are killed, stopped and hindered, and started again until they end
by themselves; each must end in the same bits as a run that was left in peace. One process works at a time.
"""

import argparse
import hashlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.torture_bits import differences
from bench.torture_damage import damaged_copies, full_disk
from bench.torture_runs import ROOT, Course, Death, Instant, Life, write_recipe
from translator.checkpoint import steps_saved
from translator.run_folder import RunFolder

SAMPLING: Final = (
    *("subword.model_type=unigram", "subword.vocabulary_size=40", "subword.byte_fallback=false"),
    "subword.sampling=0.3",
)
STOPPED: Final = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}
"""Exit codes after a stop signal."""
KILLS: Final = 25
FEWER: Final = {"stop": 12, "processes": 8}
"""Blows of scenarios that need fewer, or take longer for each, than the others."""

Judge = Callable[[Course, signal.Signals, Death], list[str]]
"""Returns complaints about how a process ended."""


@dataclass
class Workshop:
    """What a scenario works with, and what it finds."""

    folder: Path
    recipe: Path
    kills: int
    chance: random.Random
    where: Counter[str] = field(default_factory=Counter)
    """Blows, by what the process was doing."""
    remarks: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def course(self, name: str, overrides: tuple[str, ...] = (), prepared: Path | None = None) -> Course:
        """Return a new run."""
        return Course(self.recipe, self.folder / name, overrides, prepared)

    def whole(self, overrides: tuple[str, ...] = ()) -> tuple[Path, Life]:
        """Carry a run from its start to its end in peace."""
        course = self.course("whole", overrides)
        sitting = course.start(driver=None)
        self.failures += course.complaints(sitting.wait())
        before = sitting.training_began or 0.0
        return course.run, Life(before, sitting.computed - before, sitting.most_processes)

    def compare(self, course: Course, whole: Path) -> None:
        """Note in what the end of `course` differs from `whole`."""
        self.failures += differences(course.run, whole)


def strike_again_and_again(
    work: Workshop, overrides: tuple[str, ...], life: Life, blows: Sequence[signal.Signals], judge: Judge
) -> list[Course]:
    """Strike runs `work.kills` times, with `blows` in turn; return the runs, which have ended by themselves."""
    courses: list[Course] = []
    struck, slowest = 0, 0.0
    while struck < work.kills and not work.failures:
        course = work.course(f"struck-{len(courses)}", overrides)
        courses.append(course)
        while not work.failures:
            sitting = course.start()
            blow, death = blows[struck % len(blows)], None
            if struck < work.kills:
                death = sitting.strike(blow, life.instant(work.chance, struck), work.chance)
            if death is None:
                work.failures += course.complaints(sitting.wait())
                break
            struck += 1
            work.where[death.phase] += 1
            slowest = max(slowest, death.seconds)
            work.failures += judge(course, blow, death)
    work.remarks.append(f"{len(courses)} runs, {slowest:.1f} s at most from a blow to the end of the last process")
    return courses


def kill(work: Workshop, overrides: tuple[str, ...] = (), processes: int = 1) -> None:
    """SIGKILL at random instants of the whole life of a process."""
    whole, life = work.whole(overrides)
    if not work.failures and life.processes < processes:
        work.failures.append(f"{processes} processes were asked for, {life.processes} seen")
    for course in strike_again_and_again(work, overrides, life, [signal.SIGKILL], all_gone):
        if not work.failures:
            work.compare(course, whole)


def all_gone(course: Course, blow: signal.Signals, death: Death) -> list[str]:
    """Return a complaint if processes outlived the blow by a minute."""
    if death.all_gone:
        return []
    return [f"{course.run.name}, sitting {course.sittings}: {blow.name} in {death.phase} left processes behind"]


def kill_with_sampling(work: Workshop) -> None:
    """The same with subword sampling, whose next epoch is drawn by a process of its own."""
    kill(work, SAMPLING)


def kill_two_processes(work: Workshop) -> None:
    """The same with two processes that share each step; any of them is hit."""
    kill(work, ("training.processes=2",), processes=2)


def stop(work: Workshop) -> None:
    """SIGTERM, SIGINT and SIGHUP in turn: the exit code of a stop, and in training a saved checkpoint."""
    whole, life = work.whole()
    for course in strike_again_and_again(work, (), life, list(STOPPED), stopped_well):
        if not work.failures:
            work.compare(course, whole)


def stopped_well(course: Course, blow: signal.Signals, death: Death) -> list[str]:
    """Return a complaint if a stopped process ended with another exit code, or the step it names is not saved."""
    found = all_gone(course, blow, death)
    allowed = {STOPPED[blow]}
    if death.phase in ("start of the interpreter", "imports"):
        allowed.add(-blow)  # nobody listens to signals yet
    elif death.phase == "end":
        allowed.add(0)
    if death.exit_code not in allowed:
        found += [f"{blow.name} in {death.phase}: exit code {death.exit_code}", *course.complaints(1)]
    elif death.phase in ("training", "validation", "checkpoint write"):
        said = re.search(r"stopped at step (\d+)", course.last_telling)
        last = max(steps_saved(RunFolder(course.run).checkpoints_folder), default=0)
        if said is None or int(said[1]) != last:
            found += [f"{blow.name} in {death.phase}: saved is step {last}", *course.complaints(death.exit_code)]
    return found


def die_in_a_save(work: Workshop) -> None:
    """SIGKILL in each operation on files in turn of a save that names a best one and deletes an old one."""
    for background in ("true", "false"):
        often = ("training.max_steps=12", "training.validate_every=6", "training.checkpoint_every=4")
        short = (*often, f"training.save_in_background={background}")
        whole = work.course(f"whole-{background}", short)
        told = work.folder / f"operations-{background}.txt"
        work.failures += whole.finish(("--under", str(whole.run / "checkpoints"), "--told", str(told)))
        if work.failures:
            return
        operations = [line.split("\t") for line in told.read_text(encoding="utf-8").splitlines()]
        first, after = (
            next(number for number, (_, path) in enumerate(operations, start=1) if f"step-{step:06d}" in path)
            for step in (8, 12)
        )
        for number in range(first, after):
            course = work.course(f"at-{number}-{background}", short, whole.prepared_directory)
            fault = ("--under", str(course.run / "checkpoints"), "--die-at", str(number))
            code = course.start(fault).wait()
            work.where[operations[number - 1][0]] += 1
            if code != -signal.SIGKILL:
                work.failures.append(f"{course.run.name}: exit code {code} where a kill was due")
                continue
            complaints = course.finish()
            work.failures += complaints
            if not complaints:
                work.compare(course, whole.run)


def jump_the_clock(work: Workshop) -> None:
    """The time of day leaps by years, between two sittings and within them, with a limit of minutes set."""
    limit = ("training.max_minutes=30",)
    whole, life = work.whole(limit)
    course = work.course("clock", limit)
    for seed in range(3):
        half = Instant(life.from_training_on / 2, of_training=True)
        death = course.start(("--clock", str(seed))).strike(signal.SIGKILL, half, work.chance)
        if death is None:
            break
        work.where[death.phase] += 1
    work.failures += course.finish(("--clock", "9"))
    if not work.failures:
        work.compare(course, whole)


def in_short(work: Workshop) -> None:
    """One run killed inside a save, then at random instants: what is tested with every change."""
    short = ("training.max_steps=16", "training.validate_every=16")
    whole, life = work.whole(short)
    course = work.course("short", short)
    # Not in the first save: it is to leave a checkpoint behind to go on from.
    fault = ("--under", str(course.run / "checkpoints"), "--die-at", str(work.chance.randint(30, 80)))
    if (code := course.start(fault).wait()) != -signal.SIGKILL:
        work.failures += [f"exit code {code} where a kill in a save was due", *course.complaints(code)]
    work.where["checkpoint write"] += 1
    for number in range(work.kills):
        death = course.start().strike(signal.SIGKILL, life.instant(work.chance, number), work.chance)
        if death is None:
            break
        work.where[death.phase] += 1
    work.failures += course.finish()
    if not work.failures:
        work.compare(course, whole)


SCENARIOS: Final[dict[str, Callable[[Workshop], None]]] = {
    "plain": kill,
    "sampling": kill_with_sampling,
    "save": die_in_a_save,
    "stop": stop,
    "damage": damaged_copies,
    "disk": full_disk,
    "clock": jump_the_clock,
    "processes": kill_two_processes,
}


def fingerprint_of_code() -> str:
    """Return a hash of what is tortured."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "translator").rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def play(
    name: str, folder: Path, seed: int, kills: int, scenario: Callable[[Workshop], None] | None = None
) -> Workshop:
    """Play one scenario in `folder`, tell of it in a line, and return what came of it."""
    folder.mkdir()
    work = Workshop(folder, write_recipe(folder), kills, random.Random(f"{seed} {name}"))
    began, code = time.monotonic(), fingerprint_of_code()
    (scenario or SCENARIOS[name])(work)
    if work.failures and fingerprint_of_code() != code:
        work.failures.append("the code was changed meanwhile, so that sittings of one run were of different programs")
    seconds = time.monotonic() - began
    told = [f"{sum(work.where.values())} blows", *(f"{count} in {where}" for where, count in work.where.most_common())]
    verdict = f"FAILED, see {folder}" if work.failures else "PASSED"
    print(f"{name}: {', '.join([*told, *work.remarks])}; {seconds:.0f} s; {verdict}", flush=True)
    for failure in work.failures:
        print(f"  {failure}", flush=True)
    return work


def main() -> int:
    """Play the scenarios; 1 if one failed, and then its runs are kept."""
    parser = argparse.ArgumentParser(prog="bench.torture", description="Kill training in every way, and compare bits.")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only this one; may be repeated")
    fewer = "".join(f", {name}: {count}" for name, count in FEWER.items())
    parser.add_argument(
        "--kills", type=int, metavar="N", help=f"in each scenario that strikes at random (default: {KILLS}{fewer})"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the instants (default: 1)")
    options = parser.parse_args()
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under `nohup`; the runs are to hear it
        signal.signal(signal.SIGHUP, lambda *_: None)
    folder = Path(tempfile.mkdtemp(prefix="torture-")).resolve()
    began, failed = time.monotonic(), []
    for name in options.scenario or SCENARIOS:
        if play(name, folder / name, options.seed, options.kills or FEWER.get(name, KILLS)).failures:
            failed.append(name)
        else:
            shutil.rmtree(folder / name)
    seconds = time.monotonic() - began
    if failed:
        print(f"FAILED: {', '.join(failed)}; {seconds:.0f} s; seed {options.seed}; runs kept in {folder}")
        return 1
    folder.rmdir()
    print(f"PASSED; {seconds:.0f} s; seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
