"""Every output format can be read back."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.inference.alignment import Alignment, AttentionMap
from translator.inference.files.output_formats import OutputForm
from translator.inference.translation import Translation

BEST = Translation("در باز است.", score=-1.5, normalized_score=-0.75, tokens=5, pieces=1, finished=True)
SECOND = Translation("در را", score=-2.0, normalized_score=-1.0, tokens=3, pieces=1, finished=False)
ATTENTION = AttentionMap(
    source=["▁a", "</s>"],
    target=["▁در"],
    weights=np.array([[0.25, 0.75]], dtype=np.float32),
)
ALIGNED = Translation(
    "در باز",
    score=-1.0,
    normalized_score=-0.5,
    tokens=3,
    pieces=1,
    finished=True,
    alignment=Alignment(source=("a", "door"), target=("در", "باز"), pairs=((1, 0), (1, 1))),
    attention=(ATTENTION,),
)


@pytest.mark.parametrize(
    ("form", "translations", "expected"),
    [
        (OutputForm(count=3), [BEST, SECOND], [BEST.text, SECOND.text, ""]),
        (OutputForm("tsv", count=2), [BEST, SECOND], [f"7\t1\ta door\t{BEST.text}", f"7\t2\ta door\t{SECOND.text}"]),
        (
            OutputForm("tsv", scores=True, alignment=True),
            [ALIGNED],
            ["7\t1\ta door\tدر باز\t-1.000000\t-0.500000\t1-0 1-1"],
        ),
    ],
)
def test_text_and_tsv_show_requested_columns(
    form: OutputForm, translations: list[Translation], expected: list[str]
) -> None:
    assert form.render(7, "a door", translations) == expected


SCORES = {"score": -1.0, "normalized_score": -0.5, "tokens": 3, "pieces": 1, "finished": True, "precision": "float32"}
LOOKS = {
    "alignment": {"source": ["a", "door"], "target": ["در", "باز"], "pairs": [[1, 0], [1, 1]]},
    "attention": [{"source": ["▁a", "</s>"], "target": ["▁در"], "weights": [[0.25, 0.75]]}],
}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (OutputForm("jsonl"), {}),
        (OutputForm("jsonl", scores=True), SCORES),
        (OutputForm("jsonl", alignment=True, attention=True), LOOKS),
    ],
)
def test_jsonl_form_renders_the_requested_fields(form: OutputForm, expected: dict[str, object]) -> None:
    (line,) = form.render(7, "a door", [ALIGNED])
    translations = [{"text": ALIGNED.text, **expected}]
    assert json.loads(line) == {"line": 7, "source": "a door", "translations": translations}
    assert ALIGNED.text in line, "Persian stays readable"


def unescape(cell: str) -> str:
    escapes = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}

    def character(escape: re.Match[str]) -> str:
        return escapes.get(escape[0]) or chr(int(escape[0][2:], 16))

    return re.sub(r"\\u....|\\.", character, cell)


BREAKING = st.sampled_from("\t\n\r\\\x0b\x0c\x1c\x85\u2028\u2029u")


@given(st.text(st.characters(exclude_categories=["Cs"]) | BREAKING, max_size=30))
def test_any_source_text_stays_in_one_tsv_row_and_one_json_line(source: str) -> None:
    (row,) = OutputForm("tsv").render(1, source, [BEST])
    (line,) = OutputForm("jsonl").render(1, source, [BEST])
    assert len(row.splitlines()) == len(line.splitlines()) == 1
    cells = row.split("\t")
    assert len(cells) == 4
    assert unescape(cells[2]) == json.loads(line)["source"] == source


def test_infinite_scores_become_null_in_json() -> None:
    translation = replace(BEST, score=-math.inf, normalized_score=-math.inf)
    record = translation.to_json()
    assert record["score"] is None
    assert record["normalized_score"] is None
