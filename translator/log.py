"""What the product says while it works: to standard error for the person, to log.txt for the record."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from translator.storage import storage_errors

LOGGER = logging.getLogger("translator")


class _ConsoleHandler(logging.Handler):
    """Writes through tqdm, so that a line never cuts a progress bar in two."""

    def emit(self, record: logging.LogRecord) -> None:
        import sys

        prefix = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        tqdm.write(prefix + self.format(record), file=sys.stderr)


def log_to_console() -> None:
    """Show messages of level INFO and above on standard error; calling it again changes nothing."""
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    if not any(isinstance(handler, _ConsoleHandler) for handler in LOGGER.handlers):
        LOGGER.addHandler(_ConsoleHandler())


@contextlib.contextmanager
def log_to_file(path: Path) -> Iterator[None]:
    """Append messages with their time to `path` while the block runs."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
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
