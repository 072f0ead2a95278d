"""The page about a preparation: what each table, list and chart of its template holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from markupsafe import Markup

import translator
from translator.corpus.examples import Example
from translator.corpus.filters import MEANINGS
from translator.corpus.report import RULES, CorpusReport, SourceReport
from translator.data.length_charts import SourceCharts, source_charts
from translator.data.length_report import LengthReport
from translator.data.mixture import MixtureRow
from translator.pages import bar, render_page
from translator.subword.report import SubwordTable

_SECTIONS: Final[Mapping[str, str]] = {
    "sources": "Sources",
    "rules": "Rules",
    "examples": "Examples",
    "lengths": "Lengths",
    "mixture": "Mixture",
    "subwords": "Subwords",
    "tokens": "Tokens",
    "versions": "Made with",
}


@dataclass(frozen=True)
class _SourceRow:
    """Pairs of a source, or of all."""

    title: str
    read: int
    train: int
    validation: int
    test: int

    @property
    def out(self) -> int:
        return self.train + self.validation + self.test

    @property
    def dropped(self) -> int:
        return self.read - self.out

    def share(self, count: int) -> float:
        return count / max(self.read, 1)

    @property
    def bar(self) -> Markup:
        held = self.validation + self.test
        parts = (("train", self.train), ("held", held), ("gone", self.dropped))
        return bar([(style, self.share(count)) for style, count in parts])


class _RuleRow(NamedTuple):
    """What a rule dropped."""

    name: str
    meaning: str
    counts: Sequence[int]
    """Of each source."""
    total: int
    examples: Sequence[tuple[str, Example]]
    """With the title of the source that each is from."""


def preparation_page(
    corpus: CorpusReport,
    subwords: Sequence[SubwordTable],
    lengths: Sequence[LengthReport],
    *,
    max_length: int,
    mixture: Sequence[MixtureRow],
) -> str:
    """Return one self-contained HTML page, in which no text of the corpus is taken for markup.

    Args:
        max_length: tokens of the longest side that is trained on.
    """
    titles = corpus.source_titles()
    rules = list(_rule_rows(corpus, titles))
    charts = list(_charts(corpus, titles))
    missing = {name for name, shown in (("examples", rules), ("lengths", charts)) if not shown}
    return render_page(
        "preparation.html.j2",
        title="Preparation report",
        sections=[(identity, heading) for identity, heading in _SECTIONS.items() if identity not in missing],
        version=translator.__version__,
        corpus=corpus,
        total=_total(corpus.sources),
        sources=[_source_row(title, source) for title, source in zip(titles, corpus.sources, strict=True)],
        rules=rules,
        idle_rules=[(rule, MEANINGS[rule]) for rule in RULES if rule not in corpus.rules_used()],
        charts=charts,
        mixture=[(row, bar([("train", row.share)])) for row in mixture],
        subwords=subwords,
        max_length=max_length,
        lengths=lengths,
    )


def _source_row(title: str, source: SourceReport) -> _SourceRow:
    kept = source.kept
    return _SourceRow(title, source.read, kept["train"], kept["validation"], kept["test"])


def _total(sources: Sequence[SourceReport]) -> _SourceRow:
    rows = [_source_row("total", source) for source in sources]
    return _SourceRow(
        "total",
        read=sum(row.read for row in rows),
        train=sum(row.train for row in rows),
        validation=sum(row.validation for row in rows),
        test=sum(row.test for row in rows),
    )


def _rule_rows(corpus: CorpusReport, titles: Sequence[str]) -> Iterator[_RuleRow]:
    for rule in corpus.rules_used():
        counts = [source.dropped[rule] for source in corpus.sources]
        examples = [
            (title, example)
            for title, source in zip(titles, corpus.sources, strict=True)
            for example in source.examples.get(rule, ())
        ]
        yield _RuleRow(rule, MEANINGS[rule], counts, sum(counts), examples)


def _charts(corpus: CorpusReport, titles: Sequence[str]) -> Iterator[SourceCharts]:
    for number, (title, source) in enumerate(zip(titles, corpus.sources, strict=True), start=1):
        if source.statistics.pairs:
            yield source_charts(f"source-{number}", title, source.statistics)
