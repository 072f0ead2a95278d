"""Small corpora in every layout, with mistakes drawn by a seed."""

import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

import zstandard
from corpus.mutations import mutated

from translator.config import SourceConfig

Files = dict[str, bytes]
"""Contents by name."""


class Texts(NamedTuple):
    """A corpus, as two sides and as a table."""

    english: bytes
    persian: bytes
    table: bytes


class Limits(NamedTuple):
    """Sizes that are made small, so that their borders fall into small corpora."""

    block: int = 1 << 17
    longest_line: int = 1 << 20
    pairs_of_a_chunk: int = 4096


@dataclass(frozen=True)
class Case:
    """A corpus as it lies on disk, and how it is read."""

    name: str
    layout: str
    files: Files
    damaged: bool
    """Whether packed bytes were changed, and not just the text before it was packed."""
    invalid_utf8: Literal["error", "drop"] = "error"
    max_pairs: int | None = None
    limits: Limits = field(default_factory=Limits)
    prepared: bool = False
    """Whether it is to go through the whole preparation."""

    def write(self, folder: Path) -> SourceConfig:
        """Write the files into `folder`."""
        paths = [folder / name for name in self.files]
        for path, content in zip(paths, self.files.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        where = {"path": str(paths[0] if len(paths) == 1 else folder / "folder")}
        if len(paths) == 2:
            where = {"source_path": str(paths[0]), "target_path": str(paths[1])}
        settings = {"name": "text", "invalid_utf8": self.invalid_utf8, "max_pairs": self.max_pairs, **where}
        return SourceConfig.model_validate(settings)


def _zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def _xz(content: bytes) -> bytes:
    return lzma.compress(content, preset=0)


def _zip(members: Files) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


LAYOUTS: Final[dict[str, Callable[[Texts], Files]]] = {
    "table": lambda texts: {"text.tsv": texts.table},
    "two files": lambda texts: {"text.en": texts.english, "text.fa": texts.persian},
    "gzip": lambda texts: {"text.tsv.gz": gzip.compress(texts.table, mtime=0)},
    "xz": lambda texts: {"text.tsv.xz": _xz(texts.table)},
    "zstd": lambda texts: {"text.tsv.zst": _zstd(texts.table)},
    "packed files": lambda texts: {"text.en.zst": _zstd(texts.english), "text.fa.xz": _xz(texts.persian)},
    "zip": lambda texts: {"text.zip": _zip({"en.txt": texts.english, "fa.txt": texts.persian})},
    "Moses zip": lambda texts: {
        "text.zip": _zip({"README": b"x", "T.en-fa.en": texts.english, "T.en-fa.fa": texts.persian, "T.en-fa.ids": b""})
    },
    "folder": lambda texts: {
        "folder/a.tsv.gz": gzip.compress(texts.table, mtime=0),
        "folder/b.en": texts.english,
        "folder/b.fa.xz": _xz(texts.persian),
    },
}

_ENGLISH: Final = [
    "the",
    "garden",
    "is",
    "green",
    "and",
    "my",
    "old",
    "friend",
    "reads",
    "a",
    "long",
    "book",
    "about",
    "rivers",
    "in",
    "12",
    "towns",
    ".",
]
_PERSIAN: Final = [
    "باغ",
    "سبز",
    "است",
    "و",
    "دوست",
    "قدیمی",
    "من",
    "کتابی",
    "بلند",
    "دربارهٔ",
    "رودهای",
    "۱۲",
    "شهر",
    "می\u200cخواند",
    ".",
]


def drawn_case(seed: int) -> Case:
    """Return the case of a seed."""
    generator = random.Random(seed)
    rows = [(_sentence(_ENGLISH, generator), _sentence(_PERSIAN, generator)) for _ in range(generator.randint(1, 12))]
    if generator.random() < 0.03:
        rows = [(target, source) for source, target in rows]
    texts = texts_of(rows, generator.choice(("\n", "\n", "\r\n")))
    wrong = generator.choice(("nothing", "one text", "one text", "one text", "all texts", "bytes", "bytes and text"))
    if wrong in ("one text", "bytes and text"):
        side = generator.choice((0, 1))
        texts = Texts(*(mutated(text, generator) if place in (side, 2) else text for place, text in enumerate(texts)))
    elif wrong == "all texts":
        texts = Texts(*(mutated(text, generator) for text in texts))
    layout = generator.choice(list(LAYOUTS))
    files = LAYOUTS[layout](texts)
    damaged = wrong in ("bytes", "bytes and text") and layout not in ("table", "two files")
    if damaged:
        name = generator.choice(list(files))
        files[name] = mutated(files[name], generator, 2)
    return Case(
        name=f"seed {seed}",
        layout=layout,
        files=files,
        damaged=damaged,
        invalid_utf8=generator.choice(("error", "drop", "drop")),
        max_pairs=generator.randint(1, 8) if not damaged and generator.random() < 0.2 else None,
        limits=generator.choice((Limits(), Limits(7, 200, 3), Limits(50, 300, 2), Limits(120, 120, 1))),
        prepared=generator.random() < 0.125,
    )


def texts_of(rows: list[tuple[str, str]], end: str = "\n") -> Texts:
    """Return the texts of pairs."""
    english, persian = ("".join(f"{text}{end}" for text in side).encode() for side in zip(*rows, strict=True))
    return Texts(english, persian, "".join(f"{source}\t{target}{end}" for source, target in rows).encode())


def _sentence(words: list[str], generator: random.Random) -> str:
    return " ".join(generator.choices(words, k=generator.randint(3, 9)))
