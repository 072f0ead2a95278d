"""Provenance of a run: versions, git commit and hardware."""

import contextlib
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from translator import __version__

_PACKAGES: Final = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic")
"""Packages whose version can change a score."""
_SECONDS_FOR_GIT: Final = 10


def describe_environment() -> dict[str, Any]:
    """Return versions, git commit and hardware as JSON values; unknown values are null."""
    import torch

    # `device_count` also counts GPUs that CUDA cannot start, and to ask for the name of such a GPU fails.
    gpu_count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "versions": {"python": platform.python_version(), **package_versions()},
        "git": _git_commit(),
        "hardware": {
            "system": platform.platform(),
            "cpu": _processor_name(),
            "cores": os.cpu_count(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "gpus": [torch.cuda.get_device_name(number) for number in range(gpu_count)],
        },
    }


def package_versions() -> dict[str, str]:
    """Return the versions of this program and of each installed package that can change a score."""
    versions = {"translator": __version__}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def _processor_name() -> str | None:
    """Return the name of the processor, from Linux's table if there is one; None if it is unknown."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(": ")[2]
    return platform.processor() or None


def _git_commit() -> str | None:
    """Return the commit of the checkout with this code, and `-dirty` if it has changes; None outside a checkout."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        # Fails if this file is no part of the repository: the package may be installed inside another one.
        _ask_git("ls-files", "--error-unmatch", Path(__file__).name)
        return _ask_git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    return None


def _ask_git(*arguments: str) -> str:
    """Return what git prints for the checkout with this code; raise SubprocessError if it fails."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_SECONDS_FOR_GIT)
    return answer.stdout.strip()
