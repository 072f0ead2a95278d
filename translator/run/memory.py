"""Memory that this process may still take, from the system's tables and the container's limit."""

import re
import resource
import sys
from pathlib import Path
from typing import Final

from translator.errors import InputError

_LIBRARIES: Final = 1 << 30  # bytes of address space that torch and its companions take when they are loaded
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
    # The smallest of three limits counts: of the machine, of the container, of this shell.
    of_system = int(line[1]) << 10
    of_container = limit or memory_limit() or sys.maxsize
    return min(of_system, of_container, _address_space())


def memory_limit(root: Path = _CONTAINER) -> int | None:
    """Return the memory limit of a container in bytes (cgroups v2); None without a limit."""
    text = read_system_file(root / "memory.max")
    return int(text) if text.isdecimal() else None


def check_address_space(limit: int | None = None) -> None:
    """Raise InputError if `ulimit -v` leaves too little address space for the libraries.

    It comes before they are loaded: some of them end the process without a word of ours when memory is refused.

    Args:
        limit: replaces the limit of this process, in bytes.
    """
    allowed = _address_space() if limit is None else limit
    if allowed < _LIBRARIES:
        raise InputError(
            f"this shell allows a process {allowed >> 20:,} MiB of address space, and the libraries alone (torch, "
            f"ctranslate2) need {_LIBRARIES >> 20:,} MiB; raise the limit with: ulimit -v unlimited"
        )


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
