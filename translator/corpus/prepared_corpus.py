"""A prepared corpus: cleaned and split text on disk, as `translator.corpus.prepare` writes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from translator.config.corpus_section import Languages
from translator.corpus.preparation_counts import CorpusReport
from translator.corpus.selecting.split import Split
from translator.run.files import damaged, storage_errors

Side = Literal["en", "fa"]  # of a pair of texts, in either direction

SIDES: Final[tuple[Side, Side]] = ("en", "fa")
_CHARACTERS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True)
class PreparedCorpus:
    """Cleaned and split text on disk: normalized in the training split, raw in the others."""

    directory: Path
    report: CorpusReport
    languages: Languages

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
        """Yield the lines of one side of source `name` in `split`, without their ends.

        Raises StorageError: the file is missing, is not UTF-8, or, at its end, has another number of lines.
        """
        expected = self.count(split, name)
        if expected == 0:  # a split without pairs has no file
            return
        path = self.directory / split / f"{name}.{side}"
        label = f"the prepared text {path}"
        complete_lines = 0
        with storage_errors(path, "read"):
            try:
                with path.open(encoding="utf-8", newline="\n") as lines:
                    while block := lines.readlines(_CHARACTERS_AT_ONCE):  # takes half as long as one by one
                        last_is_complete = block[-1].endswith("\n")  # else the file is cut off
                        complete_lines += len(block) if last_is_complete else len(block) - 1
                        yield from [line.removesuffix("\n") for line in block]
            except FileNotFoundError:
                raise damaged(label, "the file is missing", self.directory) from None
            except UnicodeDecodeError:
                raise damaged(label, "it is not UTF-8", self.directory) from None
        if complete_lines != expected:
            problem = f"it has {complete_lines:,} complete lines instead of {expected:,}"
            raise damaged(label, problem, self.directory)
