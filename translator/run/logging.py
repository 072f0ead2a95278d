"""Messages, progress bars and timed stages; output goes to standard error and log.txt."""

import contextlib
import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from tqdm import tqdm

from translator.run.files import storage_errors
from translator.run.text import printable

Item = TypeVar("Item")

LOGGER: Final = logging.getLogger("translator")
RECORD: Final = logging.getLogger("translator.record")  # details for log.txt that would flood the console
SECONDS_BETWEEN_LINES: Final = 10.0  # between two lines of progress, if standard error is not a terminal
STAGES: Final[dict[str, float]] = {}  # seconds that the last `stage` of each name took in this process


# --- messages ---


class _Formatter(logging.Formatter):
    """Escapes control characters, which file names and keys may contain."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def print_error(message: str) -> None:
    """Write to standard error through tqdm, so that a message does not break a progress bar."""
    with contextlib.suppress(OSError):  # a closed terminal or a full disk must not stop the work
        tqdm.write(message, file=sys.stderr)


@cache
def warn_once(message: str) -> None:
    """Log a warning, unless this process has logged the same one before."""
    LOGGER.warning("%s", message)


class _ConsoleHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        prefix = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        print_error(prefix + self.format(record))


class _LogFileHandler(logging.FileHandler):
    """Appends to a file; warns once if writing fails, and the program continues."""

    _warned = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)  # bugs of the caller keep their traceback
        elif not self._warned:
            self._warned = True
            print_error(f"warning: cannot write {self.baseFilename}: {error.strerror}; continuing without this log")

    def close(self) -> None:
        with contextlib.suppress(OSError):  # flushes what could not be written, and fails again
            super().close()


def log_to_console() -> None:
    """Show messages of level INFO and above on standard error; calling it again changes nothing."""
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    if not any(isinstance(handler, _ConsoleHandler) for handler in LOGGER.handlers):
        console = _ConsoleHandler()
        console.setFormatter(_Formatter())
        console.addFilter(lambda record: record.name != RECORD.name)
        LOGGER.addHandler(console)


@contextlib.contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Append messages with their time to `path` while the block runs; warn once if writing fails."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFileHandler(path, encoding="utf-8")
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(message)s"))
    # The level is that of the whole program, so it is put back at the end.
    level = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        handler.close()


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Record the duration of the block in `STAGES`, in seconds."""
    began = time.perf_counter()
    yield
    STAGES[name] = time.perf_counter() - began


# --- progress ---


class _Bar(tqdm):  # type: ignore[type-arg]  # it is generic for type checkers only
    """A progress bar on a terminal; elsewhere plain lines without control codes."""

    def __init__(self, *arguments: Any, in_lines: bool, **settings: Any) -> None:
        self.end = math.inf  # time limit of the work, on the monotonic clock
        self._printed = time.monotonic()
        self._in_lines = in_lines
        super().__init__(*arguments, **settings)

    @property
    def format_dict(self) -> dict[str, Any]:
        """The fields of the bar; `left` is the time until `total` is reached or until `end`, whichever is first."""
        fields = dict(super().format_dict)
        if self.disable:
            return fields
        # Training ends at its last update or at its time limit, whichever is first.
        remaining_seconds = self.end - time.monotonic()
        if self.total and self.n > self.initial:
            seconds_per_item = fields["elapsed"] / (self.n - self.initial)
            remaining_seconds = min(remaining_seconds, (self.total - self.n) * seconds_per_item)
        is_known = math.isfinite(remaining_seconds)
        fields["left"] = self.format_interval(max(0, remaining_seconds)) if is_known else "?"
        shape = "{desc}: {n_fmt}/{total_fmt} {unit}" if self._in_lines else "{l_bar}{bar}| {n_fmt}/{total_fmt}"
        return fields | {"bar_format": shape + " [{elapsed}<{left}, {rate_fmt}{postfix}]"}

    def display(self, msg: str | None = None, pos: int | None = None) -> Any:
        """Draw the bar, or write a line if the last one is at least 10 seconds old; return whether a bar is drawn."""
        if not self._in_lines:
            # tqdm returns the cursor to the start of the line only if this is true.
            return super().display(msg, pos)
        if time.monotonic() - self._printed >= SECONDS_BETWEEN_LINES:
            self._print()
        return False

    def clear(self, nolock: bool = False) -> None:
        """Remove the bar from the terminal; lines stay."""
        if not self._in_lines:
            super().clear(nolock)

    def close(self) -> None:
        """Leave the bar or write a last line, unless an error or a signal ends the work."""
        # After an error, a half-full bar above the message would only confuse.
        self.leave = sys.exc_info()[0] is None
        if self._in_lines and not self.disable:
            if self.leave:
                self._print()
            self.disable = True
            self._decr_instances(self)  # type: ignore[attr-defined]  # the stub leaves it out
        super().close()

    def _print(self) -> None:
        self._printed = time.monotonic()
        with contextlib.suppress(OSError):  # as in `print_error`
            print(printable(str(self)), file=self.fp, flush=True)


def progress_bar(
    items: Iterable[Item] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
    silent: bool = False,
) -> "tqdm[Item]":
    """Return a tqdm bar; without a terminal, progress appears as plain lines, at most one every 10 seconds.

    Args:
        items: what the bar iterates over; None for a bar with manual updates.
        description: the work, in front of the bar.
        total: the number of items, with those done before; by default the length of `items`.
        initial: number of items that an earlier process has done.
        unit: what an item is.
        silent: show nothing.
    """
    # In a file or a pipe, a bar that is drawn again and again would be thousands of lines.
    is_terminal = sys.stderr.isatty()
    return _Bar(
        items,
        in_lines=not is_terminal,
        file=sys.stderr,
        desc=description,
        total=total,
        initial=initial,
        unit=unit,
        disable=silent,
        dynamic_ncols=is_terminal,
        mininterval=0.2 if is_terminal else 1.0,
    )


def end_within(bar: "tqdm[Any]", seconds: float) -> None:
    """Tell a `progress_bar` that its work ends in at most `seconds`, for the display of the time left."""
    assert isinstance(bar, _Bar)
    bar.end = time.monotonic() + seconds
