"""What preparing a corpus did: counts for each source, rule and split, as JSON and as a table for a person."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from translator.corpus.filters import FILTER_RULES
from translator.corpus.overlap import LEAK_RULES
from translator.corpus.split import SPLITS, Split

RULES: Final = (*FILTER_RULES, *LEAK_RULES)


@dataclass(frozen=True)
class SourceReport:
    """Counts of one entry of `corpus.sources`: pairs read = pairs dropped by any rule + pairs kept in any split."""

    name: str
    use: str
    read: int
    dropped: Mapping[str, int]
    """By rule, all of `RULES`."""
    kept: Mapping[str, int]
    """By split, all of `SPLITS`."""


@dataclass(frozen=True)
class TestSetReport:
    """A further test set."""

    __test__ = False  # the name begins as pytest's classes do

    name: str
    pairs: int


@dataclass(frozen=True)
class CorpusReport:
    """Counts of a whole corpus, and what they were made with."""

    fingerprint: str
    normalizer_version: int
    prepare_version: int
    sources: tuple[SourceReport, ...]
    """In the order of the configuration; a name may stand once for each `use`."""
    test_sets: tuple[TestSetReport, ...]
    """Further test sets, whose text was kept out of training and validation."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CorpusReport":
        """Return the report that `to_json` made `values` of."""
        sources = tuple(SourceReport(**source) for source in values["sources"])
        test_sets = tuple(TestSetReport(**test_set) for test_set in values["test_sets"])
        return cls(**{**values, "sources": sources, "test_sets": test_sets})

    def kept(self, split: Split, name: str) -> int:
        """Return the number of pairs of the sources called `name` in `split`."""
        return sum(source.kept[split] for source in self.sources if source.name == name)


def format_report(report: CorpusReport) -> str:
    """Return the counts as a table: a column for each source, a row for each rule and split, in pairs and shares."""
    sources = report.sources
    twice = {source.name for source in sources if sum(other.name == source.name for other in sources) > 1}
    header = [
        "pairs",
        *(f"{source.name} ({source.use})" if source.name in twice else source.name for source in sources),
    ]
    rows = [["read", *(f"{source.read:,}" for source in sources)]]
    rows += [
        [f"  dropped: {rule}", *(_cell(source.dropped[rule], source.read) for source in sources)] for rule in RULES
    ]
    rows += [[f"  {split}", *(_cell(source.kept[split], source.read) for source in sources)] for split in SPLITS]
    if len(sources) > 1:
        total = sum(source.read for source in sources)
        header.append("total")
        rows[0].append(f"{total:,}")
        for row, rule in zip(rows[1:], RULES, strict=False):
            row.append(_cell(sum(source.dropped[rule] for source in sources), total))
        for row, split in zip(rows[1 + len(RULES) :], SPLITS, strict=True):
            row.append(_cell(sum(source.kept[split] for source in sources), total))
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *rows]
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    lines += [
        f"kept out of training: test set {test_set.name}, {test_set.pairs:,} pairs" for test_set in report.test_sets
    ]
    return "\n".join(lines)


def _cell(count: int, whole: int) -> str:
    share = f"{100 * count / whole:5.1f}%" if whole and count else "      "
    return f"{count:,} {share}"
