"""The machine itself: cores, memory, large pages."""

import os
import platform
import re
import sys
from pathlib import Path
from typing import Final

from translator.doctor.control_groups import cpu_limit, memory_limit
from translator.doctor.finding import Finding
from translator.workers import available_cores

_GIB: Final = 1 << 30
ENOUGH_MEMORY: Final = 2 * _GIB
"""Bytes; training the sample, evaluating it and drawing attention took 1.55 GiB at most, cached files included."""
_HUGE_PAGES: Final = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MEMORY: Final = Path("/proc/meminfo")


def examine_machine() -> list[Finding]:
    """Return what is found of cores and memory."""
    return [
        Finding("system", f"{platform.system()} {platform.release()} on {platform.machine()}"),
        cores(),
        memory(_read(_MEMORY), memory_limit()),
        large_pages(_read(_HUGE_PAGES)),
    ]


def cores() -> Finding:
    """Return how many cores may be used, and whether the group of this process may use them fully."""
    usable, all_, limit = available_cores(), os.cpu_count() or 1, cpu_limit()
    found = f"{usable} of {all_} may be used"
    if limit is not None and limit < usable:
        threads = max(1, int(limit))
        return Finding(
            "cores",
            f"{found}, for {limit:g} cores' worth of time",
            "note",
            f"more threads than that wait for each other; train with --set run.threads={threads}",
        )
    return Finding("cores", found)


def memory(table: str, limit: int | None) -> Finding:
    """Return whether there is enough memory.

    Args:
        table: what /proc/meminfo says; empty where there is none.
        limit: bytes that the control group of this process may use.
    """
    total, free = _bytes(table, "MemTotal"), _bytes(table, "MemAvailable")
    if total is None or free is None:
        return Finding("memory", "this system does not say")
    found = f"{total / _GIB:.1f} GiB, {free / _GIB:.1f} GiB of it free"
    usable = free
    if limit is not None and limit < total:
        found += f"; this process may use {limit / _GIB:.1f} GiB"
        usable = min(free, limit)
    if usable < ENOUGH_MEMORY:
        advice = (
            f"training the sample wants about {ENOUGH_MEMORY / _GIB:.0f} GiB; close other programs, raise the limit, "
            "or make batches smaller with --set batching.tokens_per_batch=512"
        )
        return Finding("memory", found, "note", advice)
    return Finding("memory", found)


def large_pages(setting: str) -> Finding:
    """Return whether memory can come in large pages, as the system's `setting` says (`always [madvise] never`)."""
    chosen = re.search(r"\[(\w+)\]", setting)
    if sys.platform != "linux" or chosen is None:
        return Finding("large pages", "none on this system; training works without, a little slower")
    if chosen[1] == "never":
        advice = f"training is a little slower without; as root: echo madvise > {_HUGE_PAGES}"
        return Finding("large pages", "switched off", "note", advice)
    return Finding("large pages", f"{chosen[1]}; train, evaluate, translate and serve ask for them")


def _bytes(table: str, name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB$", table, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
