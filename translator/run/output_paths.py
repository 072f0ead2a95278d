"""Output paths that the user names: files, links and open descriptors; what may not be an output."""

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
from translator.run.files import replacing, storage_errors, system_error
from translator.run.folder import run_that_wrote

_LONGEST_CHAIN: Final = 40  # links that lead to one another, as in the Linux kernel


def resolve_output(path: Path | str) -> Path | int:
    """Return the target of output to `path`: a file, with links resolved, or the number of an open descriptor.

    `/dev/stdout`, `/dev/fd/N`, `/proc/self/fd/N` and links to them are descriptors of this process. Call this before
    the work.

    Raises StorageError: `path` is a folder, a pipe or a device, or it cannot be written.
    """
    with storage_errors(path):
        place = _follow_links(Path(path))
        if isinstance(place, Path):
            _check_writable(place, path)
    return place


def _follow_links(place: Path) -> Path | int:
    """Return the file at the end of a chain of links, or the number of the descriptor that the chain leads to."""
    descriptor = re.compile(rf"(?:/dev|/proc/{os.getpid()}(?:/task/\d+)?)/fd/(\d+)")
    # Each link is followed by hand, because a descriptor in the middle of the chain ends it.
    for _ in range(_LONGEST_CHAIN):
        place = place.parent.resolve() / place.name
        if match := descriptor.fullmatch(str(place)):
            number = int(match[1])
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise system_error(errno.EBADF)
            return number
        if not place.is_symlink():
            return place
        place = place.parent / place.readlink()
    raise system_error(errno.ELOOP)


def _check_writable(place: Path, path: Path | str) -> None:
    """Raise OSError or StorageError if the file `place`, which the user calls `path`, cannot be written."""
    if place.is_dir():
        raise system_error(errno.EISDIR)
    if not place.parent.is_dir():
        raise StorageError(f"the folder of the output {path} does not exist; first run: mkdir -p {place.parent}")
    # A pipe or a device cannot be replaced atomically.
    if place.exists() and not place.is_file():
        kind = "a named pipe" if place.is_fifo() else "a device"
        advice = "choose another path, or write to /dev/stdout and redirect standard output there"
        raise StorageError(f"cannot write {path}: it is {kind}, not a file; {advice}")
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
    for path in map(Path, inputs):
        is_input = _is_descriptor_of(place, path) if isinstance(place, int) else _is_same_file(place, path)
        if is_input:
            raise InputError(f"the output {output} is the input itself; give another output")
    if isinstance(place, Path) and (run := run_that_wrote(place)):
        raise InputError(f"the output {output} is a file of the run {run.path}; give another output")


def _is_descriptor_of(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def _is_same_file(place: Path, path: Path) -> bool:
    return path.resolve() == place or (path.exists() and place.exists() and path.samefile(place))


@contextlib.contextmanager
def output_stream(path: Path | str) -> Iterator[TextIO]:
    """Yield a UTF-8 stream to `path`: a file is replaced if the block succeeds, a descriptor is appended to."""
    place = resolve_output(path)
    with storage_errors(path), contextlib.ExitStack() as stack:
        if isinstance(place, Path):
            binary = stack.enter_context(replacing(place))
        else:
            for printed in (sys.stdout, sys.stderr):
                printed.flush()
            # A duplicate shares the file position and does not truncate.
            binary = stack.enter_context(os.fdopen(os.dup(place), "wb"))
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        yield stream
        stream.detach()  # flushes


def write_output(path: Path | str, data: str | bytes) -> None:
    """Write `data` to `path`, as `output_stream` does."""
    with output_stream(path) as stream:
        stream.buffer.write(data.encode("utf-8") if isinstance(data, str) else data)
