"""The first hour with a wheel and with a source distribution, in a minimal environment.

Each distribution is installed into an empty environment. The commands then run in an empty folder with a space and
Persian letters in its name, without a home folder, with an empty PATH (so without git), with 4 GiB of memory, and
without a network if this machine can disable it.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.options import FailedError, Options
from bench.processes import ROOT
from translator.errors import InputError
from translator.run.text import text_table

FOLDER: Final = "a folder, پوشهٔ من"
MEMORY: Final = 4 << 30  # maximum bytes of data per process
Step = tuple[tuple[str, ...], int]  # arguments of `translator`, and the expected exit code


def bench(options: Options) -> Iterator[str]:
    """Run the commands of the first hour with each distribution in `options.dist`, and yield a table for each.

    Raises:
        InputError: there is no distribution.
        FailedError: a command had an unexpected exit code.
    """
    distributions = [*sorted(options.dist.glob("*.whl")), *sorted(options.dist.glob("*.tar.gz"))]
    if not distributions:
        raise InputError(f"no distributions in {options.dist}; build them: make dist")
    prefix = without_network()
    network = "no network" if prefix else "a network, which cannot be disabled here"
    failed = []
    for distribution in distributions:
        with tempfile.TemporaryDirectory() as place:
            program = install(distribution, Path(place, "environment"))
            folder = Path(place, FOLDER)
            folder.mkdir()
            rows = walk(program, folder, hour(options.steps), prefix)
        yield f"\n{distribution.name}, {network}\n"
        yield text_table(("command", "exit code", "seconds", "peak MiB", ""), rows, text_columns=1)
        if any(row[-1] for row in rows):
            failed.append(distribution.name)
    if failed:
        raise FailedError(f"a command had an unexpected exit code with {', '.join(failed)}")


def hour(steps: int) -> list[Step]:
    """Return the commands of the first hour, with a training of `steps` updates."""
    run = ("--run", "runs/sample")
    short = ("--set", f"training.max_steps={steps}")
    sentence = "The children are at school."
    return [
        (("--version",), 0),
        (("doctor",), 0),
        (("recipe", "sample", "--output", "my.yaml"), 0),
        (("train", "--config", "sample", *short), 0),
        (("train", "--config", "my.yaml", *short), 0),  # the same run, which is finished
        (("translate", *run, sentence), 0),
        (("evaluate", *run, "--search", "beam", "--beam", "2"), 0),
        (("plot", "attention", *run, sentence, "--output", "attention.png"), 0),
        (("export", *run, "--to", "safetensors", "exports/sample"), 0),
        (("translate", "--run", "exports/sample", sentence), 0),
        (("translate", "--run", "runs/none", sentence), 2),
        (("train", "--config", "my.yaml", "--set", "run.directory=runs/other", "--set", "model.heads=3"), 2),
    ]


def walk(program: Path, folder: Path, steps: Sequence[Step], prefix: Sequence[str] = ()) -> list[list[str]]:
    """Run the commands of `program` in `folder`, with output on standard error; return rows of a table.

    `prefix` stands before each command line.
    """
    # A home below a file cannot be created; without the variable, the current user's home would be used.
    variables = {"PATH": str(program.parent), "HOME": str(program / "home"), "LC_ALL": "C.UTF-8"}
    rows = []
    for arguments, expected in steps:
        print(f"\n$ translator {' '.join(arguments)}", file=sys.stderr, flush=True)
        began = time.monotonic()
        process = subprocess.Popen(
            [*prefix, str(program), *arguments],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # end the training before its folder is deleted
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        rows.append(
            [
                f"translator {' '.join(arguments)}",
                str(process.returncode),
                f"{time.monotonic() - began:.0f}",
                f"{usage.ru_maxrss // 1024:,}",
                "" if process.returncode == expected else f"expected {expected}",
            ]
        )
    return rows


def without_network() -> list[str]:
    """Return the prefix of a command line that disables the network; empty if this machine does not allow it."""
    unshare = shutil.which("unshare")
    for flags in (["--net"], ["--map-root-user", "--net"]):
        if unshare and subprocess.run([unshare, *flags, "true"], capture_output=True, check=False).returncode == 0:
            return [unshare, *flags]
    return []


def install(distribution: Path, folder: Path) -> Path:
    """Create an environment in `folder` with only the distribution, and return its `translator`."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(distribution.resolve())], check=True)
    return folder / "bin" / "translator"
