"""Empty sides and lost characters."""

import pytest

from translator.corpus.filters.missing import empty, replacement_character
from translator.corpus.filters.sides import Sides


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [("", "در", True), ("door", "", True), (" \t", "در", True), ("door", "\u2028", True), ("door", "در", False)],
)
def test_empty(source: str, target: str, dropped: bool) -> None:
    assert empty(Sides.of(source, target)) is dropped


def test_replacement_character() -> None:
    assert replacement_character(Sides.of("caf\ufffd", "کافه"))
    assert replacement_character(Sides.of("café", "کاف\ufffd"))
    assert not replacement_character(Sides.of("café", "کافه"))
