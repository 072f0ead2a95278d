"""Public corpora that can be named: where their files are, under which licence, and how their texts are unpacked."""

import json
import re
import shlex
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.errors import InputError
from translator.run.text import wrapped

_OPUS_PATTERN: Final = re.compile(
    r"opus:(?P<corpus>[a-z0-9][\w.-]*)/(?P<version>[a-z0-9][\w.-]*)", re.IGNORECASE | re.ASCII
)
_OPUS_PERSIAN: Final = {"Tatoeba": "pes", "bible-uedin": "pes"}
"""Corpora of OPUS that have another code for Persian than `fa`, by the indexes of opustools 1.9.0 and mtdata 0.5.1."""
_NTREX: Final = "https://raw.githubusercontent.com/MicrosoftTranslator/NTREX/8561f6a622db9edad1217683e5c83daefd8bb2bf"

Texts = dict[str, str]
"""Texts by the names of their files, such as `devtest.en`."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on a public server."""

    address: str
    name: str  # in the folder of downloads
    size: int | None = None  # bytes, if published or confirmed by several projects
    sha256: str | None = None  # if published or confirmed by several projects


@dataclass(frozen=True)
class Dataset:
    """One public corpus, or one public text for evaluation only.

    A corpus is a zip that is read in place. Text for evaluation has parts such as `devtest`; part and side are the name
    of a file in the dataset's own folder: `devtest.en` and `devtest.fa`.
    """

    name: str
    title: str
    licence: str
    home: str  # its web page, in case the address no longer works
    files: tuple[RemoteFile, ...]
    parts: tuple[str, ...] = ()  # of a text for evaluation; a corpus has none
    unpack: Callable[[Path], Texts] | None = None
    """Returns the texts of the parts in a file for evaluation; None if the files are texts themselves."""

    def arguments(self, folder: Path) -> list[str]:
        """Return what a command takes for the dataset in `folder`: one `--corpus`, or a `--test-set` for each part."""
        arguments = []
        for part in self.parts:
            name = self.name if len(self.parts) == 1 else f"{self.name}_{part}"
            path = folder / self.name / part
            arguments.append("--test-set " + shlex.quote(f"{name}={path}.en:{path}.fa"))
        return arguments or ["--corpus " + shlex.quote(str(folder / self.files[0].name))]


# --- texts for evaluation, out of the files of their publishers ---

# A damaged file raises whatever its reader raises: `download` explains it.


def flores_texts(path: Path) -> Texts:
    """Return both sides of both parts from the tar.gz of FLORES-200."""
    texts: Texts = {}
    with tarfile.open(path) as tar:
        members = {Path(member.name).name: member for member in tar if member.isreg()}
        for part in ("dev", "devtest"):
            for language, side in (("eng_Latn", "en"), ("pes_Arab", "fa")):
                content = tar.extractfile(members[f"{language}.{part}"])
                assert content is not None
                texts[f"{part}.{side}"] = content.read().decode("utf-8")
    return texts


def wmt_texts(path: Path) -> Texts:
    """Return both sides of the only part, `test`, from JSON Lines with `source` and `target`, as those of WMT24++.

    Segments marked as `is_bad_source` are left out, as the publishers advise (Deutsch et al. 2025). A segment becomes
    one line.
    """
    texts = {"test.en": "", "test.fa": ""}
    with path.open(encoding="utf-8") as lines:
        for segment in map(json.loads, lines):
            if not segment["is_bad_source"]:
                texts["test.en"] += segment["source"].replace("\n", " ") + "\n"
                texts["test.fa"] += segment["target"].replace("\n", " ") + "\n"
    return texts


# --- the table ---

_TABLE: Final = (
    Dataset(
        name="mizan",
        title="Mizan: about 1,020,000 pairs of literature, as OPUS packs it",
        licence="CC BY 4.0",
        home="https://github.com/omidkashefi/Mizan",
        files=(
            RemoteFile(
                address="https://object.pouta.csc.fi/OPUS-MIZAN/v1/moses/en-fa.txt.zip",
                name="mizan.zip",
                size=59_234_779,  # from the OPUS file list of this release
            ),
        ),
    ),
    Dataset(
        name="tatoeba",
        title="Tatoeba: short everyday sentences, release of 2023-04-12, as OPUS packs it",
        licence="CC BY 2.0 FR",
        home="https://opus.nlpl.eu/Tatoeba-v2023-04-12.php",
        files=(
            RemoteFile(
                # This release calls the language pes (Iranian Persian); it has no pair en-fa.
                address="https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/en-pes.txt.zip",
                name="tatoeba.zip",
            ),
        ),
    ),
    Dataset(
        name="flores200",
        title="FLORES-200: 997 + 1,012 sentences of Wikimedia projects, for evaluation only",
        licence="CC BY-SA 4.0",
        home="https://github.com/facebookresearch/flores/blob/main/flores200/README.md",
        files=(
            RemoteFile(
                address="https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz",
                name="flores200_dataset.tar.gz",
                size=25_585_843,  # size and hash: as published by many projects that use the archive
                sha256="b8b0b76783024b85797e5cc75064eb83fc5288b41e9654dabc7be6ae944011f6",
            ),
        ),
        parts=("dev", "devtest"),
        unpack=flores_texts,
    ),
    Dataset(
        name="ntrex128",
        title="NTREX-128: 1,997 sentences of news (WMT 2019) by professional translators, for evaluation only",
        licence="CC BY-SA 4.0",
        home="https://github.com/MicrosoftTranslator/NTREX",
        files=(
            RemoteFile(
                address=f"{_NTREX}/NTREX-128/newstest2019-src.eng.txt",
                name="ntrex128/test.en",
                size=251_739,
                sha256="389e8f5796c66db4f646dfad33e1ec622d74767af5ef112b42a1f2cd814df3cc",
            ),
            RemoteFile(
                address=f"{_NTREX}/NTREX-128/newstest2019-ref.fas.txt",
                name="ntrex128/test.fa",
                size=435_695,
                sha256="17bca2217c74accf95fbdc47b7743402a05abc0d892ae6053477c7aec4a767c1",
            ),
        ),
        parts=("test",),
    ),
    Dataset(
        name="wmt24pp",
        title="WMT24++: 960 segments of news, literature, speech and social media, for evaluation only",
        licence="Apache 2.0",
        home="https://huggingface.co/datasets/google/wmt24pp",
        files=(
            RemoteFile(
                address="https://huggingface.co/datasets/google/wmt24pp/resolve/main/en-fa_IR.jsonl",
                name="wmt24pp.en-fa_IR.jsonl",
            ),
        ),
        parts=("test",),
        unpack=wmt_texts,
    ),
)
DATASETS: Final = {dataset.name: dataset for dataset in _TABLE}


def find_dataset(name: str) -> Dataset:
    """Return the dataset called `name`: one of the table, or `opus:NAME/VERSION`.

    Raises InputError: there is none.
    """
    if name in DATASETS:
        return DATASETS[name]
    if name.lower().startswith("opus:"):
        return _opus_dataset(name)
    raise InputError(f"unknown corpus `{name}`; corpora to download: {', '.join(DATASETS)}, opus:NAME/VERSION")


def _opus_dataset(name: str) -> Dataset:
    """Return the corpus of OPUS that is called `opus:NAME/VERSION`; all of them have the same pattern of addresses."""
    match = _OPUS_PATTERN.fullmatch(name)
    if match is None:
        raise InputError(
            f"`{name}` is no corpus of OPUS; give opus:NAME/VERSION as https://opus.nlpl.eu writes them, such as "
            "opus:CCMatrix/v1"
        )
    corpus, version = match["corpus"], match["version"]
    persian_code = _OPUS_PERSIAN.get(corpus, "fa")
    archive = RemoteFile(
        address=f"https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/en-{persian_code}.txt.zip",
        name=f"{corpus}-{version}.zip",
    )
    return Dataset(
        name=f"opus:{corpus}/{version}",
        title=f"{corpus} {version}, as OPUS packs it",
        licence="see LICENSE in the zip",
        home="https://opus.nlpl.eu",
        files=(archive,),
    )


def dataset_table() -> str:
    """Return a list of all corpora: name and licence, with the description below."""
    lines = []
    for dataset in DATASETS.values():
        lines += [f"{dataset.name}  ({dataset.licence})", *wrapped(dataset.title)]
    lines.append("opus:NAME/VERSION")
    lines += wrapped("any corpus of OPUS, such as opus:CCMatrix/v1; names and versions: https://opus.nlpl.eu")
    return "\n".join(lines)
