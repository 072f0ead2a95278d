"""What `translator doctor` shows: versions, devices with the precision of training on them, and disk."""

import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from translator.errors import StorageError
from translator.run.files import storage_errors
from translator.run.provenance import package_versions

_GIB: Final = 1 << 30
_DISK_FOR_SAMPLE: Final = 128 << 20  # bytes that the recipe sample needs


Finding = tuple[Literal["ok", "note", "wrong"], str, str]
"""A line of the table: the verdict, what was examined, and what there is.

`note`: training works without it; `wrong`: training is impossible.
"""


def examine(folder: Path) -> list[Finding]:
    """Return all findings for work in `folder`."""
    return [
        ("ok", "Python", f"{platform.python_version()} ({sys.executable})"),
        *(("ok", package, version) for package, version in package_versions().items()),
        *examine_devices(),
        examine_place("runs/", folder / "runs"),
        examine_place("data/", folder / "data"),
        examine_place("temporary files", Path(tempfile.gettempdir())),
    ]


def examine_devices() -> Iterator[Finding]:
    """Yield findings on the devices that torch can compute on, and the precision of training on each."""
    # 1. torch itself. A torch that is built for another kind of machine may be installed and not load.
    try:
        import torch

        from translator.speed.gpu_support import WHAT_TO_INSTALL, gpu_count, gpu_problem
        from translator.training.precision import choose_precision
    except (ImportError, OSError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        yield "wrong", "torch", f"cannot be loaded: {reason}"
        return

    # 2. The devices that every machine may have, each with a description.
    threads = torch.get_num_threads()
    devices = {"CPU": (torch.device("cpu"), f"{torch.backends.cpu.get_cpu_capability()}, {threads} threads")}
    if torch.backends.mps.is_available():
        devices["GPU"] = (torch.device("mps"), "Apple's, by MPS")

    # 3. NVIDIA's and AMD's GPUs. If torch counts none, one problem may keep it from all GPUs; else each GPU may have a
    # problem of its own.
    count = gpu_count()
    common_problem = gpu_problem() if count == 0 else None
    if common_problem is not None:
        yield "note", "GPU", f"{common_problem}; {WHAT_TO_INSTALL}"
    for number in range(count):
        problem = gpu_problem(number)
        if problem is not None:
            yield "note", f"GPU {number}", f"{problem}; {WHAT_TO_INSTALL}"
            continue
        gpu = torch.device("cuda", number)
        memory = torch.cuda.get_device_properties(gpu).total_memory / _GIB
        devices[f"GPU {number}"] = (gpu, f"{torch.cuda.get_device_name(number)}, {memory:.0f} GiB")

    # 4. The precision of training on each device.
    for name, (device, description) in devices.items():
        precision, _ = choose_precision(device)
        yield "ok", name, f"{description}; training computes in {precision}"


def examine_place(name: str, place: Path) -> Finding:
    """Return the finding on whether `place`, or its nearest existing parent, can be written and has enough space."""
    parent = next((path for path in (place, *place.absolute().parents) if path.exists()), Path("/"))
    label = str(parent) if parent == place else f"{place} (to be created in {parent})"
    try:
        with storage_errors(parent), tempfile.TemporaryDirectory(prefix=".doctor-", dir=parent) as trial:
            Path(trial, "link").symlink_to("file")  # a run folder has links, which some file systems lack
            free = shutil.disk_usage(parent).free
    except StorageError as error:
        return "wrong", name, f"{label}: {error}"
    verdict: Literal["ok", "wrong"] = "ok" if free >= _DISK_FOR_SAMPLE else "wrong"
    return verdict, name, f"{label}: {free / _GIB:,.1f} GiB free"
