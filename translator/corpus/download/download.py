"""Fetching a corpus that a person has asked for by name, checking it, and putting it in its place in one step."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from translator.corpus.download.datasets import Dataset, dataset_named
from translator.corpus.download.transfer import TIMEOUT, WAITS, state_path, transferred
from translator.corpus.download.unpack import check_zip, read_texts
from translator.errors import CorpusError
from translator.log import LOGGER
from translator.storage import flush_file, new_folder, storage_errors, write_bytes, write_json

_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def download_dataset(name: str, folder: Path) -> Path:
    """Fetch the corpus `name` into `folder` and return its zip, or the folder of its texts; one that is there and right
    is left as it is.

    Raises:
        InputError: there is no such corpus.
        CorpusError: it cannot be had, it is not what it should be, or another file is in its place.
        StorageError: it cannot be written.
    """
    return obtain(dataset_named(name), folder)


def obtain(dataset: Dataset, folder: Path, *, waits: Sequence[float] = WAITS, timeout: float = TIMEOUT) -> Path:
    """Do what `download_dataset` does for a corpus of any table; `waits` and `timeout` are as `transferred` has them.

    Raises:
        CorpusError: as `download_dataset`.
        StorageError: as `download_dataset`.
    """
    path = folder / dataset.file_name
    there = path.exists() or path.is_symlink()
    texts = _accept(dataset, path) if there else _fetch(dataset, path, waits, timeout)
    return _place_texts(texts, path, folder / dataset.name) if texts else path


def record_path(path: Path) -> Path:
    """Return where it is kept what was downloaded to `path`, and its checksum."""
    return path.with_name(f"{path.name}.download.json")


def _accept(dataset: Dataset, path: Path) -> Mapping[str, bytes]:
    """Return the texts of a file that is there already, downloaded before or put there by hand."""
    try:
        digest, texts = _check(dataset, path, path)
    except CorpusError as error:
        raise CorpusError(
            f"{error}. It was left as it is: move it away to download {dataset.name}, or, if it is a corpus of yours, "
            "name it in your recipe and download nothing"
        ) from error
    LOGGER.info(f"{path} is there already and right; nothing to download")
    _keep(dataset, path, digest)
    return texts


def _fetch(dataset: Dataset, path: Path, waits: Sequence[float], timeout: float) -> Mapping[str, bytes]:
    LOGGER.info(f"{dataset.title}; licence: {dataset.licence}\ndownloading {dataset.address} to {path}")
    with transferred(dataset, path, waits=waits, timeout=timeout) as partial:
        try:
            digest, texts = _check(dataset, partial, path)
        except CorpusError as error:
            refused = path.with_name(f"{path.name}.refused")
            with storage_errors(refused):
                partial.replace(refused)
            raise CorpusError(
                f"what came from {dataset.address} is not right: {error}. It was moved to {refused}; the same command "
                f"fetches it anew (about the corpus: {dataset.home})"
            ) from error
        with storage_errors(path):
            flush_file(partial)
            partial.replace(path)
            state_path(partial).unlink(missing_ok=True)
    LOGGER.info(f"{path} is here and right")
    _keep(dataset, path, digest)
    return texts


def _check(dataset: Dataset, file: Path, path: Path) -> tuple[str, Mapping[str, bytes]]:
    """Return the SHA-256 of `file`, and its texts by the names they are unpacked to.

    Raises:
        CorpusError: it is not what is to be at `path`.
    """
    with storage_errors(file, "read"), file.open("rb") as stream:
        size = file.stat().st_size
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if dataset.size is not None and size != dataset.size:
        raise CorpusError(f"{file} has {size:,} bytes, where {dataset.size:,} are expected")
    if dataset.sha256 is not None and digest != dataset.sha256:
        raise CorpusError(f"{file} has the SHA-256 {digest}, where {dataset.sha256} is expected")
    before = _kept_digest(path) if dataset.sha256 is None else None
    if before is not None and digest != before:
        raise CorpusError(
            f"{file} has the SHA-256 {digest}, and what was downloaded before had {before}, as {record_path(path)} "
            "says; remove that record if you trust the new file"
        )
    if dataset.format == "zip":
        check_zip(file, dataset.members)
        return digest, {}
    texts = read_texts(file, dataset.members)
    return digest, {place: texts[member] for member, place in dataset.members.items()}


def _keep(dataset: Dataset, path: Path, digest: str) -> None:
    """Record the checksum of `path`; where none is published it is the measure of later downloads, and is told."""
    if _kept_digest(path) == digest:
        return
    record = {"address": dataset.address, "licence": dataset.licence, "size": path.stat().st_size, "sha256": digest}
    write_json(record_path(path), record)
    if dataset.sha256 is None:
        LOGGER.info(
            f"its SHA-256 is {digest}; none is published, so this one is kept in {record_path(path)} and later "
            "downloads are compared with it"
        )


def _kept_digest(path: Path) -> str | None:
    record = record_path(path)
    with storage_errors(record, "read"):
        try:
            kept = json.loads(record.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            kept = None
    digest = kept.get("sha256") if isinstance(kept, dict) else None
    if not isinstance(digest, str) or len(digest) != 64 or not _HEXADECIMAL.issuperset(digest):
        raise CorpusError(f"{record} is damaged: it should hold the checksum of {path}; remove it")
    return digest


def _place_texts(texts: Mapping[str, bytes], archive: Path, folder: Path) -> Path:
    """Write `texts` into the new `folder`, or see that they are there already; return it."""
    if folder.exists():
        for name, text in texts.items():
            with storage_errors(folder / name, "read"), contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if (folder / name).read_bytes() == text:
                    continue
            raise CorpusError(
                f"{folder / name} is not as {archive} has it; it was left as it is: move {folder} "
                "away and run the same command again"
            )
        return folder
    with new_folder(folder) as beside:
        for name, text in texts.items():
            write_bytes(beside / name, text)
    LOGGER.info(f"its texts are unpacked to {folder}; the archive stays, to check them against")
    return folder
