"""Numbers in digits, in three scripts, two calendars, and beside numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.filters.numbers import number_agreement, numbers, numbers_of
from translator.corpus.filters.sides import Sides


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,200 days", ["1200"]),
        ("۱۲۰۰ روز", ["1200"]),
        ("۱٬۲۰۰ روز", ["1200"]),
        ("٣ و ۴", ["3", "4"]),
        ("3.5", ["3", "5"]),
        ("۳/۵", ["3", "5"]),
        ("12,000 and 12 هزار", ["12", "12"]),
        ("UTF-8, utf8, H2O, x_1, 3D", ["8", "3"]),
        ("007 and 0", ["7", "0"]),
        ("none", []),
        ("²½", []),
    ],
)
def test_numbers_of(text: str, found: list[str]) -> None:
    assert numbers_of(text) == found


@pytest.mark.parametrize(
    ("source", "target", "dropped"),
    [
        ("Chapter 12", "فصل ۲۱", True),
        ("95 percent", "۲۵ درصد", True),
        ("between 10 and 20 of 30", "بین ۱۱ و ۲۱ از ۳۰", True),
        ("between 10 and 20", "بین ۱۰ و ۲۱", False),
        ("in 1,200 days", "در ۱۲۰۰ روز", False),
        ("Chapter 12", "فصل دوازده", False),
        ("Chapter twelve", "فصل ۱۲", False),
        ("5 of the seven", "پنج تا از ۷", False),
        ("3 of the 12 gardens", "۲ باغ از سه", False),
        ("in the 1970s", "در دهه ۷۰", False),
        ("in the 70s", "در دهه ۱۹۷۰", False),
        ("3,846 people", "۳، ۸۴۶ تن", False),
        ("born in 1990", "زاده ۱۳۶۹", False),
        ("on 17/4/2001", "در ۱۳۸۰/۱/۲۸", False),
        ("on 28th April", "روز ۸ ثور", False),
        ("on April 28", "روز ۸ آوریل", True),
        ("2. The gate", "۳) دروازه", False),
        ("2. The 7 gates", "۳) ۸ دروازه", True),
        ("3. See 1", "بخش ۱", False),
        ("10:30", "۱۰:۳۰", False),
    ],
)
def test_numbers(source: str, target: str, dropped: bool) -> None:
    assert numbers(0.5)(Sides.of(source, target)) is dropped


@given(st.text(alphabet="19۰۵٣,٬.،/ -()aهزار", max_size=40), st.text(alphabet="19۰۵٣,٬.،/ -()aهزار", max_size=40))
def test_agreement_is_a_share_and_whole_with_itself(source: str, target: str) -> None:
    assert 0.0 <= number_agreement(source, target) <= 1.0
    assert number_agreement(source, source) == 1.0
