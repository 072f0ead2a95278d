"""The first hour with a wheel and with a source distribution, on a machine that lacks much.

python -m bench.newcomer [dist] [--steps N] [--memory GIB]

Each distribution of the folder is installed into an empty environment. The commands then run in an empty folder with a
space and Persian letters in its name, without a home, with nothing on the path but themselves (so without git), with so
much memory, and without a network where this machine can take it away. A table says how each ended.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.text_table import text_table

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = "a folder, پوشهٔ من"
SENTENCE: Final = "The children are at school."
GIB: Final = 1 << 30


@dataclass(frozen=True)
class Step:
    """A command of the hour, and the exit code that it should have."""

    arguments: tuple[str, ...]
    expected: int = 0


@dataclass(frozen=True)
class Outcome:
    """What came of a step."""

    step: Step
    code: int
    seconds: float
    peak: int
    """Most memory that was resident at a time in its largest process, in bytes."""

    @property
    def good(self) -> bool:
        """Whether it ended as it should."""
        return self.code == self.step.expected


def hour(steps: int) -> tuple[Step, ...]:
    """Return the commands of the first hour, with a training of so many updates."""
    run = ("--run", "runs/sample")
    return (
        Step(("--version",)),
        Step(("doctor",)),
        Step(("recipe", "sample", "--output", "my.yaml")),
        Step(("train", "--config", "sample", "--set", f"training.max_steps={steps}")),
        Step(("train", "--config", "my.yaml", "--set", f"training.max_steps={steps}")),  # it is finished, and says so
        Step(("runs",)),
        Step(("translate", *run, SENTENCE)),
        Step(("evaluate", *run, "--search", "beam", "--beam", "2")),
        Step(("plot", "attention", *run, SENTENCE, "--output", "attention.png")),
        Step(("export", *run, "--to", "safetensors", "exports/sample")),
        Step(("translate", "--run", "exports/sample", SENTENCE)),
        Step(("translate", "--run", "runs/none", SENTENCE), 2),
        Step(("train", "--config", "my.yaml", "--set", "run.directory=runs/other", "--set", "model.heads=3"), 2),
    )


def walk(program: Path, folder: Path, steps: Sequence[Step], memory: int, before: Sequence[str] = ()) -> list[Outcome]:
    """Run the commands one after the other in `folder`; what they say goes to standard error.

    Args:
        program: `translator` of an environment.
        folder: an empty one.
        steps: the commands.
        memory: bytes of data that each process of a command may hold.
        before: what each command line begins with.
    """
    # A home below a file cannot be made; without the variable it would be that of whoever is logged in.
    surroundings = {"PATH": str(program.parent), "HOME": str(program / "home"), "LC_ALL": "C.UTF-8"}
    outcomes = []
    for step in steps:
        print(f"\n$ translator {' '.join(step.arguments)}", file=sys.stderr, flush=True)
        began = time.monotonic()
        process = subprocess.Popen(
            [*before, str(program), *step.arguments],
            cwd=folder,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)),
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # it would train on, in a folder that is about to go
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        outcomes.append(Outcome(step, process.returncode, time.monotonic() - began, usage.ru_maxrss * 1024))
    return outcomes


def without_network() -> list[str]:
    """Return what a command line begins with to have no network; empty where this machine cannot take it away."""
    unshare = shutil.which("unshare")
    for flags in (["--net"], ["--map-root-user", "--net"]):
        if unshare and subprocess.run([unshare, *flags, "true"], capture_output=True, check=False).returncode == 0:
            return [unshare, *flags]
    return []


def install(distribution: Path, folder: Path) -> Path:
    """Make an environment in `folder` with the distribution alone, and return its `translator`."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(distribution.resolve())], check=True)
    return folder / "bin" / "translator"


def format_outcomes(outcomes: Sequence[Outcome]) -> str:
    """Return the table of one walk."""
    header = ("command", "exit code", "seconds", "peak MiB", "")
    rows = [
        (
            f"translator {' '.join(outcome.step.arguments)}",
            str(outcome.code),
            f"{outcome.seconds:.0f}",
            f"{outcome.peak >> 20:,}",
            "" if outcome.good else f"expected {outcome.step.expected}",
        )
        for outcome in outcomes
    ]
    return text_table(header, rows, text_columns=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk with each distribution; return 1 if a command did not end as it should."""
    parser = argparse.ArgumentParser(prog="bench.newcomer", description="The first hour with what `make dist` built.")
    parser.add_argument("dist", nargs="?", type=Path, default=Path("dist"), help="folder of the distributions")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="updates of the training (default: 20)")
    parser.add_argument("--memory", type=float, default=4.0, metavar="GIB", help="of each process (default: 4)")
    options = parser.parse_args(arguments)
    distributions = [*sorted(options.dist.glob("*.whl")), *sorted(options.dist.glob("*.tar.gz"))]
    if not distributions:
        print(f"bench: no distributions in {options.dist}; build them: make dist", file=sys.stderr)
        return 2
    before = without_network()
    good = True
    for distribution in distributions:
        with tempfile.TemporaryDirectory() as place:
            program = install(distribution, Path(place, "environment"))
            folder = Path(place, FOLDER)
            folder.mkdir()
            outcomes = walk(program, folder, hour(options.steps), int(options.memory * GIB), before)
        network = "no network" if before else "a network, which could not be taken away"
        print(f"\n{distribution.name}, {options.memory:g} GiB, {network}\n\n{format_outcomes(outcomes)}", flush=True)
        good = good and all(outcome.good for outcome in outcomes)
    return 0 if good else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the environments are deleted then, too
    sys.exit(main())
