"""Pipes with given contents."""

import contextlib
import os
from collections.abc import Iterator


@contextlib.contextmanager
def pipe_with(content: bytes) -> Iterator[int]:
    """Yield the reading end of a pipe that holds `content` and ends after it."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    yield reading
    os.close(reading)
