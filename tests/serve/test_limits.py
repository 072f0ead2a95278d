"""Bounds of requests."""

import json

import pytest

from translator.config import SearchConfig
from translator.errors import InputError
from translator.serve import Limits


@pytest.mark.parametrize("name", ["characters", "lines", "translations", "waiting", "seconds"])
def test_a_bound_is_more_than_nothing(name: str) -> None:
    with pytest.raises(InputError, match=f"limit of {name} is 0; it must be more than 0"):
        Limits(**{name: 0})
    for endless in ("nan", "inf"):
        with pytest.raises(InputError, match=endless):
            Limits(seconds=float(endless))


def test_whatever_may_be_asked_for_fits_into_the_body() -> None:
    limits = Limits(characters=100, lines=50)
    lines = ["🙂🙂"] * 50
    assert len(json.dumps({"lines": lines, "count": 10, "attention": True}, indent=4)) <= limits.body


def test_translations_are_those_that_the_search_finds() -> None:
    limits = Limits(translations=4)
    searches = (
        SearchConfig(method="greedy"),
        SearchConfig(method="beam", beam_size=3),
        SearchConfig(method="beam", beam_size=50),
        SearchConfig(method="sampling"),
    )
    assert [limits.most_translations(search) for search in searches] == [1, 3, 4, 4]
