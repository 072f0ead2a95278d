"""Long texts are cut where their number of characters says, and come whole again."""

from hypothesis import given
from hypothesis import strategies as st

from translator.evaluation.report.cutting import cut


@given(st.lists(st.text(max_size=5), min_size=1).map(tuple), st.integers(0, 20))
def test_head_and_rest_are_the_whole(pieces: tuple[str, ...], limit: int) -> None:
    shown = cut(pieces, limit)
    differing = "".join(shown.head[1::2]) + "".join(shown.rest[1::2])
    assert "".join(shown.head) + "".join(shown.rest) == "".join(pieces)
    assert differing == "".join(pieces[1::2])
    assert sum(map(len, shown.head)) == min(limit, len("".join(pieces)))
    assert shown.left == len("".join(shown.rest))


def test_the_short_forms() -> None:
    assert cut(("a",)).to_json() == "a"
    assert cut(("a", "b")).to_json() == ("a", "b")
    assert cut(("ab", "cd", "e"), 3).to_json() == {"head": ("ab", "c"), "rest": ("", "d", "e"), "left": 2}
