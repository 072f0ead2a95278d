"""A prepared corpus: cleaned and split text on disk, as `translator.corpus.prepare` writes it."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.selecting.split import Split
from translator.run.files import damaged, storage_errors

Side = Literal["en", "fa"]  # of a pair of texts, in either direction

SIDES: Final[tuple[Side, Side]] = ("en", "fa")
_LINES_AT_ONCE: Final = 4096


@dataclass(frozen=True)
class TextBlock:
    """Consecutive lines of a prepared text, which any process can read without the lines before them."""

    path: Path
    begin: int  # bytes
    end: int

    def lines(self) -> list[str]:
        """Return the lines; raise StorageError if the file cannot be read."""
        with storage_errors(self.path, "read"), self.path.open("rb") as file:
            file.seek(self.begin)
            content = file.read(self.end - self.begin)
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise damaged(f"the prepared text {self.path}", "it is not UTF-8", self.path.parents[1]) from error
        return text.split("\n")[:-1]


@dataclass(frozen=True)
class PreparedCorpus:
    """Cleaned and split text on disk: normalized in the training split, raw in the others."""

    directory: Path
    fingerprint: str  # `corpus_fingerprint`
    report: CorpusReport
    languages: Languages = (ENGLISH, PERSIAN)

    @property
    def sides(self) -> tuple[Side, Side]:
        """The source side and the target side."""
        return self.languages[0].code, self.languages[1].code

    def names(self, split: Split) -> list[str]:
        """Return the names of the sources with pairs in `split`, in the order of the configuration."""
        names = dict.fromkeys(source.name for source in self.report.sources)
        return [name for name in names if self.count(split, name)]

    def count(self, split: Split, name: str) -> int:
        """Return the number of pairs of source `name` in `split`."""
        return sum(source.kept[split] for source in self.report.sources if source.name == name)

    def training_bytes(self) -> int:
        """Return the size of the training text on both sides."""
        return sum(file.stat().st_size for file in (self.directory / "train").glob("*.*"))

    def pairs(self, split: Split, name: str) -> Iterator[tuple[str, str]]:
        """Yield source and target of each pair; see `lines`."""
        yield from zip(*(self.lines(split, name, side) for side in self.sides), strict=True)

    def lines(self, split: Split, name: str, side: Side) -> Iterator[str]:
        """Yield the lines of one side of source `name` in `split`; raises `StorageError` if the file is damaged."""
        for block in self.blocks(split, name, side, _LINES_AT_ONCE):
            yield from block.lines()

    def blocks(self, split: Split, name: str, side: Side, size: int) -> list[TextBlock]:
        """Return one side of source `name` in `split` as blocks of `size` lines; the last block may be shorter.

        Raises StorageError: the file is missing, or has another number of lines.
        """
        if self.count(split, name) == 0:
            return []
        path = self.directory / split / f"{name}.{side}"
        if not path.is_file():
            raise damaged(f"the prepared text {path}", "the file is missing", self.directory)
        borders = [0]  # of the blocks, in bytes
        complete_lines = 0
        position = 0
        with storage_errors(path, "read"), path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                complete_lines += 1
                position += len(line)
                if complete_lines % size == 0:
                    borders.append(position)
        expected = self.count(split, name)
        if complete_lines != expected:
            reason = f"it has {complete_lines:,} complete lines instead of {expected:,}"
            raise damaged(f"the prepared text {path}", reason, self.directory)
        if borders[-1] < position:
            borders.append(position)
        return [TextBlock(path, begin, end) for begin, end in itertools.pairwise(borders)]
