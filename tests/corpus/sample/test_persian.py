"""Persian morphology against forms written down by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translator.corpus.sample import persian
from translator.corpus.sample.persian import Conjugator

ME, YOU, HE, WE, THEY = (1, False), (2, True), (3, False), (1, True), (3, True)
PEOPLE = (ME, YOU, HE, WE, THEY)
GO = Conjugator("رفت", "رو")
COME = Conjugator("آمد", "آی")
THROW = Conjugator("انداخت", "انداز")
FALL = Conjugator("افتاد", "افت")
STAND = Conjugator("ایستاد", "ایست")
WORK = Conjugator("کرد", "کن", "کار")
HAVE = Conjugator("داشت", "دار")
LIKE = Conjugator("داشت", "دار", "دوست")
RETURN = Conjugator("گشت", "گرد", prefix="بر")
TAKE_OFF = Conjugator("آورد", "آور", prefix="در")
CALL = Conjugator("زد", "زن", "زنگ")


def table(verb: Conjugator, form: str, negative: bool = False) -> list[str]:
    return [getattr(verb, form)(who, negative) for who in PEOPLE]


@pytest.mark.parametrize(
    ("verb", "form", "negative", "expected"),
    [
        (GO, "simple_present", False, "می‌روم، می‌روید، می‌رود، می‌رویم، می‌روند"),
        (GO, "simple_present", True, "نمی‌روم، نمی‌روید، نمی‌رود، نمی‌رویم، نمی‌روند"),
        (GO, "simple_past", False, "رفتم، رفتید، رفت، رفتیم، رفتند"),
        (GO, "simple_past", True, "نرفتم، نرفتید، نرفت، نرفتیم، نرفتند"),
        (GO, "imperfect", False, "می‌رفتم، می‌رفتید، می‌رفت، می‌رفتیم، می‌رفتند"),
        (GO, "perfect", False, "رفته‌ام، رفته‌اید، رفته است، رفته‌ایم، رفته‌اند"),
        (GO, "perfect", True, "نرفته‌ام، نرفته‌اید، نرفته است، نرفته‌ایم، نرفته‌اند"),
        (GO, "past_perfect", False, "رفته بودم، رفته بودید، رفته بود، رفته بودیم، رفته بودند"),
        (GO, "future", False, "خواهم رفت، خواهید رفت، خواهد رفت، خواهیم رفت، خواهند رفت"),
        (GO, "future", True, "نخواهم رفت، نخواهید رفت، نخواهد رفت، نخواهیم رفت، نخواهند رفت"),
        (GO, "subjunctive", False, "بروم، بروید، برود، برویم، بروند"),
        (GO, "subjunctive", True, "نروم، نروید، نرود، نرویم، نروند"),
        (COME, "simple_present", False, "می‌آیم، می‌آیید، می‌آید، می‌آییم، می‌آیند"),
        (COME, "simple_past", True, "نیامدم، نیامدید، نیامد، نیامدیم، نیامدند"),
        (COME, "subjunctive", False, "بیایم، بیایید، بیاید، بیاییم، بیایند"),
        (COME, "perfect", True, "نیامده‌ام، نیامده‌اید، نیامده است، نیامده‌ایم، نیامده‌اند"),
        (THROW, "simple_past", True, "نینداختم، نینداختید، نینداخت، نینداختیم، نینداختند"),
        (THROW, "subjunctive", False, "بیندازم، بیندازید، بیندازد، بیندازیم، بیندازند"),
        (FALL, "subjunctive", True, "نیفتم، نیفتید، نیفتد، نیفتیم، نیفتند"),
        (STAND, "subjunctive", False, "بایستم، بایستید، بایستد، بایستیم، بایستند"),
        (WORK, "simple_present", True, "کار نمی‌کنم، کار نمی‌کنید، کار نمی‌کند، کار نمی‌کنیم، کار نمی‌کنند"),
        (WORK, "subjunctive", False, "کار کنم، کار کنید، کار کند، کار کنیم، کار کنند"),
        (WORK, "future", False, "کار خواهم کرد، کار خواهید کرد، کار خواهد کرد، کار خواهیم کرد، کار خواهند کرد"),
        (CALL, "subjunctive", False, "زنگ بزنم، زنگ بزنید، زنگ بزند، زنگ بزنیم، زنگ بزنند"),
        (HAVE, "simple_present", False, "دارم، دارید، دارد، داریم، دارند"),
        (HAVE, "simple_present", True, "ندارم، ندارید، ندارد، نداریم، ندارند"),
        (LIKE, "simple_past", True, "دوست نداشتم، دوست نداشتید، دوست نداشت، دوست نداشتیم، دوست نداشتند"),
        (HAVE, "subjunctive", False, "داشته باشم، داشته باشید، داشته باشد، داشته باشیم، داشته باشند"),
        (RETURN, "simple_present", False, "برمی‌گردم، برمی‌گردید، برمی‌گردد، برمی‌گردیم، برمی‌گردند"),
        (RETURN, "simple_past", True, "برنگشتم، برنگشتید، برنگشت، برنگشتیم، برنگشتند"),
        (RETURN, "subjunctive", False, "برگردم، برگردید، برگردد، برگردیم، برگردند"),
        (RETURN, "future", False, "برخواهم گشت، برخواهید گشت، برخواهد گشت، برخواهیم گشت، برخواهند گشت"),
        (TAKE_OFF, "simple_past", True, "درنیاوردم، درنیاوردید، درنیاورد، درنیاوردیم، درنیاوردند"),
        (TAKE_OFF, "subjunctive", False, "دربیاورم، دربیاورید، دربیاورد، دربیاوریم، دربیاورند"),
    ],
)
def test_conjugation(verb: Conjugator, form: str, negative: bool, expected: str) -> None:
    assert "، ".join(table(verb, form, negative)) == expected


def test_imperatives() -> None:
    assert [GO.imperative(), GO.imperative(True)] == ["بروید", "نروید"]
    assert [COME.imperative(), COME.imperative(True)] == ["بیایید", "نیایید"]
    assert [WORK.imperative(), WORK.imperative(True)] == ["کار کنید", "کار نکنید"]


def test_passives() -> None:
    assert Conjugator("نوشت", "نویس").passive_past(HE) == "نوشته شد"
    assert Conjugator("کرد", "کن", "تعمیر").passive_past(THEY, True) == "تعمیر نشدند"


def test_to_be() -> None:
    assert [persian.be_present(who) for who in PEOPLE] == ["هستم", "هستید", "است", "هستیم", "هستند"]
    assert [persian.be_present(who, True) for who in PEOPLE] == ["نیستم", "نیستید", "نیست", "نیستیم", "نیستند"]
    assert [persian.be_past(who, True) for who in PEOPLE] == ["نبودم", "نبودید", "نبود", "نبودیم", "نبودند"]
    assert persian.be_subjunctive(HE, True) == "نباشد"


@pytest.mark.parametrize(
    ("word", "ezafe", "mine", "theirs", "indefinite"),
    [
        ("کتاب", "کتاب", "کتابم", "کتابشان", "کتابی"),
        ("خانه", "خانه‌ی", "خانه‌ام", "خانه‌شان", "خانه‌ای"),
        ("میوه", "میوه‌ی", "میوه‌ام", "میوه‌شان", "میوه‌ای"),
        ("همسایه", "همسایه‌ی", "همسایه‌ام", "همسایه‌شان", "همسایه‌ای"),
        ("دانشگاه", "دانشگاه", "دانشگاهم", "دانشگاهشان", "دانشگاهی"),
        ("کوه", "کوه", "کوهم", "کوهشان", "کوهی"),
        ("غذا", "غذای", "غذایم", "غذایشان", "غذایی"),
        ("عمو", "عموی", "عمویم", "عمویشان", "عمویی"),
        ("گاو", "گاو", "گاوم", "گاوشان", "گاوی"),
        ("صندلی", "صندلی", "صندلی‌ام", "صندلی‌شان", "صندلی‌ای"),
        ("چای", "چای", "چایم", "چایشان", "چایی"),
        ("کتاب‌ها", "کتاب‌های", "کتاب‌هایم", "کتاب‌هایشان", "کتاب‌هایی"),
    ],
)
def test_noun_endings(word: str, ezafe: str, mine: str, theirs: str, indefinite: str) -> None:
    assert persian.ezafe(word) == ezafe
    assert persian.possess(word, ME) == mine
    assert persian.possess(word, THEY) == theirs
    assert persian.with_indefinite_ye(word) == indefinite


@pytest.mark.parametrize(
    ("word", "plural"),
    [
        ("کتاب", "کتاب‌ها"),
        ("خانه", "خانه‌ها"),
        ("دختر", "دخترها"),
        ("غذا", "غذاها"),
        ("ماهی", "ماهی‌ها"),
        ("ساعت مچی", "ساعت‌های مچی"),
        ("میز تحریر", "میزهای تحریر"),
    ],
)
def test_plurals(word: str, plural: str) -> None:
    assert persian.pluralize(word) == plural


def test_comparison() -> None:
    assert persian.comparative("بزرگ") == "بزرگ‌تر"
    assert persian.comparative("جدید") == "جدیدتر"
    assert persian.superlative(persian.comparative("مهم")) == "مهم‌ترین"


@given(st.text(alphabet="ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهی", min_size=2, max_size=8))
def test_no_useless_half_space(word: str) -> None:
    for form in (persian.pluralize(word), persian.comparative(word), persian.possess(word, ME), persian.ezafe(word)):
        assert form.startswith(word)
        assert not form.endswith(persian.ZWNJ)
    joined = persian.pluralize(word)
    assert (persian.ZWNJ in joined) == (word[-1] not in persian.NON_JOINING)
