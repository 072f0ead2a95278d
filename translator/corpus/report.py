"""What preparing a corpus did: counts for each source, rule and split, as JSON and as a table for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from translator.corpus.duplicates import LEAK_RULES
from translator.corpus.examples import Example
from translator.corpus.filters import FILTER_RULES
from translator.corpus.split import SPLITS, Split
from translator.corpus.statistics import Count, TextStatistics
from translator.text_table import text_table

RULES: Final = (*FILTER_RULES, *LEAK_RULES)


@dataclass(frozen=True)
class SourceReport:
    """Counts of one entry of `corpus.sources`: pairs read = pairs dropped by any rule + pairs kept in any split."""

    name: str
    use: str
    read: Count
    dropped: Mapping[str, Count]
    """By rule, all of `RULES`."""
    kept: Mapping[str, Count]
    """By split, all of `SPLITS`."""
    examples: Mapping[str, tuple[Example, ...]]
    """Raw pairs that were dropped, by rule; rules that dropped nothing are left out."""
    statistics: TextStatistics
    """Of the pairs kept for training, normalized."""


@dataclass(frozen=True)
class TestSetReport:
    """A further test set."""

    __test__ = False  # the name begins as pytest's classes do

    name: str
    pairs: Count


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
    checksums: Mapping[str, int] = field(default_factory=dict)
    """CRC-32 of each prepared text by its path in the folder: `train/mizan.en`."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "CorpusReport":
        """Return the report that `to_json` made `values` of.

        Raises:
            ValueError: the values are not of that kind.
        """
        report = _ADAPTER.validate_python(values)
        for source in report.sources:
            for counts, names in ((source.dropped, RULES), (source.kept, SPLITS)):
                if set(counts) != set(names):
                    raise ValueError(f"source {source.name} has other counts than {', '.join(names)}")
        return report

    def kept(self, split: Split, name: str) -> int:
        """Return the number of pairs of the sources called `name` in `split`."""
        return sum(source.kept[split] for source in self.sources if source.name == name)

    def source_titles(self) -> list[str]:
        """Return what to call each source: its name, and its use where another has the same name."""
        names = [source.name for source in self.sources]
        return [
            f"{source.name} ({source.use})" if names.count(source.name) > 1 else source.name for source in self.sources
        ]

    def rules_used(self) -> list[str]:
        """Return the rules that dropped a pair of any source, in their order."""
        return [rule for rule in RULES if any(source.dropped[rule] for source in self.sources)]


_ADAPTER: Final = TypeAdapter(CorpusReport)


def format_report(report: CorpusReport) -> str:
    """Return the counts as a table: a column for each source, a row for each split and each rule that dropped some."""
    sources = report.sources
    read = _with_total([source.read for source in sources])
    header = ["pairs", *report.source_titles(), "total"][: 1 + len(read)]
    counts = {f"  dropped: {rule}": [source.dropped[rule] for source in sources] for rule in report.rules_used()}
    counts["out"] = [sum(source.kept.values()) for source in sources]
    counts |= {f"  {split}": [source.kept[split] for source in sources] for split in SPLITS}
    rows = [["in", *(f"{count:,}" + " " * len(_share(1, 1)) for count in read)]]
    rows += [
        [label, *(f"{count:,}{_share(count, whole)}" for count, whole in zip(_with_total(row), read, strict=True))]
        for label, row in counts.items()
    ]
    kept_out = (f"kept out of training: test set {test.name}, {test.pairs:,} pairs" for test in report.test_sets)
    return "\n".join([text_table(header, rows), *kept_out])


def _with_total(counts: Sequence[int]) -> list[int]:
    """Return the counts of all sources, and where there are several their sum."""
    return [*counts, sum(counts)] if len(counts) > 1 else list(counts)


def _share(count: int, whole: int) -> str:
    """Return a percentage after a space, or as much room; what is more than nothing is never shown as nothing."""
    if not count:
        return " " * 7
    percentage = 100 * count / whole
    return f" {percentage:5.1f}%" if percentage >= 0.05 else "  <0.1%"
