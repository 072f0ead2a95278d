"""Downloads of public corpora: fetched beside their place, checked, moved there, and unpacked if they are no texts."""

import os
import zipfile
from pathlib import Path
from typing import Final, NoReturn

from tqdm import tqdm

from translator import __version__
from translator.corpus.public_corpora import Dataset, RemoteFile, find_dataset
from translator.corpus.reading.packing import damaged_files
from translator.corpus.sources import corpora_among
from translator.errors import CorpusError
from translator.run.files import flush_file, sha256_of_file, storage_errors, work_folder, write_text
from translator.run.logging import LOGGER, progress_bar

RETRIES: Final = 3
TIMEOUT: Final = 30.0  # seconds of silence after which a connection counts as broken


def download_dataset(name: str, folder: Path) -> Path:
    """Download the corpus `name` into `folder`; return its zip, or the folder of its texts.

    An existing file is checked and stays unchanged.

    Args:
        name: one of the table, or `opus:NAME/VERSION`.
        folder: made if it is missing.

    Raises:
        InputError: the name is unknown.
        CorpusError: the download fails, a check fails, or another file is in its place.
    """
    # 1. Check or download each file.
    dataset = find_dataset(name)
    for file in dataset.files:
        path = folder / file.name
        if not os.path.lexists(path):  # a broken link stays, too
            _fetch(dataset, file, folder)
            continue
        try:
            _check(dataset, file, path)
        except CorpusError as error:
            raise CorpusError(
                f"{error}. The file is unchanged: move it away to download {dataset.name}, or, if it is your own "
                "corpus, use it in your recipe without a download"
            ) from error
        LOGGER.info(f"{path} exists and passes all checks; nothing to download")

    # 2. Unpack the texts that are not there yet. Two kinds of files have no `unpack`: a corpus, which is a zip that is
    # read in place, and files that are texts themselves. Only a corpus has no parts.
    place = folder / (dataset.name if dataset.parts else dataset.files[0].name)
    if dataset.unpack is not None:
        for text_name, text in dataset.unpack(folder / dataset.files[0].name).items():
            path = place / text_name
            if not os.path.lexists(path):
                write_text(path, text)
                LOGGER.info(f"unpacked {path}")
    return place


def _fetch(dataset: Dataset, file: RemoteFile, folder: Path) -> None:
    """Download a file to a work folder, check it, and move it into `folder`; raise CorpusError if it fails."""
    from requests import RequestException  # slow to import

    # 1. Download and check.
    path = folder / file.name
    LOGGER.info(f"{dataset.title}; licence: {dataset.licence}\ndownloading {file.address} to {path}")
    # The name may be DATASET/FILE. A failed download must not leave an empty folder DATASET, so the work folder is made
    # beside DATASET, not inside it.
    with storage_errors(path), work_folder(folder / Path(file.name).parts[0]) as work:
        partial = work / path.name
        try:
            _download(dataset, file, partial)
            _check(dataset, file, partial)
        except (RequestException, ValueError, CorpusError) as error:  # pooch raises ValueError for a wrong hash
            raise CorpusError(
                f"cannot download {file.address}: {str(error).replace(str(partial), 'the download')}. Check the "
                "network (https_proxy sets a proxy) and the name (capitals matter, and OPUS calls some pairs en-pes), "
                f"or get the file by other means (see {dataset.home}), put it at {path}, and run the same command again"
            ) from error

        # 2. Move the file to its place. pooch makes it private, so it gets the mode of the work folder, which obeys the
        # umask.
        partial.chmod(work.stat().st_mode & 0o666)
        flush_file(partial)
        path.parent.mkdir(exist_ok=True)
        partial.replace(path)
    LOGGER.info(f"{path} is downloaded and passes all checks")


def _download(dataset: Dataset, file: RemoteFile, path: Path) -> None:
    """Download a file of `dataset` to `path`, and try again if the connection fails or the hash is wrong.

    Raises:
        RequestException: the connection fails.
        ValueError: the hash is wrong.
    """
    import pooch  # imports requests, which is slow

    # 1. How to download, with a bar. Its total is the published size, or 1, because pooch takes no bar without a total.
    # Later pooch sets the total to the length that the server names.
    pooch.get_logger().setLevel("WARNING")
    bar: tqdm[NoReturn] = progress_bar(description=dataset.name, total=file.size or 1, unit="B")
    bar.unit_scale = True  # 1.2M in place of 1200000
    http_downloader = pooch.HTTPDownloader(
        progressbar=bar,
        timeout=TIMEOUT,
        chunk_size=1 << 16,
        headers={"User-Agent": f"translator/{__version__}"},
    )

    # 2. What to download. A hash of None is not compared.
    expected_hash = None if file.sha256 is None else f"sha256:{file.sha256}"
    fetcher = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: expected_hash},
        urls={path.name: file.address},
        retry_if_failed=RETRIES,
    )
    with bar:
        fetcher.fetch(path.name, downloader=http_downloader)


# --- checks ---


def _check(dataset: Dataset, file: RemoteFile, path: Path) -> None:
    """Raise CorpusError if the file at `path` has another size or hash, is damaged, or lacks texts."""
    # 1. Size and hash, where they are known.
    with storage_errors(path, "read"):
        size = path.stat().st_size
        digest = sha256_of_file(path)
    if file.size is not None and size != file.size:
        raise CorpusError(f"{path} has {size:,} bytes, but {file.size:,} are expected")
    if file.sha256 is not None and digest != file.sha256:
        raise CorpusError(f"{path} has the SHA-256 {digest}, but {file.sha256} is expected")

    # 2. What the file holds. A file that is a text itself has its hash alone.
    with damaged_files(path):
        if dataset.unpack is not None:
            dataset.unpack(path)  # raises where a text is missing or damaged
        elif not dataset.parts:  # a corpus
            with zipfile.ZipFile(path) as archive:
                corpora_among(archive.namelist(), str(path))  # raises if there is no corpus
