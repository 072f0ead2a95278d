"""The most memory that this process has ever held."""

import resource
from pathlib import Path


def peak_memory() -> int:
    """Return the high-water mark of resident memory in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not `getrusage`: on Linux its mark begins with that of the process that started this one.
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
