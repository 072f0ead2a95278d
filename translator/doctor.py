"""`translator doctor`: checks of this machine for training, with advice on what is missing."""

import contextlib
import fcntl
import importlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from packaging.requirements import Requirement

from translator.errors import StorageError
from translator.run.files import storage_errors
from translator.run.installing import install_command
from translator.run.memory import available_memory, read_system_file
from translator.run.text import text_table
from translator.run.workers import available_cores

if TYPE_CHECKING:
    import torch

_GIB: Final = 1 << 30
_MEMORY: Final = 2 * _GIB  # training and evaluating the sample needs up to 1.55 GiB, including cached files
_DISK_FOR_SAMPLE: Final = 128 << 20
_DISTRIBUTION: Final = "translator-en-fa"  # the project's name in pyproject.toml
_COMPILED: Final = ("torch", "numpy", "sentencepiece", "safetensors", "pydantic", "zstandard")
"""Packages with compiled parts, which may fail to load although they are installed."""
_EXTRAS: Final = {"": "needed", "serve": "needed for serve", "data": "needed for Parquet files"}
"""Extras that need packages, and what to say of these; the empty name is the base installation."""
Verdict = Literal["ok", "note", "wrong"]  # `note`: training works; `wrong`: training is impossible
_TITLES: Final = {"wrong": "Errors; training is impossible:", "note": "Notes; training works anyway:"}


class Finding(NamedTuple):
    """Result of a check: verdict, subject, finding, and advice."""

    verdict: Verdict
    name: str
    found: str
    advice: str = ""


def examine(folder: Path) -> list[Finding]:
    """Return all findings for work in `folder`."""
    findings = list(examine_packages())
    if _import_error("torch") is None:
        findings += examine_devices()
    return [
        *findings,
        examine_memory(),
        examine_place("runs/", folder / "runs"),
        examine_place("data/", folder / "data"),
        examine_place("temporary files", Path(tempfile.gettempdir())),
    ]


def format_findings(findings: Sequence[Finding]) -> str:
    """Return a table of the findings, with the advice below it."""
    rows = [(finding.verdict, finding.name, finding.found) for finding in findings]
    lines = [text_table(("", "what", "found"), rows, text_columns=3)]
    for verdict, title in _TITLES.items():
        advice = [f"  {finding.name}: {finding.advice}" for finding in findings if finding.verdict == verdict]
        if advice:
            lines += ["", title, *advice]
    return "\n".join(lines)


def examine_packages() -> Iterator[Finding]:
    """Yield findings on Python, required packages and packages of the extras."""
    yield Finding("ok", "Python", f"{platform.python_version()} ({sys.executable})")
    listed = metadata.requires(_DISTRIBUTION) if version_of(_DISTRIBUTION) else None
    for requirement in map(Requirement, listed or []):
        extra = _extra_of(requirement)
        if extra is not None:
            yield _examine_package(requirement, extra)


def _extra_of(requirement: Requirement) -> str | None:
    """Return the first of the `_EXTRAS` that needs a package on this machine; None if none does."""
    for extra in _EXTRAS:
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            return extra
    return None


def _examine_package(requirement: Requirement, extra: str) -> Finding:
    """Return the finding on a required package: whether it is installed, fits, and can be loaded."""
    name, versions = requirement.name, requirement.specifier
    installed = version_of(name)
    needed = f"{_EXTRAS[extra]}: {versions}"
    install = install_command(f"{name}{versions}")
    verdict_without_it: Verdict = "note" if extra else "wrong"
    if installed is None or not versions.contains(installed, prereleases=True):
        advice = f"{needed}; install it with: {install}"
        return Finding(verdict_without_it, name, installed or "not installed", advice)
    problem = _import_error(name) if name in _COMPILED else None
    if problem is not None:
        advice = f"it cannot be loaded ({problem}); uninstall it with pip, then: {install}"
        return Finding(verdict_without_it, name, installed, advice)
    return Finding("ok", name, f"{installed} ({needed})")


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return None


def _import_error(module: str) -> str | None:
    """Return the first line of the error with which a module fails to load; None if it loads."""
    try:
        importlib.import_module(module)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError) as error:  # such as a build for another OS
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


def examine_devices() -> Iterator[Finding]:
    """Yield findings on GPUs, CPU and threads."""
    import torch  # imported here, so that a broken torch is reported

    from translator.speed.gpu_support import WHAT_TO_INSTALL, gpu_count, gpu_problem

    # 1. GPUs.
    gpus = gpu_count()
    problem = gpu_problem() if gpus == 0 else None
    if problem is not None:
        yield Finding("note", "GPU", problem, WHAT_TO_INSTALL)
    elif torch.backends.mps.is_available():
        yield _device(torch.device("mps"), "GPU", "Apple's, by MPS")
    elif gpus == 0:
        yield Finding("ok", "GPU", "no GPU that torch supports; training runs on the CPU")
    for number in range(gpus):
        yield _examine_gpu(number)

    # 2. The CPU.
    yield _device(torch.device("cpu"), "CPU", torch.backends.cpu.get_cpu_capability())
    yield examine_threads(torch.get_num_threads(), available_cores(), cpu_limit())


def _examine_gpu(number: int) -> Finding:
    """Return the finding on a GPU that torch sees."""
    import torch

    from translator.speed.gpu_support import WHAT_TO_INSTALL, gpu_problem

    name = f"GPU {number}"
    problem = gpu_problem(number)
    if problem is not None:
        return Finding("note", name, problem, WHAT_TO_INSTALL)
    device = torch.device("cuda", number)
    kind = torch.cuda.get_device_name(number)
    try:
        free, total = torch.cuda.mem_get_info(device)
    except RuntimeError as error:
        advice = f"it cannot be used ({str(error).splitlines()[0]}); train with --set run.device=cpu, or free it"
        return Finding("note", name, kind, advice)
    return _device(device, name, f"{kind}, {total / _GIB:.0f} GiB ({free / _GIB:.0f} free)")


def _device(device: "torch.device", name: str, description: str) -> Finding:
    """Return the finding on a device that works, with the precision of training on it."""
    from translator.training.precision import choose_precision

    precision, _ = choose_precision(device)
    return Finding("ok", name, f"{description}; training computes in {precision}")


def examine_threads(threads: int, cores: int, limit: float | None) -> Finding:
    """Return the finding on whether `threads` fit the `cores` and the container's CPU `limit` (in cores)."""
    usable = cores if limit is None else max(1, min(cores, int(limit)))
    description = f"torch uses {threads}; {usable} can run at the same time"
    if threads > usable or (threads < usable and "OMP_NUM_THREADS" in os.environ):
        advice = f"unset OMP_NUM_THREADS, or train with --set run.threads={usable}"
        return Finding("note", "threads", description, advice)
    return Finding("ok", "threads", description)


def examine_memory(table: Path = Path("/proc/meminfo"), limit: int | None = None) -> Finding:
    """Return the finding on memory for the sample, from `/proc/meminfo` and the container's limit in bytes."""
    free = available_memory(table, limit)
    if free is None:
        return Finding("ok", "memory", "unknown on this system")
    description = f"{free / _GIB:.1f} GiB free for this process"
    if free >= _MEMORY:
        return Finding("ok", "memory", description)
    advice = (
        "training the sample needs about 2 GiB; close other programs, raise the limit, or make batches smaller "
        "with --set batching.tokens_per_batch=512"
    )
    return Finding("note", "memory", description, advice)


def cpu_limit(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Return the CPU limit of a container in cores; None without a limit."""
    quota, _, period = read_system_file(root / "cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdecimal() else None


def examine_place(name: str, place: Path) -> Finding:
    """Return the finding on whether `place`, or its nearest existing parent, is writable and suits a run.

    A run needs symbolic links (`best`, `last`) and file locks, which some network and USB file systems lack.
    """
    parent = next((path for path in (place, *place.absolute().parents) if path.exists()), Path("/"))
    label = str(parent) if parent == place else f"{place} (to be created in {parent})"

    # 1. Try.
    has_links = has_locks = False
    try:
        with storage_errors(parent), tempfile.TemporaryDirectory(prefix=".doctor-", dir=parent) as trial:
            with contextlib.suppress(OSError):
                Path(trial, "link").symlink_to("file")
                has_links = True
            with contextlib.suppress(OSError), Path(trial, "file").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                has_locks = True
        free = shutil.disk_usage(parent).free
    except StorageError as error:
        return Finding("wrong", name, label, str(error))

    # 2. Judge; what makes training impossible comes first.
    description = f"{label}: {free / _GIB:,.1f} GiB free"
    if not has_links:
        return Finding("wrong", name, description, "a run needs symbolic links; use a file system that supports them")
    if free < _DISK_FOR_SAMPLE:
        return Finding("wrong", name, description, "free some space there, or use another disk")
    if not has_locks:
        advice = "this file system has no locks; use a run folder in one process only"
        return Finding("note", name, description, advice)
    return Finding("ok", name, description)
