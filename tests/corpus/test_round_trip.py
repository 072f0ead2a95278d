"""What is written as a table or a translation memory is read as the same pairs, whatever the texts."""

import csv
import html
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpora import Rows, one_file
from translator.corpus.reading.pairs import read_pairs

TEXT = st.text('abAB گل،,;"<&\n\t.\u200c\u2028', min_size=1, max_size=12).filter(lambda text: text.strip() != "")


def csv_of(rows: Rows) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([("en", "fa"), *rows])
    return stream.getvalue()


def json_lines_of(rows: Rows) -> str:
    lines = [json.dumps({"id": 1, "translation": {"en": source, "fa": target}}) for source, target in rows]
    return "\n".join(lines)


def tmx_of(rows: Rows) -> str:
    units = []
    for texts in rows:
        english, persian = (html.escape(text) for text in texts)
        variants = f'<tuv xml:lang="en"><seg>{english}</seg></tuv><tuv xml:lang="fa"><seg>{persian}</seg></tuv>'
        units.append(f"<tu>{variants}</tu>")
    return f"<tmx><body>{''.join(units)}</body></tmx>"


@pytest.mark.parametrize("suffix, write", [("csv", csv_of), ("jsonl", json_lines_of), ("tmx", tmx_of)])
@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.tuples(TEXT, TEXT), max_size=8))
def test_written_pairs_are_read(rows: Rows, suffix: str, write: Callable[[Rows], str]) -> None:
    rows = [("English.", "فارسی."), *rows, ("The end.", "پایان.")] * 2
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(read_pairs(one_file(Path(folder) / f"x.{suffix}", write(rows).encode())))
    # A line end in a text becomes a space.
    texts_read = [(pair.source.split(), pair.target.split()) for pair in pairs]
    assert texts_read == [(source.split(), target.split()) for source, target in rows]
    assert not any(pair.defect or "\n" in pair.source + pair.target for pair in pairs)
