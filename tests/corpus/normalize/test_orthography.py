"""Prefixes, suffixes and auxiliaries: joined and parted where a verb, a plural or a comparative is meant."""

import pytest

from translator.corpus.normalize.orthography import (
    join_comparative,
    join_plural,
    join_verb_prefix,
    part_auxiliary,
    unify_orthography,
)

# In the examples | stands for ZWNJ.


def with_zwnj(text: str) -> str:
    return text.replace("|", "\u200c")


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("می روم و نمی آید", "می|روم و نمی|آید"),
        ("می توان گفت می گه", "می|توان گفت می|گه"),
        ("از یاد می بریمشان", "از یاد می|بریمشان"),
        ("بر می گردد", "بر می|گردد"),
        ("از می و قمار", "از می و قمار"),
        ("می ناب و می صافی و می هست", "می ناب و می صافی و می هست"),
        ("قدیمی رفت و اسلامی شد", "قدیمی رفت و اسلامی شد"),
        ("می|روم", "می|روم"),
    ],
)
def test_verb_prefix(text: str, joined: str) -> None:
    assert join_verb_prefix(with_zwnj(text)) == with_zwnj(joined)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("کتاب ها و خانه های ما", "کتاب|ها و خانه|های ما"),
        ("دست هایش را", "دست|هایش را"),
        ("ها، بله", "ها، بله"),
        ("و هادی آمد، کتاب هاله", "و هادی آمد، کتاب هاله"),
    ],
)
def test_plural(text: str, joined: str) -> None:
    assert join_plural(text) == with_zwnj(joined)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("بزرگ تر از آن", "بزرگ|تر از آن"),
        ("مرتفع ترین کوه", "مرتفع|ترین کوه"),
        ("صنوبر تر و تازه", "صنوبر تر و تازه"),
        ("خشک و تر", "خشک و تر"),
        ("به آب تر ساخته", "به آب تر ساخته"),
        ("حساب تر", "حساب|تر"),
        ("یک ترانه", "یک ترانه"),
    ],
)
def test_comparative(text: str, joined: str) -> None:
    assert join_comparative(text) == with_zwnj(joined)


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("رفته|بود و خوب|است", "رفته بود و خوب است"),
        ("انداخته|بودند، پیدا|کرد", "انداخته بودند، پیدا کرد"),
        ("کتاب|ها|بود", "کتاب|ها بود"),
        ("می|شد نمی|کرد بر|می|کردند برمی|شد", "می|شد نمی|کرد بر|می|کردند برمی|شد"),
        ("شناخته|شده آزادی|خواهی در|کرد", "شناخته|شده آزادی|خواهی در|کرد"),
        ("کتاب|های رفته|ام", "کتاب|های رفته|ام"),
    ],
)
def test_auxiliary(text: str, parted: str) -> None:
    assert part_auxiliary(with_zwnj(text)) == with_zwnj(parted)


def test_all_together() -> None:
    text = "او کتاب های بزرگ تر را می خواند که خریده|بود"
    assert unify_orthography(with_zwnj(text)) == with_zwnj("او کتاب|های بزرگ|تر را می|خواند که خریده بود")
