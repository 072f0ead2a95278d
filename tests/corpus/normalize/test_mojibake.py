"""Wrongly decoded text: repaired where it is certain, and clean text never touched."""

import ftfy.bad_codecs  # noqa: F401  registers sloppy-windows-1252: undefined bytes become controls, as in browsers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.normalize.mojibake import is_suspect, repair

PERSIAN = ["سلام", "می\u200cخواهم کتاب\u200cها را بخوانم؟", "از «ایران» ۱۲ پچژگ", "گفت: «آری»"]


@pytest.mark.parametrize("text", PERSIAN)
@pytest.mark.parametrize("wrong", ["latin-1", "sloppy-windows-1252", "windows-1256", "macroman", "cp437"])
def test_utf_8_that_was_read_as_something_else(text: str, wrong: str) -> None:
    damaged = text.encode("utf-8").decode(wrong)
    assert is_suspect(damaged)
    assert repair(damaged) == text


@pytest.mark.parametrize("text", PERSIAN[:2])
@pytest.mark.parametrize("wrong", ["latin-1", "sloppy-windows-1252", "windows-1256"])
def test_a_damaged_part_of_a_text(text: str, wrong: str) -> None:
    damaged = text.encode("utf-8").decode(wrong)
    assert repair(f"او گفت {damaged}") == f"او گفت {text}"


def test_a_part_that_looks_like_utf_8_by_chance_stays() -> None:
    damaged = f"او گفت {PERSIAN[0].encode().decode('macroman')}"
    assert repair(damaged) == damaged


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("cafÃ© and naÃ¯ve", "café and naïve"),
        ("itâ€™s", "it’s"),
        ("\x93 بله \x94 \x96", "“ بله ” –"),
        ("او گفت ط³ظ„ط§ظ… و رفت", "او گفت سلام و رفت"),
    ],
)
def test_repaired(text: str, repaired: str) -> None:
    assert repair(text) == repaired


@pytest.mark.parametrize(
    "text",
    [
        "café naïve Ünlü Ç’est l’été à 20° ±3 §5",
        "خط؛ شروع؛ «حافظ» و «بلیغ»، لفظ… ظ، عکس و طپش",
        "a\x85b \x88",
        "طالب ط³ کوتاه",
        "ط§ط²",
        "Привет, мир — Ελλάδα",
        "x ≥ 5, √2 ≈ 1.41, ½ × 3",
    ],
)
def test_clean_or_unsure_text_stays(text: str) -> None:
    assert repair(text) == text


@settings(deadline=None, max_examples=300)
@given(
    st.text(st.sampled_from("ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآئءۀ\u200c ،؛؟.!«»…–—”“’‘\u00a0۱۲۳abcXYZ"), max_size=60)
)
def test_clean_persian_is_never_touched(text: str) -> None:
    assert repair(text) == text
