"""One thing that was looked at."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "note", "wrong"]
"""As it should be; training works but something could be better or is missing; one cannot train."""


@dataclass(frozen=True)
class Finding:
    """What was looked at, what was found, and what follows."""

    name: str
    found: str
    verdict: Verdict = "ok"
    advice: str = ""
    """What it means, and what to do; empty where there is nothing to do."""
