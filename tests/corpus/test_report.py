"""Counts that add up, survive JSON, and can be read."""

import json

from translator.corpus.report import RULES, CorpusReport, SourceReport, TestSetReport, format_report


def source(name: str, use: str, read: int, **counts: int) -> SourceReport:
    kept = {split: counts.pop(split, 0) for split in ("train", "validation", "test")}
    return SourceReport(name, use, read, {rule: counts.pop(rule, 0) for rule in RULES}, kept)


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


def test_json_and_back() -> None:
    assert CorpusReport.from_json(json.loads(json.dumps(REPORT.to_json()))) == REPORT


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
    assert rows["read"].split()[1:] == ["2,000", "10", "5", "2,015"]
    assert rows["train"].split()[1:] == ["1,700", "85.0%", "9", "90.0%", "0", "1,709", "84.8%"]
    assert rows["dropped: empty"].split()[2:] == ["60", "3.0%", "0", "0", "60", "3.0%"]
    assert all(any(rule in line for line in lines) for rule in RULES)
    assert lines[-1] == "kept out of training: test set flores, 1,012 pairs"


def test_one_source_needs_no_total() -> None:
    table = format_report(CorpusReport("x", 1, 1, REPORT.sources[:1], ()))
    assert "total" not in table
    assert "2,000" in table
