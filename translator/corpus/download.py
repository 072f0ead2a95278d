"""Downloads of public corpora: fetched beside their place, checked, moved there, and unpacked if they are no texts."""

import gzip
import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NoReturn

from pydantic_core import from_json
from tqdm import tqdm

from translator import __version__
from translator.corpus.compression import damaged_files
from translator.corpus.public_corpora import Dataset, RemoteFile, find_dataset
from translator.corpus.sources import choose_members, listing
from translator.errors import CorpusError
from translator.run.logging import LOGGER, progress_bar
from translator.run.storage import flush_file, sha256_of_file, storage_errors, write_bytes
from translator.run.work_folders import new_folder, work_folder

RETRIES: Final = 3
TIMEOUT: Final = 30.0  # seconds of silence after which a connection counts as broken
_LINE_BREAKS: Final = re.compile(r"[ \t]*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")

Texts = dict[str, bytes]
"""The texts of an archive by the names of their unpacked files."""


def download_dataset(name: str, folder: Path) -> Path:
    """Download the corpus `name` into `folder`; return its zip, or the folder of its texts.

    An existing file is checked and stays unchanged.

    Args:
        name: one of the table, or `opus:NAME/VERSION`.
        folder: for the files; it is made if it is missing.

    Raises:
        InputError: the name is unknown.
        CorpusError: the download fails, a check fails, or another file is in its place.
        RunError: another process is downloading the same corpus into `folder`.
    """
    dataset = find_dataset(name)
    texts: Texts = {}
    for file in dataset.files:
        texts |= _obtain(dataset, file, folder / file.name)
    if not dataset.parts:
        return folder / dataset.files[0].name
    unpacked = folder / dataset.name
    if texts and not unpacked.exists():
        with new_folder(unpacked, replace=False) as beside:
            for text_name, text in texts.items():
                write_bytes(beside / text_name, text)
        LOGGER.info(f"unpacked its texts to {unpacked}")
    return unpacked


def _obtain(dataset: Dataset, file: RemoteFile, path: Path) -> Texts:
    """Check the file at `path`, or download it; return the texts to unpack."""
    if not os.path.lexists(path):
        return _fetch(dataset, file, path)
    try:
        texts = _checked_texts(dataset, file, path)
    except CorpusError as error:
        raise CorpusError(
            f"{error}. The file is unchanged: move it away to download {dataset.name}, or, if it is your own "
            "corpus, use it in your recipe without a download"
        ) from error
    LOGGER.info(f"{path} exists and passes all checks; nothing to download")
    return texts


def _fetch(dataset: Dataset, file: RemoteFile, path: Path) -> Texts:
    """Download to a work folder, check the file and move it to `path`; return the texts to unpack."""
    import pooch  # with requests, which is slow to import
    from requests import RequestException

    LOGGER.info(f"{dataset.title}; licence: {dataset.licence}\ndownloading {file.address} to {path}")
    pooch.get_logger().setLevel("WARNING")
    with storage_errors(path), work_folder(path, alone=True) as beside:
        bar: tqdm[NoReturn] = progress_bar(description=dataset.name, total=file.size or 1, unit="B")
        bar.unit_scale = True
        downloader = pooch.HTTPDownloader(
            progressbar=bar,
            timeout=TIMEOUT,
            chunk_size=1 << 16,
            headers={"User-Agent": f"translator/{__version__}"},
        )
        fetcher = pooch.create(
            path=beside,
            base_url="",
            registry={path.name: file.sha256 and f"sha256:{file.sha256}"},
            urls={path.name: file.address},
            retry_if_failed=RETRIES,
        )
        partial = beside / path.name
        try:
            fetcher.fetch(path.name, downloader=downloader)
            texts = _checked_texts(dataset, file, partial)
        except (RequestException, ValueError, CorpusError) as error:  # pooch raises ValueError for a wrong hash
            raise CorpusError(
                f"cannot download {file.address}: {str(error).replace(str(partial), 'the download')}. Check the "
                f"network (https_proxy sets a proxy), or get the file by other means (see "
                f"{dataset.home}), put it at {path}, and run the same command again"
            ) from error
        finally:
            bar.close()
        partial.chmod(beside.stat().st_mode & 0o666)  # the library makes it private; a new folder obeys the umask
        flush_file(partial)
        if os.path.lexists(path):
            raise CorpusError(f"another program has made {path} meanwhile; run the same command again to check it")
        partial.replace(path)
    LOGGER.info(f"{path} is downloaded and passes all checks")
    return texts


# --- checks ---


def _checked_texts(dataset: Dataset, file: RemoteFile, path: Path) -> Texts:
    """Check the file at `path`; return the texts to unpack, none from a file that is read in place.

    Raises CorpusError: size or hash are wrong, the file is damaged, or texts are missing.
    """
    # 1. Size and hash, where they are known.
    with storage_errors(path, "read"):
        size = path.stat().st_size
        digest = sha256_of_file(path)
    if file.size is not None and size != file.size:
        raise CorpusError(f"{path} has {size:,} bytes, but {file.size:,} are expected")
    if file.sha256 is not None and digest != file.sha256:
        raise CorpusError(f"{path} has the SHA-256 {digest}, but {file.sha256} is expected")
    # 2. What it holds. Reading a text to its end checks it.
    with damaged_files(path):
        for suffix, read in _READERS.items():
            if path.name.endswith(suffix):
                return read(path, dataset.members)
    return {}


def _check_zip(path: Path, members: Mapping[str, str]) -> Texts:
    """Check that the reader of corpora finds the two sides in the zip."""
    with zipfile.ZipFile(path) as archive:
        choose_members(path, archive.namelist(), None, None)
    return {}


def _tar_texts(path: Path, members: Mapping[str, str]) -> Texts:
    """Return the texts of a tar.gz that `members` names."""
    texts: Texts = {}
    names: list[str] = []
    with gzip.open(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                continue
            name = "/".join(member.name.split("/")[-2:])
            names.append(name)
            if name in members:
                texts[members[name]] = content.read()
        while unpacked.read(1 << 20):  # to the checksum of gzip, which comes after the tar
            pass
    missing_members = [member for member in members if member not in names]
    if missing_members:
        raise CorpusError(f"{path} has no member {' or '.join(missing_members)}. Members: {listing(names)}")
    return texts


def _json_lines_texts(path: Path, members: Mapping[str, str]) -> Texts:
    """Return `test.en` and `test.fa` from JSON lines with `source` and `target`, as those of WMT24++.

    Segments marked as `is_bad_source` are left out, as the publishers advise (Deutsch et al. 2025). A segment becomes
    one line.
    """
    texts = {"test.en": b"", "test.fa": b""}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = from_json(line)
            is_bad = bool(row.get("is_bad_source", False))
            sides = (_LINE_BREAKS.sub(" ", row["source"]), _LINE_BREAKS.sub(" ", row["target"]))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            problem = "is not JSON with the texts `source` and `target`"
            raise CorpusError(f"{path}, line {number} {problem}") from error
        if not is_bad:
            for name, text in zip(texts, sides, strict=True):
                texts[name] += text.encode() + b"\n"
    if not texts["test.en"]:
        raise CorpusError(f"{path} has no segment")
    return texts


_READERS: Final[Mapping[str, Callable[[Path, Mapping[str, str]], Texts]]] = {
    ".zip": _check_zip,
    ".tar.gz": _tar_texts,
    ".jsonl": _json_lines_texts,
}
"""By the suffix of the file; any other file is a text."""
