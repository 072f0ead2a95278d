"""Limits that a container or a service manager sets by Linux control groups, of either version."""

from pathlib import Path
from typing import Final

_ROOT: Final = Path("/sys/fs/cgroup")
_MEMBERSHIP: Final = Path("/proc/self/cgroup")
_BOUNDLESS: Final = 1 << 60
"""Bytes; version 1 writes a number near 2 ** 63 for no limit."""


def memory_limit(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> int | None:
    """Return the bytes that this process may use together with its group; None without a limit."""
    found = []
    for folder in _folders(root, membership, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _read(folder / name)
            if text.isdecimal() and int(text) < _BOUNDLESS:
                found.append(int(text))
    return min(found, default=None)


def cpu_limit(root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> float | None:
    """Return the cores' worth of time that this process may use together with its group; None without a limit."""
    found = []
    for folder in _folders(root, membership, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:
            found.append(int(quota) / int(period))
    return min(found, default=None)


def _folders(root: Path, membership: Path, controller: str) -> list[Path]:
    """Return the folders of the groups that this process is in, each with those around it: every one may limit it."""
    folders = []
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        top = root if controllers == "" else root / controllers
        if controllers == "" or controller in controllers.split(","):
            group = top / path.lstrip("/")
            # Inside a container the path may be that of the host, of which only the top can be seen.
            folders += [group, *(parent for parent in group.parents if parent.is_relative_to(top))]
    return folders


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
