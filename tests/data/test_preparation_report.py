"""The report of a preparation: a page that keeps hostile text harmless, tells everything, and never changes."""

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from translator.corpus.examples import Example
from translator.corpus.filters import MEANINGS
from translator.corpus.report import RULES, CorpusReport, SourceReport, TestSetReport, format_report
from translator.corpus.statistics import TextStatistics
from translator.data.length_report import LengthReport
from translator.data.mixture import MixtureRow
from translator.data.preparation_report import PreparationReport, write_preparation_report
from translator.errors import StorageError
from translator.subword.report import SubwordTable

BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></details></main><iframe src=//example.org>",
    "{{ 7 * 7 }}{% raw %}",
    f"a{BIDI_CONTROLS}b",
)
VOID = {"meta", "img", "br", "wbr", "link", "input"}


class Page(HTMLParser):
    """A page as a browser takes it: its elements, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.rows: list[list[str]] = []
        """The cells of each table's rows, white space folded."""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.text += " " if tag in ("td", "dd", "p", "figcaption") else ""
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
        if "tr" in self.open and ("td" in self.open or "th" in self.open):
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def source(name: str, examples: dict[str, tuple[Example, ...]], **counts: int) -> SourceReport:
    statistics = TextStatistics.of(["The door is open."] * 4, ["در باز است."] * 3 + ["نمی\u200cدانم."])
    kept = {split: counts.pop(split, 0) for split in ("train", "validation", "test")}
    dropped = {rule: counts.pop(rule, 0) for rule in RULES}
    read = sum(kept.values()) + sum(dropped.values())
    return SourceReport(name, "auto", read, dropped, kept, examples, statistics)


def report(hostile: tuple[str, ...] = ("plain",)) -> PreparationReport:
    examples = tuple(Example(line, text, text) for line, text in enumerate(hostile, start=1))
    sources = (
        source(hostile[0], {"length_ratio": examples}, train=1234, test=10, length_ratio=6, duplicate=1),
        source("tatoeba", {"invalid_utf8": (Example(7, "", ""),)}, train=300, validation=20, invalid_utf8=1),
    )
    table = SubwordTable("English", hostile[-1], 8000, 1300, 1000, 1.3, 0.99999, 0, 2, hostile)
    return PreparationReport(
        corpus=CorpusReport("ab" * 32, 2, 3, sources, (TestSetReport(hostile[1 % len(hostile)], 1012),)),
        subwords=(table, dataclasses.replace(table, side="Persian")),
        lengths=[LengthReport("train", name, 1234, 3, 300, 20_000, 21_000) for name in hostile],
        max_length=256,
        mixture=[MixtureRow(name, 1234, 2.0, 0.5, 1500) for name in hostile],
    )


def test_hostile_text_does_nothing() -> None:
    html = report(HOSTILE).page()
    page = Page(html)
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "img", "iframe", "object", "embed", "link", "base"})
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name in ("src", "style", "srcset", "action") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not any(control in html for control in BIDI_CONTROLS)
    for text in HOSTILE[:-1]:
        assert page.text.count(text) >= 5, text  # as example on both sides, as piece, as name
    marked = page.text.count("aALMLRMRLMLRERLEPDFLRORLOLRIRLIFSIPDIb")
    assert marked == 4  # as example on both sides, and as piece of both


def test_marks_tell_what_they_stand_for() -> None:
    titles = {attributes["title"] for attributes in Page(report(HOSTILE).page()).of("bdi") if "title" in attributes}
    assert {"right-to-left override (U+202E)", "pop directional isolate (U+2069)"} <= titles


def test_nothing_is_asked_of_the_network() -> None:
    html = report().page()
    assert "default-src 'none'" in Page(html).of("meta")[1]["content"]
    assert not re.search(r"https?:|url\(|@import|//", html)


def test_each_side_stands_in_its_language_and_direction() -> None:
    texts = [attributes for attributes in Page(report().page()).of("p") if attributes.get("class") == "text"]
    assert [(text["lang"], text["dir"]) for text in texts] == [("en", "ltr"), ("fa", "rtl")]
    pieces = [item["dir"] for item in Page(report().page()).of("li") if "lang" in item]
    assert pieces == ["ltr", "rtl"]


def test_it_tells_what_happened() -> None:
    page = Page(report().page())
    told = " ".join(page.text.split())
    for expected in (
        "1,572 sentence pairs of 2 sources",
        "1,564 99.5%",
        MEANINGS["length_ratio"],
        "plain, line 1",
        "tatoeba, line 7 no text no text",
        "the test set plain (1,012 pairs).",
        "more than 256 tokens",
        "English plain 8,000 1,000 1,300 1.300 99.999% 2 0.2% 0",
        "plain 50.0% 1,234 2 1,500 1.22 times",
        "4.0 on average, median 4, 95% up to 4. Persian: 2.5 on average, median 3",
        "25.0% of the Persian sides have a ZWNJ",
        "ab" * 32,
    ):
        assert expected in told, expected
    assert f"{len(RULES) - 3} rules dropped nothing" in told
    assert len(page.of("svg")) == 4 + 2 + 1 + 1  # charts, and bars of sources, of all, and of the mixture


def test_page_terminal_and_json_tell_the_same_counts() -> None:
    whole = report()
    rows = {row[0]: row[1:] for row in reversed(Page(whole.page()).rows)}  # the first table that names a source
    terminal = {
        words[0]: words[1:]
        for line in format_report(whole.corpus).replace("dropped: ", "").splitlines()
        if (words := [word for word in line.split() if not word.endswith("%")])
    }
    names = [*whole.corpus.source_titles(), "total"]
    assert terminal["pairs"] == names
    assert rows["rule"] == ["total", *names[:-1]]
    for rule in whole.corpus.rules_used():
        name = rule.replace("_", "_ ")  # the page lets the line end there
        told = next(cells for label, cells in rows.items() if label.startswith(f"{name} "))
        counts = [cell.split()[0] for cell in told]
        assert [*counts[1:], counts[0]] == terminal[rule] == _with_sum([s.dropped[rule] for s in whole.corpus.sources])
    for number, title in enumerate(names):
        read, dropped, *splits = (int(cell.split()[0].replace(",", "")) for cell in rows[title][1:])
        assert read == dropped + sum(splits)
        assert f"{read:,}" == terminal["in"][number]
        assert [f"{count:,}" for count in splits] == [
            terminal[name][number] for name in ("train", "validation", "test")
        ]
        assert terminal["out"][number] == f"{sum(splits):,}"


def _with_sum(counts: list[int]) -> list[str]:
    return [f"{count:,}" for count in [*counts, sum(counts)]]


def test_links_lead_somewhere_and_names_are_used_once() -> None:
    page = Page(report(HOSTILE).page())
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for _, attributes in page.elements:
        for reference in (attributes.get("href", "")[1:], *attributes.get("aria-labelledby", "").split()):
            assert not reference or reference in identities


def test_nothing_dropped_and_nothing_to_train_on() -> None:
    only = dataclasses.replace(source("set", {}, test=5), statistics=TextStatistics.of([], []))
    corpus = dataclasses.replace(report().corpus, sources=(only,), test_sets=())
    page = Page(dataclasses.replace(report(), corpus=corpus, lengths=[], mixture=[]).page())
    assert "Nothing was dropped." in page.text
    assert "5 sentence pairs of 1\nsource " in page.text
    links = [attributes["href"] for attributes in page.of("a")]
    assert "#examples" not in links
    assert "#lengths" not in links


def test_both_files_are_written_and_never_differ(tmp_path: Path) -> None:
    values, html = write_preparation_report(report(HOSTILE), tmp_path / "new")
    assert (values.name, html.name) == ("report.json", "report.html")
    first = values.read_bytes(), html.read_bytes()
    write_preparation_report(report(HOSTILE), tmp_path / "new")
    assert (values.read_bytes(), html.read_bytes()) == first
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["report.html", "report.json"]
    told = json.loads(values.read_text(encoding="utf-8"))
    assert CorpusReport.from_json(told["corpus"]) == report(HOSTILE).corpus
    assert told["mixture"][0] == {"name": HOSTILE[0], "pairs": 1234, "weight": 2.0, "share": 0.5, "drawn": 1500}
    assert told["subwords"][1]["longest"] == list(HOSTILE)
    assert (told["max_length"], told["lengths"][0]["over_long"]) == (256, 3)


def test_a_folder_that_is_a_file_is_the_users_matter(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(StorageError, match="cannot write"):
        write_preparation_report(report(), tmp_path / "file")
