"""The preparation report: a complete page that shows hostile text harmlessly."""

import dataclasses
import re
from collections import Counter

import pytest

from tests.support.html_page import BIDI_CONTROLS, Page, harmless
from translator.corpus.preparation_counts import MEANINGS, CorpusReport, Example, SourceReport
from translator.data.handler import LengthReport
from translator.data.mixture import MixtureRow
from translator.data.preparation_report import PreparationReport, SubwordTable

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></details></main><iframe src=//example.org>",
    "{{ 7 * 7 }}{% raw %}",
    f"a{BIDI_CONTROLS}b",
)


def source(name: str, examples: dict[str, list[Example]], kept: dict[str, int], **dropped: int) -> SourceReport:
    """A source with these numbers of pairs by split, and of dropped ones by rule."""
    read = sum(kept.values()) + sum(dropped.values())
    return SourceReport(name, "auto", read, dropped=Counter(dropped), kept=Counter(kept), examples=examples)


def lengths_of(name: str) -> LengthReport:
    return LengthReport(
        split="train",
        name=name,
        pairs=1234,
        over_long=3,
        longest=300,
        source_tokens=20_000,
        target_tokens=21_000,
    )


def report(texts: tuple[str, ...] = ("plain",)) -> PreparationReport:
    """A report with `texts` wherever a corpus or a recipe can put its own: names, examples, kinds of models."""
    examples = [Example(line, text, text) for line, text in enumerate(texts, start=1)]
    corpus = CorpusReport(
        fingerprint="ab" * 32,
        normalizer_version=2,
        prepare_version=3,
        sources=[
            source(texts[0], {"length_ratio": examples}, {"train": 1234, "test": 10}, length_ratio=6, duplicate=1),
            source("tatoeba", {"invalid_utf8": [Example(7, "", "")]}, {"train": 300, "validation": 20}, invalid_utf8=1),
        ],
        test_sets=[source(texts[1 % len(texts)], {}, {"test": 1012})],
    )
    english = SubwordTable(
        side="English",
        model=texts[-1],
        vocabulary_size=8000,
        pieces=1300,
        words=1000,
        pieces_per_word=1.3,
        unknown=0,
        byte_pieces=2,
    )
    return PreparationReport(
        corpus=corpus,
        subwords=(english, dataclasses.replace(english, side="Persian")),
        lengths=[lengths_of(name) for name in texts],
        max_length=256,
        mixture=[MixtureRow(name=name, pairs=1234, weight=2.0, share=0.5, drawn=1500) for name in texts],
    )


def test_hostile_text_appears_as_text() -> None:
    page = harmless(report(HOSTILE).page(), scripts=0)
    for text in HOSTILE[:-1]:
        assert page.text.count(text) >= 2, text  # as example on both sides


def test_bidi_controls_appear_by_name() -> None:
    titles = harmless(report(HOSTILE).page(), scripts=0).titles
    assert {"right-to-left override (U+202E)", "pop directional isolate (U+2069)"} <= set(titles)


def test_the_page_loads_nothing() -> None:
    html = report(HOSTILE).page()
    assert "default-src 'none'" in harmless(html, scripts=0).of("meta")[1]["content"]
    assert not re.search(r"(?:src|href)=\"?https?:|@import", html)


@pytest.mark.parametrize(
    "expected",
    [
        "1,572 sentence pairs of 2 sources",
        "1,564 99.5%",
        "plain 1,251 7 0.6% 1,234 0 10",
        "total 1,572 8 0.5% 1,534 20 10",
        f"length_ratio {MEANINGS['length_ratio']} 6 0.5% 0 6 0.4%",
        "tatoeba: 1 dropped by invalid_utf8, line 7",
        "plain, line 1",
        "tatoeba, line 7 no text no text",
        "the test set plain (1,012 pairs).",
        "more than 256 tokens",
        "English plain 8,000 1,000 1,300 1.300 2 0.2% 0",
        "plain 50.0% 1,234 2 1,500 1.22 times",
        "ab" * 32,
    ],
)
def test_the_page_shows_each_fact(expected: str) -> None:
    assert expected in " ".join(Page(report().page()).text.split())


def test_an_uneven_mixture_is_a_table_of_its_own() -> None:
    assert report().tables().count("mixture of an epoch") == 1
    even = [dataclasses.replace(row, drawn=row.pairs) for row in report().mixture]
    assert "mixture of an epoch" not in dataclasses.replace(report(), mixture=even).tables()
