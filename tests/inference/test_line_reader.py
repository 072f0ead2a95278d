"""Lines are read in chunks whatever the size of each read, and no line may exhaust memory."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.pipes import pipe_with
from translator.errors import InputError
from translator.inference.files import line_reader
from translator.inference.files.line_reader import Chunk, Pace, joined_chunks, read_lines

BOM = b"\xef\xbb\xbf"


def texts_of(chunks: list[Chunk]) -> list[str]:
    texts = []
    for chunk in chunks:
        texts += chunk.texts
    return texts


@settings(deadline=None, max_examples=50)
@given(
    content=st.lists(st.sampled_from([b"\n", b"\r", BOM, b"ab", "گل".encode()])).map(b"".join), size=st.integers(1, 7)
)
def test_the_size_of_each_read_does_not_change_the_lines(content: bytes, size: int) -> None:
    with pipe_with(content) as whole, pipe_with(content) as parts:
        chunks = list(read_lines(whole))
        small_chunks = list(read_lines(parts, pace=Pace(1, 2, size)))
    assert texts_of(small_chunks) == texts_of(chunks)
    for chunk in small_chunks:
        assert len(chunk.texts) <= 2
    for chunk, following in pairwise(small_chunks):
        assert chunk.first_line + len(chunk.texts) == following.first_line


@pytest.mark.parametrize("end", [b"\n", b"", b"\nc\n"])
def test_lines_up_to_the_limit_pass_and_longer_ones_are_refused(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "LONGEST_LINE", 8)
    with pipe_with(b"a\n" + b"b" * 8 + b"\n" + b"b" * 9 + end) as source:
        chunks = read_lines(source, pace=Pace(1, 1, 4))
        assert [next(chunks).texts, next(chunks).texts] == [["a"], ["b" * 8]]
        with pytest.raises(InputError, match="line 3 of the input is longer than"):
            next(chunks)


def test_joined_chunks_have_at_least_so_many_lines_but_for_the_last() -> None:
    chunks = [Chunk(first_line=1, texts=["a", "b"], invalid=[2]), Chunk(3, ["c"], [3]), Chunk(4, ["d"], [])]
    assert list(joined_chunks(chunks, 3)) == [Chunk(1, ["a", "b", "c"], [2, 3]), Chunk(4, ["d"], [])]
