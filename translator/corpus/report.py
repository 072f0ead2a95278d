"""What preparing a corpus did: counts for each source, rule and split, as JSON and as a table for a person."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from translator.corpus.filters import FILTER_RULES
from translator.corpus.overlap import LEAK_RULES
from translator.corpus.split import SPLITS, Split
from translator.text_table import text_table

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
    read = _with_total([source.read for source in sources])
    names = [source.name for source in sources]
    titles = [f"{source.name} ({source.use})" if names.count(source.name) > 1 else source.name for source in sources]
    header = ["pairs", *titles, "total"][: 1 + len(read)]
    counts = {f"  dropped: {rule}": [source.dropped[rule] for source in sources] for rule in RULES}
    counts |= {f"  {split}": [source.kept[split] for source in sources] for split in SPLITS}
    rows = [["read", *(f"{count:,}" for count in read)]]
    rows += [
        [label, *(_cell(count, whole) for count, whole in zip(_with_total(row), read, strict=True))]
        for label, row in counts.items()
    ]
    kept_out = (f"kept out of training: test set {test.name}, {test.pairs:,} pairs" for test in report.test_sets)
    return "\n".join([text_table(header, rows), *kept_out])


def _with_total(counts: list[int]) -> list[int]:
    """Return the counts of all sources, and where there are several their sum."""
    return [*counts, sum(counts)] if len(counts) > 1 else counts


def _cell(count: int, whole: int) -> str:
    share = f"{100 * count / whole:5.1f}%" if whole and count else "      "
    return f"{count:,} {share}"
