"""What a result depends on besides its configuration: versions, git commit, hardware."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic", "tensorboard")
"""Packages whose version can change a score."""


def describe_environment() -> dict[str, Any]:
    """Return versions, git commit and hardware as JSON values; what cannot be found out is null."""
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "versions": {"translator": _version("translator"), "python": platform.python_version()}
        | {package: _version(package) for package in PACKAGES},
        "git": git_commit(Path(__file__).parent),
        "hardware": _hardware(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def git_commit(folder: Path) -> dict[str, Any] | None:
    """Return the commit of the checkout that holds `folder` and whether it has changes; None outside a checkout."""

    def ask(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        tracked = ask("ls-files", "special_tokens.py")  # inside somebody else's repository we are not tracked
        return {"commit": ask("rev-parse", "HEAD"), "changed": bool(ask("status", "--porcelain"))} if tracked else None
    except (OSError, subprocess.SubprocessError):
        return None


def _hardware() -> dict[str, Any]:
    import torch

    gpus = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "gpus": gpus,
    }


def _cpu_name() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None
