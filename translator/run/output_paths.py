"""Output paths that the user names: files and open descriptors; what may not be an output."""

import contextlib
import errno
import fcntl
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from translator.errors import InputError, StorageError
from translator.run.files import path_errors, replacing, storage_errors, system_error
from translator.run.folder import run_that_wrote

_STREAMS: Final = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}
_DESCRIPTOR: Final = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


def resolve_output(path: Path | str) -> Path | int:
    """Return the target of output to `path`: a file, with links resolved, or the number of an open descriptor.

    `/dev/stdout`, `/dev/stderr`, `/dev/fd/N` and `/proc/self/fd/N` are descriptors of this process. Call this before
    the work.

    Raises StorageError: `path` is a folder, a pipe or a device, or it cannot be written.
    """
    # `path_errors`: for a circle of links, older Pythons raise RuntimeError and not OSError.
    with path_errors(), storage_errors(path):
        name = _STREAMS.get(str(path), str(path))
        descriptor = _DESCRIPTOR.fullmatch(name)
        # 1. A file.
        if descriptor is None:
            place = Path(path).resolve()
            _check_writable(place, path)
            return place

        # 2. An open descriptor.
        number = int(descriptor[1])
        mode = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE
        if mode == os.O_RDONLY:
            raise system_error(errno.EBADF)
        return number


def _check_writable(place: Path, path: Path | str) -> None:
    """Raise OSError or StorageError if the file `place`, which the user calls `path`, cannot be written."""
    if place.is_dir():
        raise system_error(errno.EISDIR)
    if not place.parent.is_dir():
        raise StorageError(f"the folder of the output {path} does not exist; first run: mkdir -p {place.parent}")
    # A pipe or a device cannot be replaced atomically.
    if place.exists() and not place.is_file():
        advice = "choose another path, or write to /dev/stdout and redirect standard output there"
        raise StorageError(f"cannot write {path}: it is a pipe or a device, not a file; {advice}")
    if place.exists() and not os.access(place, os.W_OK):
        raise system_error(errno.EACCES)
    # Permissions and quotas are best asked of the system, by a file that disappears again.
    tempfile.TemporaryFile(dir=place.parent).close()


def refuse_input_as_output(inputs: Iterable[Path | str], output: Path | str) -> None:
    """Refuse an output that would destroy what the command reads, or a run.

    Args:
        inputs: the files that the command reads; they need not exist.
        output: a file or an open descriptor.

    Raises InputError: `output` is one of `inputs`, also through links, or a file that this program wrote for a run.
    """
    place = resolve_output(output)
    if isinstance(place, int):
        return
    for path in map(Path, inputs):
        if place.exists() and path.exists() and place.samefile(path):
            raise InputError(f"the output {output} is the input itself; give another output")
    if run := run_that_wrote(place):
        raise InputError(f"the output {output} is a file of the run {run.path}; give another output")


@contextlib.contextmanager
def output_stream(path: Path | str) -> Iterator[TextIO]:
    """Yield a UTF-8 stream to `path`: a file is replaced if the block succeeds, a descriptor is appended to."""
    place = resolve_output(path)
    with storage_errors(path), contextlib.ExitStack() as stack:
        if isinstance(place, Path):
            binary = stack.enter_context(replacing(place))
        else:
            # What was printed before must come first.
            for standard_stream in (sys.stdout, sys.stderr):
                standard_stream.flush()
            # A duplicate shares the file position and does not truncate.
            binary = stack.enter_context(os.fdopen(os.dup(place), "wb"))
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        yield stream
        stream.detach()  # flushes, and leaves `binary` open for `replacing`


def write_output(path: Path | str, data: str | bytes) -> None:
    """Write `data` to `path`, as `output_stream` does."""
    with output_stream(path) as stream:
        stream.buffer.write(data.encode("utf-8") if isinstance(data, str) else data)
