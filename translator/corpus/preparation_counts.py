"""The counts of a preparation: pairs by source, rule and split, with examples, as JSON and as a table."""

import heapq
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pydantic import NonNegativeInt, TypeAdapter

from translator.corpus.selecting.filters import FILTER_MEANINGS
from translator.corpus.selecting.split import SELECTION_MEANINGS, SPLITS, Split
from translator.run.text import text_table

MEANINGS: Final[Mapping[str, str]] = {**FILTER_MEANINGS, **SELECTION_MEANINGS}  # of each rule, for people
RULES: Final = tuple(MEANINGS)  # in the order in which they apply; a pair is counted under the first rule that drops it

EXAMPLES: Final = 3  # of each rule and source
NUMBERS_SHOWN: Final = 5  # of the lines of a source that cannot be read, for each rule
SHOWN_CHARACTERS: Final = 300


@dataclass(frozen=True, order=True)
class Example:
    """A raw pair that a rule dropped; a side of more than `SHOWN_CHARACTERS` ends with an ellipsis."""

    line: int  # in the source, from 1
    source: str
    target: str

    @classmethod
    def of(cls, line: int, source: str, target: str) -> "Example":
        """Return a pair as an example with shortened sides."""
        return cls(line=line, source=_shortened(source), target=_shortened(target))


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def example_places(lines: Sequence[int]) -> list[int]:
    """Return at most `EXAMPLES` places in `lines`, in order: those of the smallest hashes, not of the first lines."""

    def hash_of_line(place: int) -> int:
        return zlib.crc32(b"%d" % lines[place])

    return sorted(heapq.nsmallest(EXAMPLES, range(len(lines)), key=hash_of_line))


def chosen_examples(examples: Sequence[Example]) -> list[Example]:
    """Return at most `EXAMPLES` of `examples`, in order, as `example_places` chooses them."""
    places = example_places([example.line for example in examples])
    return [examples[place] for place in places]


@dataclass(frozen=True)
class SourceReport:
    """Counts of one entry of `corpus.sources`: pairs read = pairs dropped by any rule + pairs kept in any split."""

    name: str
    use: str
    read: NonNegativeInt
    dropped: Mapping[str, NonNegativeInt]  # by rule
    kept: Mapping[str, NonNegativeInt]  # by split
    examples: Mapping[str, tuple[Example, ...]]  # raw pairs that were dropped, by rule
    left_out: tuple[int, ...] = ()  # pairs, from 1, that a source with `use: test` lost: a score names them
    unread: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # first lines that cannot be read, by rule
    notes: tuple[str, ...] = ()  # on what else was not read


@dataclass(frozen=True)
class TestSetReport:
    """An additional test set, whose text is removed from training and validation."""

    __test__ = False  # not a test class of pytest

    name: str
    pairs: NonNegativeInt


@dataclass(frozen=True)
class CorpusReport:
    """Counts of a whole corpus, with fingerprint and versions."""

    fingerprint: str
    normalizer_version: int
    prepare_version: int
    sources: tuple[SourceReport, ...]  # in the order of the configuration; a name may occur once for each `use`
    test_sets: tuple[TestSetReport, ...]
    checksums: Mapping[str, int] = field(default_factory=dict)  # CRC-32 of each prepared text, by path

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, text: bytes) -> "CorpusReport":
        """Return the report from the values of `to_json` as JSON text; raise `ValueError` if they are invalid."""
        return TypeAdapter(CorpusReport).validate_json(text)

    def kept(self, split: Split, name: str) -> int:
        """Return the number of pairs of the sources called `name` in `split`."""
        return sum(source.kept[split] for source in self.sources if source.name == name)

    def left_out(self, name: str) -> tuple[int, ...]:
        """Return the lines, from 1, that the source called `name` with `use: test` lost, if there is such a source."""
        for source in self.sources:
            if source.name == name and source.use == "test":
                return source.left_out
        return ()

    def source_titles(self) -> list[str]:
        """Return a title for each source: its name, with its use if another source has the same name."""
        names = [source.name for source in self.sources]
        titles = []
        for source in self.sources:
            is_ambiguous = names.count(source.name) > 1
            titles.append(f"{source.name} ({source.use})" if is_ambiguous else source.name)
        return titles

    def rules_used(self) -> list[str]:
        """Return the rules that dropped a pair of any source, in their order."""
        return [rule for rule in RULES if any(source.dropped[rule] for source in self.sources)]

    def reading_notes(self) -> list[str]:
        """Return a line for each source and rule on the lines that could not be read, and for each note."""
        lines = []
        for title, source in zip(self.source_titles(), self.sources, strict=True):
            for rule, numbers in source.unread.items():
                lines_are = "line" if source.dropped[rule] == 1 else "lines"
                shown = ", ".join(f"{number:,}" for number in numbers)
                more = ", …" if source.dropped[rule] > len(numbers) else ""
                lines.append(f"{title}: {source.dropped[rule]:,} dropped by {rule}, {lines_are} {shown}{more}")
            lines += source.notes
        return lines

    def split_warning(self) -> str | None:
        """Return a warning if a split takes more than a fifth of the pairs of the sources with `use: auto`."""
        divided = [source for source in self.sources if source.use == "auto"]
        counts = {split: sum(source.kept[split] for source in divided) for split in SPLITS}
        total = sum(counts.values())
        large = [split for split in SPLITS[1:] if counts[split] * 5 > total]
        if not large:
            return None
        held_out = " and ".join(f"{counts[split]:,} for {split}" for split in large)
        keys = " and ".join(f"corpus.split.{split}" for split in large)
        return (
            f"of {total:,} pairs, {held_out} are held out, which leaves {counts['train']:,} for training; "
            f"set {keys} to `auto` (2% of a source, at most 1,000) or to a smaller number"
        )


def format_report(report: CorpusReport) -> str:
    """Return the counts as a table: a column for each source, a row for each split and each rule that dropped pairs.

    With several sources, a last column has the totals.
    """
    # 1. The counts of each row, by source.
    sources = report.sources
    counts_of_row: dict[str, list[int]] = {}
    for rule in report.rules_used():
        counts_of_row[f"  dropped: {rule}"] = [source.dropped[rule] for source in sources]
    counts_of_row["out"] = [sum(source.kept.values()) for source in sources]
    for split in SPLITS:
        counts_of_row[f"  {split}"] = [source.kept[split] for source in sources]

    # 2. The table, with shares of the pairs that were read.
    pairs_read = _with_total([source.read for source in sources])
    header = ["pairs", *report.source_titles(), "total"][: 1 + len(pairs_read)]
    no_share = " " * len(_share(1, 1))
    rows = [["in", *(f"{count:,}{no_share}" for count in pairs_read)]]
    for label, counts in counts_of_row.items():
        row = [label]
        for count, read in zip(_with_total(counts), pairs_read, strict=True):
            row.append(f"{count:,}{_share(count, read)}")
        rows.append(row)

    # 3. The notes below it.
    lines = [text_table(header, rows), *report.reading_notes()]
    for test_set in report.test_sets:
        lines.append(f"kept out of training: test set {test_set.name}, {test_set.pairs:,} pairs")
    return "\n".join(lines)


def _with_total(counts: Sequence[int]) -> list[int]:
    """Return `counts` and, if there are several, their sum."""
    return [*counts, sum(counts)] if len(counts) > 1 else list(counts)


def _share(count: int, whole: int) -> str:
    """Return a space and a percentage of fixed width; a positive share is never shown as 0.0%."""
    if not count:
        return " " * 7
    percentage = 100 * count / whole
    return f" {percentage:5.1f}%" if percentage >= 0.05 else "  <0.1%"
