"""A prepared corpus: cleaned and split text on disk, as `translator.corpus.prepare` writes it."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.file_hashes import FileHashes
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.selecting.split import Split
from translator.run.files import damaged, storage_errors

Side = Literal["en", "fa"]  # of a pair of texts, in either direction

SIDES: Final[tuple[Side, Side]] = ("en", "fa")
_CHARACTERS_AT_ONCE: Final = 1 << 18


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
    file_hashes: FileHashes = ()
    """Of each source, then of each additional test set."""
    test_set_hashes: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """By the name of an additional test set, the SHA-256 of its files when its text was kept out of the others."""

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
        return self.report.kept(split, name)

    def training_bytes(self) -> int:
        """Return the size of the training text on both sides."""
        return sum(file.stat().st_size for file in (self.directory / "train").glob("*.*"))

    def pairs(self, split: Split, name: str) -> Iterator[tuple[str, str]]:
        """Yield source and target of each pair; see `lines`."""
        yield from zip(*(self.lines(split, name, side) for side in self.sides), strict=True)

    def lines(self, split: Split, name: str, side: Side) -> Iterator[str]:
        """Yield the texts of one side of source `name` in `split`; raises `StorageError` if the file is damaged."""
        if self.count(split, name) == 0:
            return
        path = self._existing_file(split, name, side)
        complete_lines = 0
        with storage_errors(path, "read"), path.open(encoding="utf-8", newline="\n") as stream:
            try:
                # Many lines at a time, which takes half as long.
                while lines := stream.readlines(_CHARACTERS_AT_ONCE):
                    complete_lines += len(lines) if lines[-1].endswith("\n") else len(lines) - 1
                    yield from [line.removesuffix("\n") for line in lines]
            except UnicodeDecodeError as error:
                raise damaged(f"the prepared text {path}", "it is not UTF-8", self.directory) from error
        self._check_line_count(path, complete_lines, self.count(split, name))

    def blocks(self, split: Split, name: str, side: Side, size: int) -> list[TextBlock]:
        """Return one side of source `name` in `split` as blocks of `size` lines; the last block may be shorter.

        Raises StorageError: the file is missing, or has another number of lines.
        """
        if self.count(split, name) == 0:
            return []
        path = self._existing_file(split, name, side)
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
        self._check_line_count(path, complete_lines, self.count(split, name))
        if borders[-1] < position:
            borders.append(position)
        return [TextBlock(path, begin, end) for begin, end in itertools.pairwise(borders)]

    def _existing_file(self, split: Split, name: str, side: Side) -> Path:
        path = self.directory / split / f"{name}.{side}"
        if not path.is_file():
            raise damaged(f"the prepared text {path}", "the file is missing", self.directory)
        return path

    def _check_line_count(self, path: Path, complete_lines: int, expected: int) -> None:
        if complete_lines != expected:
            reason = f"it has {complete_lines:,} complete lines instead of {expected:,}"
            raise damaged(f"the prepared text {path}", reason, self.directory)
