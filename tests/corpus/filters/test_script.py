"""The script of each side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.filters.script import arabic_script_share, latin_share, source_script, target_script
from translator.corpus.filters.sides import Sides


@pytest.mark.parametrize(
    ("source", "dropped"),
    [
        ("The door", False),
        ("“Café”—naïve", False),
        ("дом и сад", True),
        ("дом home", False),
        ("در باز است.", True),
        ("1999", False),
    ],
)
def test_source_script(source: str, dropped: bool) -> None:
    assert source_script(0.5)(Sides.of(source, "در")) is dropped


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("The door", "در", False),
        ("The door", "The door", True),
        ("HTML languages", "زبان‌های HTML", False),
        ("1999", "۱۹۹۹", False),
        ("Run ls --all --human-readable", "فرمان ls --all --human-readable را اجرا کنید", False),
        ("Where is the market?", "بازار کجاست؟ (Bāzār kojāst?)", True),
        ("Hi, I hope you are well.", "salam, omid ke khub bashi", True),
        ("dome", "купол آن", True),
        ("makefile", "فایل makefile", True),
    ],
)
def test_target_script(source: str, target: str, dropped: bool) -> None:
    assert target_script(0.5)(Sides.of(source, target)) is dropped


def test_shares() -> None:
    assert latin_share("ab вг") == 0.5
    assert arabic_script_share("آب ab") == 0.5
    assert latin_share("12 – «»") == arabic_script_share("12 – «»") == 1.0


@given(st.text(alphabet="aZéшбآب۱1 «»_-\u200c\u064eª", max_size=30))
def test_share_is_that_of_letters(text: str) -> None:
    letters = [character for character in text if character.isalpha()]
    latin = sum(character in "aZéª" for character in letters)
    persian = sum(character in "آب" for character in letters)
    assert latin_share(text) == pytest.approx(latin / len(letters) if letters else 1.0)
    assert arabic_script_share(text) == pytest.approx(persian / len(letters) if letters else 1.0)


@given(st.text())
def test_any_text_has_a_share(text: str) -> None:
    assert 0.0 <= latin_share(text) <= 1.0
    assert 0.0 <= arabic_script_share(text) <= 1.0
