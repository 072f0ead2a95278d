"""One progress bar for every long stage, on standard error, so that results on standard output stay clean."""

import sys
import time
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

SECONDS_BETWEEN_LINES: Final = 10.0
"""How often progress is told where standard error is no terminal."""


class _Timed(tqdm):  # type: ignore[type-arg]  # it is generic for type checkers only
    """A bar that may have an end in time, besides its total."""

    _end: float | None = None

    def end_within(self, seconds: float) -> None:
        """Tell the time left as `seconds` from now at most."""
        self._end = time.monotonic() + seconds  # not the clock on the wall, which may jump

    def seconds_left(self, seconds: float) -> float | None:
        """Return how long it will go on, `seconds` after it began; None while nobody knows."""
        done = self.n - self.initial
        ends = [] if self._end is None else [max(0.0, self._end - time.monotonic())]
        if self.total is not None and done > 0:
            ends.append((self.total - self.n) / done * seconds)
        return min(ends, default=None)


class _Bar(_Timed):
    """Progress as a bar, for terminals."""

    def end_within(self, seconds: float) -> None:
        """Show the time left of that end, in tqdm's own form."""
        super().end_within(seconds)
        self.bar_format = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{left}, {rate_fmt}{postfix}]"

    @property
    def format_dict(self) -> dict[str, Any]:
        """What stands in the bar."""
        fields = dict(super().format_dict)
        if not hasattr(self, "initial"):  # a silent one, of which tqdm keeps next to nothing
            return fields
        left = self.seconds_left(fields["elapsed"])
        return {**fields, "left": "?" if left is None else self.format_interval(left)}


class _Lines(_Timed):
    """Progress as plain lines, for logs and pipes: no control codes, and never a line drawn over."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._began = self._told = time.monotonic()
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


def _line(bar: _Timed, seconds: float, last: bool) -> str:
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
    elif (left := bar.seconds_left(seconds)) is not None:
        parts.append(f"{duration(left)} left")
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
    kind: Any = _Bar if on_terminal else _Lines
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


def end_within(bar: "tqdm[Any]", seconds: float) -> None:
    """Let a `progress_bar` know that what it watches ends in `seconds`, if it has not reached its total by then."""
    assert isinstance(bar, _Timed)
    bar.end_within(seconds)
