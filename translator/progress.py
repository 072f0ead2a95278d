"""One progress bar for every long stage, on standard error, so that results on standard output stay clean."""

import sys
import time
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

SECONDS_BETWEEN_LINES: Final = 10.0
"""How often progress is told where standard error is no terminal."""


class _Lines(tqdm):  # type: ignore[type-arg]  # it is generic for type checkers only
    """Progress as plain lines, for logs and pipes: no control codes, and never a line drawn over."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._began = self._told = time.monotonic()  # not the clock on the wall, which may jump
        self._told_count: float = -1
        super().__init__(*arguments, **settings)

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Write a line if the last one is old enough."""
        if time.monotonic() - self._told >= SECONDS_BETWEEN_LINES:
            self._tell()

    def clear(self, nolock: bool = False) -> None:
        """Do nothing: what is written stays."""

    def close(self) -> None:
        """Write a last line."""
        if self.disable:
            return
        self.disable = True
        self._decr_instances(self)  # type: ignore[attr-defined]  # the stub leaves it out
        if self.n != self._told_count:
            self._tell(last=True)

    def _tell(self, last: bool = False) -> None:
        self._told, self._told_count = time.monotonic(), self.n
        seconds = self._told - self._began
        print(_line(self, seconds, last), file=self.fp, flush=True)


def _line(bar: "tqdm[Any]", seconds: float, last: bool) -> str:
    """Return what a bar would show, `seconds` after it began."""
    unit = bar.unit.strip()
    done = bar.n - bar.initial
    rate = done / seconds if seconds > 0 else 0.0
    of_all = "" if bar.total is None else f"/{bar.total:,}"
    count = f"step {bar.n:,}{of_all}" if unit == "step" else f"{bar.n:,}{of_all} {unit}"
    parts = [f"{bar.desc.removesuffix(': ')}: {count}"]
    if bar.postfix:
        parts.append(str(bar.postfix))
    elif rate:
        parts.append(f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.2f} {unit}/s")
    if last:
        parts.append(f"in {duration(seconds)}")
    elif bar.total is not None and rate:
        parts.append(f"{duration((bar.total - bar.n) / rate)} left")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """Return `seconds` as a person says them: 40 s, 12 min, 3 h 05 min, 2 d 4 h."""
    if seconds < 60:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def progress_bar(
    items: Iterable[Item] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
    silent: bool = False,
) -> "tqdm[Item]":
    """Return a tqdm bar over `items`, or one to be moved by hand when `items` is None; `initial` were done before.

    A `silent` one shows nothing: another process has the word.

    When standard error is not a terminal, progress is told in plain lines, one every 10 seconds at most and one at the
    end.
    """
    on_terminal = sys.stderr.isatty()
    kind: Any = tqdm if on_terminal else _Lines
    bar: tqdm[Item] = kind(
        items,
        desc=description,
        total=total,
        initial=initial,
        unit=unit,
        disable=silent,
        dynamic_ncols=on_terminal,
        file=sys.stderr,
        mininterval=0.2 if on_terminal else 1.0,
    )
    return bar
