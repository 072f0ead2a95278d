"""Messages, progress bars and timed stages; output goes to standard error and log.txt."""

import contextlib
import io
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
    level_before = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level_before)
        handler.close()


# --- progress ---


class _Bar(tqdm):  # type: ignore[type-arg]  # it is generic for type checkers only
    """A progress bar whose time left is also limited by `end`, and which an error removes."""

    end = math.inf  # time limit of the work, on the monotonic clock

    @property
    def format_dict(self) -> dict[str, Any]:
        """The fields of the bar; `left` is the time until `total` is reached or until `end`, whichever is first."""
        fields = dict(super().format_dict)
        remaining_seconds = self.end - time.monotonic()  # until the time limit; infinite without one
        items_of_this_process = self.n - self.initial  # the first `initial` were done by an earlier process
        if self.total and items_of_this_process > 0:
            seconds_per_item = fields["elapsed"] / items_of_this_process
            remaining_seconds = min(remaining_seconds, (self.total - self.n) * seconds_per_item)
        left = self.format_interval(max(0, remaining_seconds)) if math.isfinite(remaining_seconds) else "?"
        return fields | {"left": left}

    def close(self) -> None:
        """Keep a finished bar on the screen; remove the bar after an error, whose message follows."""
        self.leave = sys.exc_info()[0] is None
        super().close()


class _Lines(io.StringIO):
    """A file for a bar where there is no terminal: what the bar draws becomes lines."""

    def write(self, text: str) -> int:
        """Print a drawing of the bar as a line, without the codes that move the cursor."""
        if line := text.strip():
            print_error(printable(line))
        return len(text)


def progress_bar(
    items: Iterable[Item] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
    silent: bool = False,
) -> "tqdm[Item]":
    """Return a tqdm bar; without a terminal, progress appears as plain lines, one every 10 seconds.

    Args:
        items: what the bar iterates over; None for a bar with manual updates.
        description: the work, in front of the bar.
        total: the number of items, with those done before; by default the length of `items`.
        initial: number of items that an earlier process has done.
        unit: what an item is.
        silent: show nothing.
    """
    # Only a terminal can draw a bar again in its place; in a file or a pipe that would be thousands of lines.
    is_drawn = sys.stderr.isatty()
    # Templates of tqdm, which fills in the fields; `left` is the time left, from `_Bar.format_dict`.
    count = "{n_fmt}/{total_fmt}"
    times = "[{elapsed}<{left}, {rate_fmt}{postfix}]"
    bar_format = f"{{l_bar}}{{bar}}| {count} {times}" if is_drawn else f"{{desc}}: {count} {{unit}} {times}"
    return _Bar(
        items,
        file=sys.stderr if is_drawn else _Lines(),
        desc=description,
        total=total,
        initial=initial,
        unit=unit,
        disable=silent,
        dynamic_ncols=is_drawn,
        mininterval=0.2 if is_drawn else SECONDS_BETWEEN_LINES,
        delay=0.0 if is_drawn else SECONDS_BETWEEN_LINES,
        bar_format=bar_format,
    )


def limit_time_left(bar: "tqdm[Any]", seconds: float) -> None:
    """Tell a `progress_bar` that its work ends in at most `seconds`, for the display of the time left."""
    assert isinstance(bar, _Bar)
    bar.end = time.monotonic() + seconds
