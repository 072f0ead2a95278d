"""The counts of a preparation: pairs by source, rule and split, with examples, as JSON and as a table."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from translator.corpus.selecting.split import MEANINGS, READING_RULES, SPLITS
from translator.run.text import text_table

EXAMPLES: Final = 3  # of each rule and source
SHOWN_CHARACTERS: Final = 300


@dataclass
class Example:
    """A raw pair that a rule dropped; a side of more than `SHOWN_CHARACTERS` ends with an ellipsis."""

    line: int  # in the source, from 1
    source: str
    target: str


def shortened(line: bytes) -> str:
    """Return a line of a text without its end, for an example."""
    text = line[:-1].decode("utf-8")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


@dataclass
class SourceReport:
    """Counts of one entry of `corpus.sources`: pairs read = pairs dropped by any rule + pairs kept in any split."""

    name: str
    use: str
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)  # by rule
    kept: Counter[str] = field(default_factory=Counter)  # by split
    examples: dict[str, list[Example]] = field(default_factory=dict)  # the first pairs that each rule dropped
    left_out: list[int] = field(default_factory=list)  # pairs, from 1, that a source for testing lost
    notes: list[str] = field(default_factory=list)  # on what was not read

    @property
    def out(self) -> int:
        """The number of pairs that were kept."""
        return self.kept.total()


@dataclass
class CorpusReport:
    """Counts of a whole corpus, with fingerprint and versions."""

    fingerprint: str  # `corpus_fingerprint`
    normalizer_version: int
    prepare_version: int
    sources: list[SourceReport]  # in the order of the configuration; a name may occur once for each `use`
    test_sets: list[SourceReport]  # additional ones, whose text is removed from training and validation

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        values: dict[str, Any] = TypeAdapter(CorpusReport).dump_python(self, mode="json")
        return values

    @classmethod
    def from_json(cls, text: bytes) -> "CorpusReport":
        """Return the report from the values of `to_json` as JSON text; raise `ValueError` if they are invalid."""
        return TypeAdapter(CorpusReport).validate_json(text)

    def titled_sources(self) -> list[tuple[str, SourceReport]]:
        """Return each source with a title: its name, with its use if another source has the same name."""
        names = [source.name for source in self.sources]
        titled = []
        for source in self.sources:
            is_ambiguous = names.count(source.name) > 1
            titled.append((f"{source.name} ({source.use})" if is_ambiguous else source.name, source))
        return titled

    def columns(self) -> list[tuple[str, SourceReport]]:
        """Return the columns of a table of counts: the sources with their titles and, if there are several, a total."""
        columns = self.titled_sources()
        if len(columns) > 1:
            total = SourceReport(name="total", use="")
            for source in self.sources:
                total.read += source.read
                total.dropped.update(source.dropped)
                total.kept.update(source.kept)
            columns.append(("total", total))
        return columns

    def rules_used(self) -> list[str]:
        """Return the rules that dropped a pair of any source, in their order."""
        return [rule for rule in MEANINGS if any(source.dropped[rule] for source in self.sources)]

    def reading_notes(self) -> list[str]:
        """Return lines on what was not read: for each source, the drops by each rule of reading, then its notes."""
        lines = []
        for title, source in self.titled_sources():
            for rule in READING_RULES:
                count = source.dropped[rule]
                if count:
                    noun = "line" if count == 1 else "lines"
                    first_numbers = ", ".join(f"{example.line:,}" for example in source.examples[rule])
                    more = ", …" if count > EXAMPLES else ""
                    lines.append(f"{title}: {count:,} dropped by {rule}, {noun} {first_numbers}{more}")
            lines += source.notes
        return lines

    def split_warning(self) -> str | None:
        """Return a warning if a split takes more than a fifth of the pairs of the sources with `use: auto`."""
        # 1. The pairs in each split, and the held-out splits that are too large.
        counts = Counter[str]()
        for source in self.sources:
            if source.use == "auto":
                counts.update(source.kept)
        held_out_splits = SPLITS[1:]  # all but `train`
        large_splits = [split for split in held_out_splits if counts[split] * 5 > counts.total()]
        if not large_splits:
            return None

        # 2. The warning.
        held_out = " and ".join(f"{counts[split]:,} for {split}" for split in large_splits)
        keys = " and ".join(f"corpus.split.{split}" for split in large_splits)
        return (
            f"of {counts.total():,} pairs, {held_out} are held out, which leaves {counts['train']:,} for training; "
            f"set {keys} to `auto` (2% of a source, at most 1,000) or to a smaller number"
        )


def format_report(report: CorpusReport) -> str:
    """Return the counts as a table: a column for each source, a row for each split and each rule that dropped pairs."""
    # 1. The table, with shares of the pairs that were read.
    columns = report.columns()
    rules = report.rules_used()
    labels = ["in", *(f"  dropped: {rule}" for rule in rules), "out", *(f"  {split}" for split in SPLITS)]
    cells_of_columns = []
    for _, source in columns:
        counts = [*(source.dropped[rule] for rule in rules), source.out, *(source.kept[split] for split in SPLITS)]
        counts_with_shares = [f"{count:,}{_share(count, source.read)}" for count in counts]
        cells_of_columns.append([f"{source.read:,}{_NO_SHARE}", *counts_with_shares])
    header = ["pairs", *(title for title, _ in columns)]
    table = text_table(header, list(zip(labels, *cells_of_columns, strict=True)))

    # 2. The notes below it.
    lines = [table, *report.reading_notes()]
    for test_set in report.test_sets:
        lines.append(f"kept out of training: test set {test_set.name}, {test_set.out:,} pairs")
    return "\n".join(lines)


_NO_SHARE: Final = " " * 7  # as wide as a share


def _share(count: int, whole: int) -> str:
    """Return a space and a percentage of fixed width; a positive share is never shown as 0.0%."""
    if not count:
        return _NO_SHARE
    percentage = 100 * count / whole
    return f" {percentage:5.1f}%" if percentage >= 0.05 else "  <0.1%"
