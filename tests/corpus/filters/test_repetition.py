"""Loops and pasted phrases, against emphasis, refrains and lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.filters.repetition import repeated_share, repetition
from translator.corpus.filters.sides import Sides

OTHER = "طنین به او جواب داد: من تنها هستم"


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("he went in and he went in and he went in and", OTHER, True),
        ("ha " * 30, "ها " * 30, True),
        ("no, no, no, no!", "نه، نه، نه، نه!", False),
        ("ha " * 9, OTHER, False),
        ("ha " * 10, OTHER, True),
        (
            "serene inward feelings bud and bloom under the ray.",
            "و مثل غنچه و شکوفه هایی است که در پرتو نور و مثل غنچه و شکوفه هایی است که در پرتو نور صفا یافته‌اند",
            True,
        ),
        (
            "Trust ye not in lying words, The temple of the Lord, The temple of the Lord, The temple of the Lord.",
            "به سخنان دروغ توکل منمایید و مگویید که هیکل یهوه، هیکل یهوه، هیکل یهوه این است.",
            False,
        ),
        (
            "Which was the son of Melea, which was the son of Menan, which was the son of Nathan,",
            "ابن ملیا، بن مینان، بن متاتا بن ناتان،",
            False,
        ),
    ],
)
def test_repetition(source: str, target: str, dropped: bool) -> None:
    assert repetition(0.5)(Sides.of(source, target)) is dropped
    assert repetition(0.5)(Sides.of(target, source)) is dropped


def test_share_of_words() -> None:
    assert repeated_share(list("abcdefghabcdefgh")) == 0.5
    assert repeated_share(["a"] * 20) == pytest.approx(19 / 20)
    assert repeated_share(list("abcdefgabcdefg")) == 0.0, "seven words are a short phrase"
    assert repeated_share(list("abcdefghxyzabcdefgh")) == 0.0, "a refrain"
    assert repeated_share([]) == repeated_share(["a"]) == 0.0


@given(st.lists(st.sampled_from("abc"), max_size=60), st.floats(0.0, 1.0))
def test_the_quick_look_misses_nothing(words: list[str], limit: float) -> None:
    share = repeated_share(words)
    assert 0.0 <= share <= 1.0
    if len(words) >= 10:
        assert repetition(limit)(Sides.of(" ".join(words), "در باز است")) is (share > limit / 2)
