"""Every output format can be read back."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from translator.inference.alignment import AttentionMap
from translator.inference.files.output_formats import OutputForm
from translator.inference.translation import Translation

SECOND = Translation("در را", score=-2.0, normalized_score=-1.0, tokens=3, pieces=1, finished=False)
ALIGNED = Translation(
    "در باز",
    score=-1.0,
    normalized_score=-math.inf,
    tokens=3,
    pieces=1,
    finished=True,
    attention=(AttentionMap(["▁a", "▁door"], ["▁در", "▁باز"], np.array([[0.25, 0.75]] * 2, dtype=np.float32)),),
)


FORMS = {
    "text": OutputForm(count=3),
    "tsv": OutputForm("tsv"),
    "tsv with scores": OutputForm("tsv", scores=True, alignment=True),
    "jsonl": OutputForm("jsonl", count=2),
    "jsonl with scores": OutputForm("jsonl", scores=True, alignment=True, attention=True),
}
EXPECTED = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"))["output_formats"]


@pytest.mark.parametrize("name", FORMS)
def test_a_form_shows_what_was_requested(name: str) -> None:
    assert FORMS[name].lines(7, ["x", "a door"], [[SECOND], [ALIGNED, SECOND]]) == EXPECTED[name]


def unescape(cell: str) -> str:
    escapes = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
    return re.sub(r"\\u....|\\.", lambda escape: escapes.get(escape[0]) or chr(int(escape[0][2:], 16)), cell)


BREAKING = st.sampled_from("\t\n\r\\\x0b\x0c\x1c\x85\u2028\u2029u")


@given(st.text(st.characters(exclude_categories=["Cs"]) | BREAKING, max_size=30))
def test_any_source_text_stays_in_one_tsv_row_and_one_json_line(source: str) -> None:
    (row,) = OutputForm("tsv").lines(1, [source], [[SECOND]])
    (line,) = OutputForm("jsonl").lines(1, [source], [[SECOND]])
    assert len(row.splitlines()) == len(line.splitlines()) == 1
    cells = row.split("\t")
    assert len(cells) == 4
    assert unescape(cells[2]) == json.loads(line)["source"] == source
