"""Public corpora that can be downloaded by name: their addresses, recipe entries, download and checks."""

import gzip
import os
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import yaml
from tqdm import tqdm

from translator import __version__
from translator.corpus.compression import damaged_files
from translator.corpus.sources import listing
from translator.errors import CorpusError, InputError
from translator.run.logging import LOGGER, progress_bar
from translator.run.storage import flush_file, sha256_of_file, storage_errors, write_bytes
from translator.run.text import text_table
from translator.run.work_folders import new_folder, work_folder

RETRIES: Final = 3
TIMEOUT: Final = 30.0  # seconds of silence after which a connection counts as broken


@dataclass(frozen=True)
class Dataset:
    """One public corpus."""

    name: str
    title: str
    licence: str
    home: str  # its web page, in case the address no longer works
    address: str
    file_name: str  # a zip, read in place, or a tar.gz, whose `members` are unpacked
    members: Mapping[str, str]
    """Members that the archive must contain. Zip: English and Persian; tar: the last two parts of their paths.

    The value is the file that a member of a tar is unpacked to, like `dev.en`.
    """
    size: int | None = None  # bytes, if published or confirmed by several projects
    sha256: str | None = None  # if published or confirmed by several projects

    def recipe(self, folder: Path) -> dict[str, dict[str, list[dict[str, str]]]]:
        """Return the recipe entries for the corpus in `folder`: a source for a zip, test sets for a tar."""
        if self.file_name.endswith(".zip"):
            english, persian = self.members
            source = {
                "name": self.name,
                "path": str(folder / self.file_name),
                "source_member": english,
                "target_member": persian,
            }
            return {"corpus": {"sources": [source]}}
        test_sets = []
        for english_file in self.members.values():
            part, _, side = english_file.partition(".")  # like `dev` and `en`
            if side == "en":
                path = folder / self.name / part
                test_set = {"name": f"{self.name}_{part}", "source_path": f"{path}.en", "target_path": f"{path}.fa"}
                test_sets.append(test_set)
        return {"evaluation": {"test_sets": test_sets}}


_TABLE: Final = (
    Dataset(
        name="mizan",
        title="Mizan: about 1,020,000 pairs of literature, as OPUS packs it",
        licence="CC BY 4.0",
        home="https://github.com/omidkashefi/Mizan",
        address="https://object.pouta.csc.fi/OPUS-MIZAN/v1/moses/en-fa.txt.zip",
        file_name="mizan.zip",
        members={"MIZAN.en-fa.en": "", "MIZAN.en-fa.fa": ""},
        size=59_234_779,  # from the OPUS file list of this release
    ),
    Dataset(
        name="tatoeba",
        title="Tatoeba: short everyday sentences, release of 2023-04-12, as OPUS packs it",
        licence="CC BY 2.0 FR",
        home="https://opus.nlpl.eu/Tatoeba-v2023-04-12.php",
        # This release calls the language pes (Iranian Persian); it has no pair en-fa.
        address="https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/en-pes.txt.zip",
        file_name="tatoeba.zip",
        members={"Tatoeba.en-pes.en": "", "Tatoeba.en-pes.pes": ""},
    ),
    Dataset(
        name="flores200",
        title="FLORES-200: 997 + 1,012 sentences of Wikimedia projects, for evaluation only",
        licence="CC BY-SA 4.0",
        home="https://github.com/facebookresearch/flores/blob/main/flores200/README.md",
        address="https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz",
        file_name="flores200_dataset.tar.gz",
        members={
            f"{part}/{language}.{part}": f"{part}.{side}"
            for part in ("dev", "devtest")
            for language, side in (("eng_Latn", "en"), ("pes_Arab", "fa"))
        },
        size=25_585_843,  # size and hash: as published by many projects that use the archive
        sha256="b8b0b76783024b85797e5cc75064eb83fc5288b41e9654dabc7be6ae944011f6",
    ),
)
DATASETS: Final = {dataset.name: dataset for dataset in _TABLE}


def dataset_table() -> str:
    """Return a table of all corpora with name, size, licence and description."""
    rows = []
    for dataset in DATASETS.values():
        size = "unknown" if dataset.size is None else f"{dataset.size / 1e6:.0f} MB"
        rows.append((dataset.name, size, dataset.licence, dataset.title))
    return text_table(("name", "size", "licence", "description"), rows, text_columns=4)


def recipe_snippet(name: str, folder: Path) -> str:
    """Return the lines of YAML that add the corpus `name` in `folder` to a recipe."""
    dataset = DATASETS[name]
    text = yaml.safe_dump(dataset.recipe(folder), sort_keys=False, allow_unicode=True, width=1000)
    return f"# {dataset.title}; licence: {dataset.licence}\n{text}"


def download_dataset(name: str, folder: Path) -> Path:
    """Download the corpus `name` into `folder`; return its zip, or the folder of its texts.

    An existing file is checked and stays unchanged.

    Raises:
        InputError: the name is unknown.
        CorpusError: the download fails, a check fails, or another file is in its place.
        RunError: another process is downloading the same corpus into `folder`.
    """
    if name not in DATASETS:
        raise InputError(f"unknown corpus `{name}`; corpora to download: {', '.join(DATASETS)}")
    dataset = DATASETS[name]
    path = folder / dataset.file_name
    if os.path.lexists(path):
        try:
            texts = _checked_texts(dataset, path)
        except CorpusError as error:
            raise CorpusError(
                f"{error}. The file is unchanged: move it away to download {dataset.name}, or, if it is your own "
                "corpus, use it in your recipe without a download"
            ) from error
        LOGGER.info(f"{path} exists and passes all checks; nothing to download")
    else:
        texts = _fetch(dataset, path)
    if not texts:
        return path
    unpacked = folder / dataset.name
    if not unpacked.exists():
        with new_folder(unpacked, replace=False) as beside:
            for file, text in texts.items():
                write_bytes(beside / file, text)
        LOGGER.info(f"unpacked its texts to {unpacked}")
    return unpacked


def _fetch(dataset: Dataset, path: Path) -> dict[str, bytes]:
    """Download to a work folder, check the file and move it to `path`; return the texts of a tar."""
    import pooch  # with requests, which is slow to import
    from requests import RequestException

    LOGGER.info(f"{dataset.title}; licence: {dataset.licence}\ndownloading {dataset.address} to {path}")
    pooch.get_logger().setLevel("WARNING")
    with work_folder(path, alone=True) as beside:
        bar: tqdm[NoReturn] = progress_bar(description=dataset.name, total=dataset.size or 1, unit="B")
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
            registry={path.name: dataset.sha256 and f"sha256:{dataset.sha256}"},
            urls={path.name: dataset.address},
            retry_if_failed=RETRIES,
        )
        partial = beside / path.name
        try:
            fetcher.fetch(path.name, downloader=downloader)
            texts = _checked_texts(dataset, partial)
        except (RequestException, ValueError, CorpusError) as error:  # pooch raises ValueError for a wrong hash
            raise CorpusError(
                f"cannot download {dataset.address}: {str(error).replace(str(partial), 'the download')}. Check the "
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


def _checked_texts(dataset: Dataset, file: Path) -> dict[str, bytes]:
    """Check `file`; return the texts of a tar.gz by the names of their unpacked files, or nothing for a zip."""
    # 1. Size and hash, where they are known.
    with storage_errors(file, "read"):
        size = file.stat().st_size
        digest = sha256_of_file(file)
    if dataset.size is not None and size != dataset.size:
        raise CorpusError(f"{file} has {size:,} bytes, but {dataset.size:,} are expected")
    if dataset.sha256 is not None and digest != dataset.sha256:
        raise CorpusError(f"{file} has the SHA-256 {digest}, but {dataset.sha256} is expected")
    # 2. The members. Reading a text to its end checks it.
    texts: dict[str, bytes] = {}
    names: list[str] = []
    with damaged_files(file):
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                names = archive.namelist()
        else:
            with gzip.open(file) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
                for member in tar:
                    content = tar.extractfile(member) if member.isreg() else None
                    if content is None:
                        continue
                    name = "/".join(member.name.split("/")[-2:])
                    names.append(name)
                    if name in dataset.members:
                        texts[dataset.members[name]] = content.read()
                while unpacked.read(1 << 20):  # to the checksum of gzip, which comes after the tar
                    pass
    missing_members = [member for member in dataset.members if member not in names]
    if missing_members:
        raise CorpusError(f"{file} has no member {' or '.join(missing_members)}. Members: {listing(names)}")
    return texts
