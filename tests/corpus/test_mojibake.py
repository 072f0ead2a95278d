"""Text that was decoded with a wrong encoding is repaired; other text stays as it is."""

import ftfy.bad_codecs  # noqa: F401  registers sloppy-windows-1252, in which undefined bytes are controls
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.corpus.normalizer.mojibake import is_suspect, repair_decoding

PERSIAN = ["سلام", "می\u200cخواهم کتاب\u200cها را بخوانم؟", "از «ایران» ۱۲ پچژگ", "گفت: «آری»"]


@pytest.mark.parametrize("text", PERSIAN)
@pytest.mark.parametrize("wrong", ["latin-1", "sloppy-windows-1252", "windows-1256", "macroman", "cp437"])
def test_repair_restores_utf8_decoded_with_a_wrong_encoding(text: str, wrong: str) -> None:
    damaged = text.encode("utf-8").decode(wrong)
    assert is_suspect(damaged)
    assert repair_decoding(damaged) == text


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("cafÃ© and naÃ¯ve", "café and naïve"),
        ("itâ€™s", "it’s"),
        ("\x93 بله \x94 \x96", "“ بله ” –"),
        ("او گفت ط³ظ„ط§ظ… و رفت", "او گفت سلام و رفت"),
    ],
)
def test_repair_fixes_unmistakable_damage(text: str, repaired: str) -> None:
    assert repair_decoding(text) == repaired


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
        f"او گفت {PERSIAN[0].encode().decode('macroman')}",
    ],
)
def test_repair_leaves_text_that_is_clean_or_unsure(text: str) -> None:
    assert repair_decoding(text) == text


@settings(max_examples=300)
@given(
    st.text(st.sampled_from("ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآئءۀ\u200c ،؛؟.!«»…–—”“’‘\u00a0۱۲۳abcXYZ"), max_size=60)
)
def test_repair_never_changes_clean_persian(text: str) -> None:
    assert repair_decoding(text) == text
