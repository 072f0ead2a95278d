"""Memory in large pages, which training and search walk through faster: fewer places to look up."""

import os
import sys
from typing import Final

_TUNABLES: Final = "GLIBC_TUNABLES"
_SETTING: Final = "glibc.malloc.hugetlb"


def large_pages() -> dict[str, str]:
    """Return the environment in which the C library takes memory in large pages, where the system offers them.

    Only a process that begins in it heeds it (glibc 2.35 and later; others ignore it). A setting of the person's own
    is left as it is.
    """
    already = os.environ.get(_TUNABLES, "")
    if _SETTING in already:
        return {}
    return {_TUNABLES: ":".join(filter(None, (already, f"{_SETTING}=1")))}


def begin_in_large_pages() -> None:
    """Begin this very command anew, in the same process, with memory in large pages; return if it has them already."""
    setting = large_pages()
    if setting and sys.platform == "linux" and sys.executable:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **setting})
