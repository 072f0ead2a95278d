"""What the product says while it works: to standard error for the person, to log.txt for the record."""

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from translator.storage import storage_errors

LOGGER = logging.getLogger("translator")
RECORD = logging.getLogger("translator.record")
"""For what belongs into log.txt and would flood the console."""


def _tell(message: str) -> None:
    """Write to standard error, through tqdm, so that a line never cuts a progress bar in two."""
    with contextlib.suppress(OSError):  # whoever is not there to be told must not stop the work
        tqdm.write(message, file=sys.stderr)


class _ConsoleHandler(logging.Handler):
    """Tells the person at the keyboard."""

    def emit(self, record: logging.LogRecord) -> None:
        prefix = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        _tell(prefix + self.format(record))


class _LogFileHandler(logging.FileHandler):
    """Appends to a file; a disk that is full is complained of once, and stops nobody's work."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self._complained = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)  # a bug of the caller keeps its traceback
        elif not self._complained:
            self._complained = True
            _tell(f"warning: cannot write {self.baseFilename}: {error.strerror}; the work goes on without this log")

    def close(self) -> None:
        with contextlib.suppress(OSError):  # only what could not be written before fails here again
            super().close()


def log_to_console() -> None:
    """Show messages of level INFO and above on standard error; calling it again changes nothing."""
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    if not any(isinstance(handler, _ConsoleHandler) for handler in LOGGER.handlers):
        console = _ConsoleHandler()
        console.addFilter(lambda record: record.name != RECORD.name)
        LOGGER.addHandler(console)


@contextlib.contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Append messages with their time to `path` while the block runs, those of `RECORD` too.

    Raises:
        StorageError: the file cannot be opened. One that cannot be written later gets one warning on standard error.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _LogFileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    level = LOGGER.level
    LOGGER.setLevel(logging.INFO)
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        handler.close()
