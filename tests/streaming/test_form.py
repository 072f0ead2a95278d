"""What is written for a text can be read back, whatever is in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.errors import InputError
from translator.inference import Alignment, AttentionMap, Translation
from translator.streaming import OutputForm

BEST = Translation("در باز است.", -1.5, -0.75, 5, 1, True)
SECOND = Translation("در را", -2.0, -1.0, 3, 1, False)
ALIGNED = Translation("در باز", -1.0, -0.5, 3, 1, True, Alignment(("a", "door"), ("در", "باز"), ((1, 0), (1, 1))))
UNESCAPED = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


def test_plain_text() -> None:
    assert OutputForm().render(7, "The door.", [BEST]) == [BEST.text]
    assert OutputForm(count=3).render(7, "The door.", [BEST, SECOND]) == [BEST.text, SECOND.text, ""]


def test_columns() -> None:
    assert OutputForm("tsv", count=2).render(7, "The door.", [BEST, SECOND]) == [
        f"7\t1\tThe door.\t{BEST.text}",
        f"7\t2\tThe door.\t{SECOND.text}",
    ]
    assert OutputForm("tsv", scores=True, alignment=True).render(1, "a door", [ALIGNED]) == [
        "1\t1\ta door\tدر باز\t-1.000000\t-0.500000\t1-0 1-1"
    ]


def test_objects() -> None:
    (line,) = OutputForm("jsonl", count=2).render(7, "The door.", [BEST, SECOND])
    assert json.loads(line) == {
        "line": 7,
        "source": "The door.",
        "translations": [{"text": BEST.text}, {"text": SECOND.text}],
    }
    assert BEST.text in line, "Persian stays readable"
    (line,) = OutputForm("jsonl", scores=True).render(7, "The door.", [BEST])
    assert json.loads(line)["translations"] == [
        {"text": BEST.text, "score": -1.5, "normalized_score": -0.75, "tokens": 5, "pieces": 1, "finished": True}
    ]
    (line,) = OutputForm("jsonl", alignment=True).render(7, "a door", [ALIGNED])
    assert json.loads(line)["translations"] == [
        {
            "text": "در باز",
            "alignment": {"source": ["a", "door"], "target": ["در", "باز"], "pairs": [[1, 0], [1, 1]]},
        }
    ]


def test_attention_in_an_object() -> None:
    import numpy as np

    seen = AttentionMap(["▁a", "</s>"], ["▁در"], np.array([[0.25, 0.75]], dtype=np.float32))
    translation = Translation("در", -1.0, -0.5, 1, 1, False, None, (seen,))
    (line,) = OutputForm("jsonl", attention=True).render(1, "a", [translation])
    assert json.loads(line)["translations"] == [
        {"text": "در", "attention": [{"source": ["▁a", "</s>"], "target": ["▁در"], "weights": [[0.25, 0.75]]}]}
    ]


def unescape(cell: str) -> str:
    text, rest = "", cell
    while rest:
        if rest.startswith("\\u"):
            text, rest = text + chr(int(rest[2:6], 16)), rest[6:]
        elif rest.startswith("\\"):
            text, rest = text + UNESCAPED[rest[:2]], rest[2:]
        else:
            text, rest = text + rest[0], rest[1:]
    return text


@given(st.text(st.characters() | st.sampled_from("\t\n\r\\\x0b\x0c\x1c\x85\u2028\u2029u"), max_size=30))
def test_no_text_breaks_a_row_or_an_object(source: str) -> None:
    (row,) = OutputForm("tsv").render(1, source, [BEST])
    (line,) = OutputForm("jsonl").render(1, source, [BEST])
    assert len(row.splitlines()) == len(line.splitlines()) == 1
    cells = row.split("\t")
    assert len(cells) == 4
    sound = source.encode("utf-8", "replace").decode("utf-8")
    assert unescape(cells[2]) == json.loads(line)["source"] == sound


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (OutputForm(count=0), "--n-best 0: a text has at least one translation"),
        (OutputForm(scores=True), "--scores has no place in plain text; add --format tsv or --format jsonl"),
        (OutputForm(alignment=True), "--alignment has no place in plain text"),
        (OutputForm(attention=True), "--attention, a matrix, has no place in --format text; add --format jsonl"),
        (OutputForm("tsv", attention=True), "no place in --format tsv"),
    ],
)
def test_what_a_format_cannot_hold(form: OutputForm, message: str) -> None:
    with pytest.raises(InputError, match=message):
        form.check()
