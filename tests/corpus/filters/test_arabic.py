"""Arabic is told from Persian, also from Persian that quotes Arabic or speaks of Arabs."""

import pytest

from translator.corpus.filters.arabic import arabic, arabic_share
from translator.corpus.filters.sides import Sides

ARABIC = [
    "لا أعرف من کتب هذا الکتاب",
    "ذهب الولد إلی المدرسة مع أخیه",
    "قال الرئیس إن الحکومة سوف تعمل علی تحسین الاقتصاد",
    "بسم الله الرحمن الرحیم الحمد لله رب العالمین",
    "عندما کنت صغیرا کنت أحب اللعب فی الحدیقة",
    "سافرنا الی بغداد فی الصیف الماضی",
    "الکتاب للناس وللطلاب",
]
PERSIAN = [
    "در ابتدا، خدا آسمانها و زمین را آفرید.",
    "سوگند به انجیر و زیتون، و سوگند به طور سینین",
    "او گفت: «لا إله إلا الله» و از خانه بیرون رفت.",
    "ندایشان در آنجا سبحانک اللهم و تحیتشان سلام و پایان دعایشان الحمد لله رب العالمین است",
    "الاتحاد الحلبی فاصله خود را با تیم الجیش المرکزی به یک امتیاز کاهش داد.",
    "و الیشمع و الیداع و الیفلط.",
    "السلام علیکم",
    "الان البته الیزابت و الکساندر خواب‌اند",
    "ابن حشبیا ابن امصیا ابن حلقیا،",
    "",
]


@pytest.mark.parametrize("text", ARABIC)
def test_arabic_goes(text: str) -> None:
    assert arabic(0.5)(Sides.of("some text", text))


@pytest.mark.parametrize("text", PERSIAN)
def test_persian_stays(text: str) -> None:
    assert not arabic(0.5)(Sides.of("some text", text))


def test_share_of_words_that_are_clear() -> None:
    assert arabic_share(["هذا", "الکتاب", "الذی", "سیب"]) == 1.0
    assert arabic_share(["هذا", "الکتاب", "الذی", "را"]) == 0.75
    assert arabic_share(["هذا", "الکتاب", "سیب"]) == 0.0, "two words are too few to tell"


def test_limit() -> None:
    sides = Sides.of("some text", "هذا الکتاب الذی را")
    assert arabic(0.7)(sides)
    assert not arabic(0.75)(sides)
