"""Memory that this process may still take, from the system's tables and the container's limit."""

import re
import resource
import sys
from pathlib import Path

_MEMORY_TABLE = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


def available_memory(table: Path = _MEMORY_TABLE, limit: int | None = None) -> int | None:
    """Return the bytes that this process may still take; None on a system without `/proc/meminfo`.

    Args:
        table: a file in the format of `/proc/meminfo`.
        limit: replaces the memory limit of the container, in bytes.
    """
    line = re.search(r"^MemAvailable:\s+(\d+) kB$", read_system_file(table), re.MULTILINE)
    if line is None:
        return None
    of_system = int(line[1]) << 10
    of_container = limit or memory_limit() or sys.maxsize
    return min(of_system, of_container, _address_space())


def memory_limit(root: Path = _CONTAINER) -> int | None:
    """Return the memory limit of a container in bytes (cgroups v2); None without a limit."""
    text = read_system_file(root / "memory.max")
    return int(text) if text.isdecimal() else None


def read_system_file(path: Path) -> str:
    """Return the content of a file of the system without white space at its ends; "" if it cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _address_space() -> int:
    """Return the limit that `ulimit -v` sets, in bytes."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
