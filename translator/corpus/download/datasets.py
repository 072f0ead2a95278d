"""The table of public corpora that can be fetched by name, and what to write into a recipe to use one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import yaml

from translator.errors import InputError
from translator.text_table import text_table

LARGEST_FILE: Final = 2 << 30
"""Bytes accepted from a server when the size of the file is not known."""
MAGIC: Final = MappingProxyType({"zip": b"PK\x03\x04", "tar.gz": b"\x1f\x8b\x08"})
"""The first bytes of each format."""


@dataclass(frozen=True)
class Use:
    """How a recipe names a corpus that has been fetched."""

    key: Literal["corpus.sources", "evaluation.test_sets"]
    """The list of the recipe that `entry` belongs to."""
    entry: Mapping[str, str]
    """Keys of a source; those that end in `path` are relative to the folder of the download."""


@dataclass(frozen=True)
class Dataset:
    """One public corpus: where it is, what it is, and how it is known to be right."""

    name: str
    title: str
    """What it is, in a line."""
    licence: str
    home: str
    """A page about it, for the case that the address no longer answers."""
    address: str
    file_name: str
    format: Literal["zip", "tar.gz"]
    members: Mapping[str, str]
    """Members that the archive must hold (of a tar, the last two parts of their names), and where each is unpacked to;
    a zip is read in place, so its members are unpacked nowhere."""
    uses: tuple[Use, ...]
    size: int | None = None
    """Bytes, where published or found by several others."""
    sha256: str | None = None
    """Where published or found by several others; otherwise the first download is the measure of the later ones."""

    @property
    def limit(self) -> int:
        """Bytes at most that are accepted from a server."""
        return LARGEST_FILE if self.size is None else self.size


_TABLE: Final = (
    Dataset(
        name="mizan",
        title="Mizan: about 1,020,000 pairs of literature, as OPUS packs it",
        licence="CC BY 4.0",
        home="https://github.com/omidkashefi/Mizan",
        address="https://object.pouta.csc.fi/OPUS-MIZAN/v1/moses/en-fa.txt.zip",
        file_name="mizan.zip",
        format="zip",
        members={"MIZAN.en-fa.en": "", "MIZAN.en-fa.fa": ""},
        uses=(Use("corpus.sources", {"name": "mizan", "path": "mizan.zip"}),),
        size=59_234_779,  # from the file list that OPUS keeps of this release
    ),
    Dataset(
        name="tatoeba",
        title="Tatoeba: short everyday sentences, release of 2023-04-12, as OPUS packs it",
        licence="CC BY 2.0 FR",
        home="https://opus.nlpl.eu/Tatoeba-v2023-04-12.php",
        # This release calls the language pes (Iranian Persian); it has no pair en-fa.
        address="https://object.pouta.csc.fi/OPUS-Tatoeba/v2023-04-12/moses/en-pes.txt.zip",
        file_name="tatoeba.zip",
        format="zip",
        members={"Tatoeba.en-pes.en": "", "Tatoeba.en-pes.pes": ""},
        uses=(
            Use(
                "corpus.sources",
                {
                    "name": "tatoeba",
                    "path": "tatoeba.zip",
                    "source_member": "Tatoeba.en-pes.en",
                    "target_member": "Tatoeba.en-pes.pes",
                },
            ),
        ),
    ),
    Dataset(
        name="flores200",
        title="FLORES-200: 997 + 1,012 sentences of Wikimedia projects, for evaluation only",
        licence="CC BY-SA 4.0",
        home="https://github.com/facebookresearch/flores/blob/main/flores200/README.md",
        address="https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz",
        file_name="flores200_dataset.tar.gz",
        format="tar.gz",
        members={
            "dev/eng_Latn.dev": "dev.en",
            "dev/pes_Arab.dev": "dev.fa",
            "devtest/eng_Latn.devtest": "devtest.en",
            "devtest/pes_Arab.devtest": "devtest.fa",
        },
        uses=(
            Use(
                "evaluation.test_sets",
                {
                    "name": "flores200_dev",
                    "source_path": "flores200/dev.en",
                    "target_path": "flores200/dev.fa",
                },
            ),
            Use(
                "evaluation.test_sets",
                {
                    "name": "flores200_devtest",
                    "source_path": "flores200/devtest.en",
                    "target_path": "flores200/devtest.fa",
                },
            ),
        ),
        size=25_585_843,  # this and the checksum: as many projects that use the archive state them
        sha256="b8b0b76783024b85797e5cc75064eb83fc5288b41e9654dabc7be6ae944011f6",
    ),
)
DATASETS: Final[Mapping[str, Dataset]] = MappingProxyType({dataset.name: dataset for dataset in _TABLE})
"""By name."""


def dataset_named(name: str) -> Dataset:
    """Return the corpus called `name`.

    Raises:
        InputError: there is none; the message lists those there are.
    """
    if name not in DATASETS:
        raise InputError(f"there is no corpus `{name}` to download; there are: {', '.join(DATASETS)}")
    return DATASETS[name]


def dataset_table() -> str:
    """Return all corpora as a table: name, size, licence, what each is."""
    rows = [(dataset.name, _megabytes(dataset.size), dataset.licence, dataset.title) for dataset in DATASETS.values()]
    return text_table(("name", "size", "licence", "what it is"), rows, text_columns=4)


def _megabytes(size: int | None) -> str:
    return "not known" if size is None else f"{size / 1e6:.0f} MB"


def recipe_snippet(name: str, folder: Path) -> str:
    """Return the lines of YAML that make a recipe use the corpus `name`, fetched to `folder`.

    Raises:
        InputError: there is no such corpus.
    """
    dataset = dataset_named(name)
    sections: dict[str, dict[str, list[dict[str, str]]]] = {}
    for use in dataset.uses:
        section, _, key = use.key.partition(".")
        entry = {name: str(folder / value) if name.endswith("path") else value for name, value in use.entry.items()}
        sections.setdefault(section, {}).setdefault(key, []).append(entry)
    return f"# {dataset.title}; licence: {dataset.licence}\n{_yaml(sections)}"


def _yaml(value: Any) -> str:
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000))
