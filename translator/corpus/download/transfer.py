"""Bringing a file here over connections that break: what has come is kept, and the next attempt goes on from there."""

import contextlib
import http.client
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from tqdm import tqdm

from translator.corpus.download.connection import (
    BrokenConnectionError,
    RangeRefusedError,
    RefusedError,
    open_address,
    range_size,
    read_chunks,
)
from translator.corpus.download.datasets import MAGIC, Dataset
from translator.corpus.download.foreign_text import printable
from translator.errors import CorpusError, Interrupted
from translator.lock import exclusive
from translator.log import LOGGER
from translator.progress import progress_bar
from translator.storage import storage_errors, write_json

WAITS: Final = (1.0, 4.0, 15.0)
"""Seconds before each further attempt; the count starts anew whenever an attempt got further than all before."""
TIMEOUT: Final = 30.0
"""Seconds of silence after which a connection counts as broken."""


class _Resume(NamedTuple):
    """What is here already, and how the server tells whether its file is still the same."""

    offset: int
    validator: str


def partial_path(path: Path) -> Path:
    """Return where the bytes of `path` are gathered until it is whole."""
    return path.with_name(f"{path.name}.partial")


def advice(dataset: Dataset, path: Path) -> str:
    """Return what a person can do who cannot download `dataset` to `path`."""
    return (
        f"Check the network (a proxy is set with https_proxy), or get {dataset.address} by other means (about it: "
        f"{dataset.home}), put it at {path}, and run the same command again"
    )


@contextlib.contextmanager
def transferred(
    dataset: Dataset, path: Path, *, waits: Sequence[float] = WAITS, timeout: float = TIMEOUT
) -> Iterator[Path]:
    """Fetch the file of `dataset` to a `.partial` file beside `path` and yield that, not yet checked, for this process
    alone.

    What an earlier call left there is gone on with, if the server still has the same file and can send parts of it.
    The block is to rename it or remove it.

    Raises:
        CorpusError: the file cannot be had, and why; or another process is fetching it.
        StorageError: it cannot be written.
    """
    partial = partial_path(path)
    with storage_errors(partial):
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
    with exclusive(partial) as free:
        if not free:
            raise CorpusError(f"{path} is being downloaded by another process; wait for it")
        try:
            _persist(dataset, path, partial, waits, timeout)
            yield partial
        except (Interrupted, KeyboardInterrupt):
            if partial.exists():
                LOGGER.info(f"stopped{_kept(partial, dataset.address)}; the same command goes on")
            raise
        finally:
            if not partial.exists() or not _size(partial):
                partial.unlink(missing_ok=True)
                state_path(partial).unlink(missing_ok=True)


def _persist(dataset: Dataset, path: Path, partial: Path, waits: Sequence[float], timeout: float) -> None:
    furthest, failures = _size(partial), 0
    while True:
        try:
            _attempt(dataset, partial, timeout)
            return
        except RefusedError as refused:
            raise CorpusError(f"cannot download {dataset.address}: {refused}. {advice(dataset, path)}") from refused
        except BrokenConnectionError as broken:
            here = _size(partial)
            if here > furthest:
                furthest, failures = here, 0
            if failures == len(waits):
                kept = _kept(partial, dataset.address)
                raise CorpusError(
                    f"cannot download {dataset.address}: {broken}{kept}. {advice(dataset, path)}"
                ) from broken
            LOGGER.info(f"{broken}; trying again in {waits[failures]:g} s")
            time.sleep(waits[failures])
            failures += 1


def _kept(partial: Path, address: str) -> str:
    """Return words about what the next call can go on with; none if it has to start over."""
    resume = _read_state(partial, address)
    return "" if resume is None else f" ({resume.offset:,} bytes are kept in {partial})"


def _attempt(dataset: Dataset, partial: Path, timeout: float) -> None:
    resume = _read_state(partial, dataset.address)
    headers = {} if resume is None else {"Range": f"bytes={resume.offset}-", "If-Range": resume.validator}
    try:
        response = open_address(dataset.address, headers, timeout)
    except RangeRefusedError as refused:
        if resume is not None and refused.size == resume.offset:
            return  # all of it is here: the process was stopped between the last byte and the checks
        _start_over(partial)
        raise BrokenConnectionError("the server has nothing after what is here: its file has changed") from refused
    with response:
        length = response.length  # now: it counts down while the body is read
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            if resume is None or not _continues(response, resume):
                _start_over(partial)
                raise BrokenConnectionError("the server sends another part than the one asked for, or of another file")
            offset, chunks = resume.offset, read_chunks(response)
        elif response.status == http.HTTPStatus.OK:
            offset, chunks = 0, _checked_start(dataset, read_chunks(response))
        else:
            raise RefusedError(f"the server answers {response.status}, and no file")
        total = None if length is None else offset + length
        _check_total(dataset, total)
        if offset == 0:
            _start_over(partial)
            _write_state(partial, dataset.address, response)
        _append(dataset, partial, chunks, offset, total or dataset.size)


def _append(dataset: Dataset, partial: Path, chunks: Iterator[bytes], offset: int, total: int | None) -> None:
    here = offset
    bar: tqdm[NoReturn] = progress_bar(description=dataset.name, total=total, initial=offset, unit="B")
    bar.unit_scale, bar.unit_divisor = True, 1024
    with bar, storage_errors(partial), partial.open("ab") as file:
        for chunk in chunks:
            here += len(chunk)
            if here > dataset.limit:
                file.truncate(0)
                raise RefusedError(f"the server sends more than the {dataset.limit:,} bytes that are accepted")
            file.write(chunk)
            bar.update(len(chunk))
    if total is not None and here < total:
        raise BrokenConnectionError(f"the connection ended after {here:,} of {total:,} bytes")


def _checked_start(dataset: Dataset, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Return `chunks` whole, their start looked at, so that no web page replaces what an earlier attempt brought.

    Raises:
        RefusedError: they are no archive of the right format.
    """
    start = next(chunks, b"")
    if not MAGIC[dataset.format].startswith(start[: len(MAGIC[dataset.format])]):
        shown = printable(start[:40].decode("utf-8", "replace"))
        page = start.lstrip()[:1] == b"<"
        what = "a web page, as a login page or a filter sends it" if page else f"not a {dataset.format} archive"
        raise RefusedError(f"what the server sends is {what} (it begins with {shown!r})")
    return itertools.chain([start], chunks)


def _check_total(dataset: Dataset, total: int | None) -> None:
    if total is None:
        return
    if dataset.size is not None and total != dataset.size:
        raise RefusedError(f"the file of the server has {total:,} bytes, where {dataset.size:,} are expected")
    if total > dataset.limit:
        raise RefusedError(f"the file of the server has {total:,} bytes; at most {dataset.limit:,} are accepted")


def _continues(response: http.client.HTTPResponse, resume: _Resume) -> bool:
    """Say whether a part is the rest of the same file; some servers do not look at If-Range."""
    place = response.headers.get("Content-Range", "")
    first = place.removeprefix("bytes ").partition("-")[0].strip()
    validators = (response.headers.get("ETag"), response.headers.get("Last-Modified"))
    whole = range_size(place)
    return (
        first == str(resume.offset)
        and (not any(validators) or resume.validator in validators)
        and (whole is None or response.length is None or whole == resume.offset + response.length)
    )


def _size(file: Path) -> int:
    with storage_errors(file, "read"):
        return file.stat().st_size


def state_path(partial: Path) -> Path:
    """Return where it is kept what file of the server the bytes of `partial` are from."""
    return partial.with_name(f"{partial.name}.json")


def _start_over(partial: Path) -> None:
    with storage_errors(partial):
        partial.write_bytes(b"")
        state_path(partial).unlink(missing_ok=True)


def _write_state(partial: Path, address: str, response: http.client.HTTPResponse) -> None:
    tag, date = response.headers.get("ETag"), response.headers.get("Last-Modified")
    validator = tag if tag and not tag.startswith("W/") else date  # only a strong tag promises the same bytes
    if validator:
        write_json(state_path(partial), {"address": address, "validator": validator})


def _read_state(partial: Path, address: str) -> _Resume | None:
    """Return what to go on with; None if nothing is here, or if it is not known what file it is a part of."""
    offset = _size(partial)
    with storage_errors(state_path(partial), "read"):
        try:
            state = json.loads(state_path(partial).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
    if not offset or not isinstance(state, dict) or state.get("address") != address:
        return None
    validator = state.get("validator")
    if not isinstance(validator, str) or not validator.isprintable() or not validator.isascii():
        return None
    return _Resume(offset, validator)
