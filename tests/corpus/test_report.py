"""Counts that add up, survive JSON, and can be read."""

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.examples import Example
from translator.corpus.filters import MEANINGS
from translator.corpus.report import RULES, CorpusReport, SourceReport, TestSetReport, format_report
from translator.corpus.statistics import TextStatistics

STATISTICS = TextStatistics.of(["The door is open.", "No."], ["در باز است.", "نمی\u200cدانم."])
EXAMPLES = {"empty": (Example(3, "", "سلام"), Example(9, "\u202eHello", "")), "duplicate": (Example(4, "a", "ب"),)}


def source(name: str, use: str, read: int, **counts: int) -> SourceReport:
    kept = {split: counts.pop(split, 0) for split in ("train", "validation", "test")}
    return SourceReport(
        name=name,
        use=use,
        read=read,
        dropped={rule: counts.pop(rule, 0) for rule in RULES},
        kept=kept,
        examples=EXAMPLES,
        statistics=STATISTICS,
    )


REPORT = CorpusReport(
    fingerprint="ab" * 32,
    normalizer_version=1,
    prepare_version=1,
    sources=(
        source("mizan", "auto", 2000, train=1700, validation=100, test=100, empty=60, duplicate=40),
        source("sample", "train", 10, train=9, source_held_out=1),
        source("sample", "test", 5, test=5),
    ),
    test_sets=(TestSetReport("flores", 1012),),
)


def through_json(values: Any) -> Any:
    return json.loads(json.dumps(values))


def test_every_rule_has_a_meaning() -> None:
    assert set(RULES) <= set(MEANINGS)
    assert len(set(RULES)) == len(RULES)


def test_json_and_back() -> None:
    assert CorpusReport.from_json(through_json(REPORT.to_json())) == REPORT


@settings(deadline=None)
@given(
    st.lists(st.builds(Example, st.integers(1), *[st.text(st.characters(exclude_categories=["Cs"]))] * 2), max_size=3),
)
def test_any_example_survives_json(examples: list[Example]) -> None:
    part = dataclasses.replace(REPORT.sources[0], examples={"markup": tuple(examples)})
    report = dataclasses.replace(REPORT, sources=(part,))
    assert CorpusReport.from_json(through_json(report.to_json())) == report


def damage(values: Any, path: list[str | int], new: Any) -> Any:
    """Return `values` with that at `path` replaced, or removed where the new one is `KeyError`."""
    inside = values
    for key in path[:-1]:
        inside = inside[key]
    if new is KeyError:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return values


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (["fingerprint"], 3),
        (["fingerprint"], KeyError),
        (["sources"], {}),
        (["sources"], None),
        (["sources", 0], []),
        (["sources", 0, "statistics"], KeyError),
        (["sources", 0, "examples"], ["empty"]),
        (["sources", 0, "examples", "empty", 0, "line"], "third"),
        (["sources", 0, "read"], -1),
        (["sources", 0, "dropped", "empty"], None),
        (["sources", 0, "dropped", "empty"], KeyError),
        (["sources", 0, "dropped", "invented"], 0),
        (["sources", 0, "kept", "test"], KeyError),
        (["test_sets", 0, "pairs"], "all"),
    ],
    ids=str,
)
def test_damaged_values_are_refused(path: list[str | int], new: Any) -> None:
    with pytest.raises(ValueError, match=r"CorpusReport|other counts"):
        CorpusReport.from_json(damage(through_json(REPORT.to_json()), path, new))


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part))
)
def test_other_json_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="CorpusReport"):
        CorpusReport.from_json(values)


def test_kept_adds_up_what_has_one_name() -> None:
    assert REPORT.kept("train", "sample") == 9
    assert REPORT.kept("test", "sample") == 5
    assert REPORT.kept("validation", "mizan") == 100
    assert REPORT.kept("train", "nobody") == 0


def test_table() -> None:
    lines = format_report(REPORT).splitlines()
    assert lines[0].split("  ")[0] == "pairs"
    assert "sample (train)" in lines[0]
    assert "sample (test)" in lines[0]
    rows = {line.split("  ")[0] or line.split("  ")[1]: line for line in lines}
    assert rows["in"].split()[1:] == ["2,000", "10", "5", "2,015"]
    assert rows["out"].split()[1:] == ["1,900", "95.0%", "9", "90.0%", "5", "100.0%", "1,914", "95.0%"]
    assert rows["train"].split()[1:] == ["1,700", "85.0%", "9", "90.0%", "0", "1,709", "84.8%"]
    assert rows["dropped: empty"].split()[2:] == ["60", "3.0%", "0", "0", "60", "3.0%"]
    assert rows["dropped: source_held_out"].split()[2:] == ["0", "1", "10.0%", "0", "1", "<0.1%"]
    assert lines[-1] == "kept out of training: test set flores, 1,012 pairs"


def test_table_leaves_out_rules_that_dropped_nothing() -> None:
    shown = [line.split()[1] for line in format_report(REPORT).splitlines() if "dropped:" in line]
    assert shown == REPORT.rules_used() == ["empty", "duplicate", "source_held_out"]
    assert set(REPORT.to_json()["sources"][0]["dropped"]) == set(RULES)


def test_columns_stand_under_one_another() -> None:
    lines = format_report(dataclasses.replace(REPORT, test_sets=())).splitlines()
    ends = {line.find("2,000") + 5 for line in lines if "2,000" in line} | {
        line.find(count) + len(count) for line in lines for count in ("1,700", "1,900") if count in line
    }
    assert len(ends) == 1


def test_one_source_needs_no_total() -> None:
    table = format_report(dataclasses.replace(REPORT, sources=REPORT.sources[:1], test_sets=()))
    assert "total" not in table
    assert "2,000" in table
