"""Counts of a corpus: through JSON, damaged, and as a table."""

import dataclasses
import json

import pytest

from translator.corpus.report import (
    RULES,
    CorpusReport,
    Example,
    SourceReport,
    TestSetReport,
)

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


def test_json_and_back_and_damaged() -> None:
    values = json.loads(json.dumps(REPORT.to_json()))
    assert CorpusReport.from_json(values) == REPORT
    for key, new in (("fingerprint", None), ("sources", {}), ("sources", [{"name": "mizan"}])):
        with pytest.raises(ValueError, match="CorpusReport"):
            CorpusReport.from_json({**values, key: new})


@pytest.mark.parametrize(
    ("train", "validation", "test", "told"),
    [
        (1000, 1000, 1000, "of 3,000 pairs, 1,000 for validation and 1,000 for test are held out, which leaves 1,000"),
        (70, 5, 25, "of 100 pairs, 25 for test are held out, which leaves 70 for training; set corpus.split.test to"),
        (60, 20, 20, None),
    ],
)
def test_a_split_of_more_than_a_fifth_warns(train: int, validation: int, test: int, told: str | None) -> None:
    divided = source("small", "auto", 0, train=train, validation=validation, test=test)
    whole = source("named", "test", 0, test=5000)
    warning = dataclasses.replace(REPORT, sources=(divided, whole)).split_warning()
    assert warning is None if told is None else warning is not None and warning.startswith(told)
    assert dataclasses.replace(REPORT, sources=(whole,)).split_warning() is None
