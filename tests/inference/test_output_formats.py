"""Every output format can be read back."""

import json
import math
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from translator.inference.alignment import Alignment, AttentionMap
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
    alignment=Alignment(source=("a", "door"), target=("در", "باز"), pairs=((1, 0), (1, 1))),
    attention=(AttentionMap(["▁a", "</s>"], ["▁در"], np.array([[0.25, 0.75]], dtype=np.float32)),),
)


def test_text_and_tsv_show_requested_columns() -> None:
    both = [ALIGNED, SECOND]
    assert OutputForm(count=3).lines(7, ["a door"], [both]) == ["در باز", "در را", ""]
    assert OutputForm("tsv", scores=True, alignment=True).lines(7, ["x", "a door"], [[SECOND], both]) == [
        "7\t1\tx\tدر را\t-2.000000\t-1.000000\t",
        "8\t1\ta door\tدر باز\t-1.000000\t-inf\t1-0 1-1",
        "8\t2\ta door\tدر را\t-2.000000\t-1.000000\t",
    ]


def test_json_lines_have_every_requested_field() -> None:
    (line,) = OutputForm("jsonl", scores=True, alignment=True, attention=True).lines(7, ["a door"], [[ALIGNED]])
    assert ALIGNED.text in line, "Persian stays readable"
    assert json.loads(line) == {
        "line": 7,
        "source": "a door",
        "translations": [
            {
                "text": ALIGNED.text,
                "score": -1.0,
                "normalized_score": None,  # JSON has no infinity
                "tokens": 3,
                "pieces": 1,
                "finished": True,
                "alignment": {"source": ["a", "door"], "target": ["در", "باز"], "pairs": [[1, 0], [1, 1]]},
                "attention": [{"source": ["▁a", "</s>"], "target": ["▁در"], "weights": [[0.25, 0.75]]}],
            }
        ],
    }
    (line,) = OutputForm("jsonl").lines(7, ["a door"], [[ALIGNED]])
    assert json.loads(line)["translations"] == [{"text": ALIGNED.text}]


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
