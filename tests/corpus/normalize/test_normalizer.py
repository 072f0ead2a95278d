"""The normalizer as a whole: idempotent, careful with ZWNJ, switchable; and the folding key."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import NormalizationConfig, SourceConfig
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.sources import read_pairs

ALL_RULES = Normalizer(NormalizationConfig())
NO_RULES = Normalizer(
    NormalizationConfig(
        arabic_letters=False,
        presentation_forms=False,
        tatweel=False,
        zero_width=False,
        spaces=False,
        punctuation_spacing=False,
        digits="keep",
        vowel_marks="keep",
    )
)
DATA = Path("../shared/data")

PERSIAN_RICH = st.text(
    st.one_of(
        st.sampled_from("ابهویيىكکةۀهمی آأإئؤ"),
        st.sampled_from("\u200c\u200d\u200e\u200b\u00ad\ufeff\u061c\x00\x1f\u0640\u00a0\u2028\u0085\t\r  "),
        st.sampled_from("\u064b\u064e\u0651\u0653\u0654\u0655\u0670\u06d6\u06dd"),
        st.sampled_from(".,:;!?،؛؟…«»()[]{}“”‘’\"'-–% 0٣۵9aZé"),
        st.sampled_from("ﷲ﷼ﷺﻻﻛﺘﹱﹰﱞﳲ﴾ﯾ"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)
CONFIGS = st.builds(
    NormalizationConfig,
    arabic_letters=st.booleans(),
    presentation_forms=st.booleans(),
    tatweel=st.booleans(),
    zero_width=st.booleans(),
    spaces=st.booleans(),
    punctuation_spacing=st.booleans(),
    digits=st.sampled_from(["keep", "persian", "ascii"]),
    vowel_marks=st.sampled_from(["keep", "strip"]),
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("كتاب‌هاي عربي", "کتاب‌های عربی"),
        ("موسى و عيسى", "موسی و عیسی"),
        ("مسئلة", "مسئلة"),
        ("ﻛﺘﺎب ﻻزم ﷲ ۱۰ ﷼", "کتاب لازم الله ۱۰ ریال"),
        ("کتـــاب", "کتاب"),
        ("کِتابِ خوب، حتّی", "کتاب خوب، حتی"),
        ("رؤیاهایت دربارهٔ آن", "رؤیاهایت دربارۀ آن"),
        ("همهٔٔ ما", "همۀ ما"),
        ("می‌‌روم ‌و‌ می‌آیم‌.", "می‌روم و می‌آیم."),
        ("بنی\u00adاسرائیل", "بنی‌اسرائیل"),
        ("\u200fسلام\u200e\ufeff", "سلام"),
        ("یک\u00a0دو\u2028سه\t چهار ", "یک دو سه چهار"),
        ("در 25 سال و ٣ ماه", "در ۲۵ سال و ۳ ماه"),
        ("پروندهٔ MP3 با UTF-8 و 3D", "پروندۀ MP3 با UTF-8 و 3D"),
        ("او گفت : « سلام » ، و رفت .", "او گفت: «سلام»، و رفت."),
        ("ساعت 10 : 30", "ساعت ۱۰ : ۳۰"),
    ],
)
def test_persian_examples(text: str, normal: str) -> None:
    assert ALL_RULES.target(text) == normal


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("it 's late , is n't it ? ( yes )", "it's late, isn't it? (yes)"),
        ("a\u00a0b\u200b c\ufeff", "a b c"),
        ("كتاب 12 ك", "كتاب 12 ك"),
        ("naïve café — 3 - 2", "naïve café — 3 - 2"),
    ],
)
def test_english_examples(text: str, normal: str) -> None:
    assert ALL_RULES.source(text) == normal


@settings(deadline=None, max_examples=1500)
@given(CONFIGS, PERSIAN_RICH)
def test_normalizing_twice_changes_nothing_more(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normalize in (normalizer.source, normalizer.target):
        once = normalize(text)
        assert normalize(once) == once


@settings(deadline=None, max_examples=500)
@given(st.text("ابکیمرن", min_size=1), st.text("ابکیمرن", min_size=1))
def test_zwnj_inside_a_word_stays(first: str, second: str) -> None:
    word = f"{first}\u200c{second}"
    assert ALL_RULES.target(f" {word} .") == f"{word}."


@settings(deadline=None)
@given(PERSIAN_RICH)
def test_without_rules_nothing_changes(text: str) -> None:
    assert NO_RULES.source(text) == NO_RULES.target(text) == text


@settings(deadline=None, max_examples=500)
@given(PERSIAN_RICH)
def test_normal_text_has_only_plain_spaces_and_no_line_end(text: str) -> None:
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert normal == " ".join(normal.split())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don't go!", "dont GO"),
        ("می‌روم.", "می روم"),
        ("كتابِ عَربي", "کتاب عربی"),
        ("خانهٔ ۱۲", "خانة 12"),
        ("Café", "cafe"),
        ("ﻻزم", "لازم"),
    ],
)
def test_fold_makes_variants_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other) != ""


def test_fold_keeps_different_texts_apart() -> None:
    texts = ["می‌روم", "می‌رویم", "I go", "I went", "12", "13", "...", "?!", "آب", "کتاب"]
    assert len({fold(text) for text in texts}) == len(texts)


@settings(deadline=None, max_examples=500)
@given(PERSIAN_RICH)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@settings(deadline=None, max_examples=500)
@given(PERSIAN_RICH)
def test_fold_of_normalized_text_is_fold_of_raw_text(text: str) -> None:
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert fold(normal + "x") == fold(text + "x")  # a letter, so that there is something to compare


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize("name", ["mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip", "docs.tsv.gz"])
def test_real_text_is_normalized_once_and_for_all(name: str) -> None:
    changed = 0
    source = SourceConfig(name="real", path=str(DATA / name))
    for pair in itertools.islice(read_pairs(source), 4000, 7000):
        for normalize, text in ((ALL_RULES.source, pair.source), (ALL_RULES.target, pair.target)):
            normal = normalize(text)
            changed += normal != text
            assert normalize(normal) == normal
            assert fold(normal) == fold(text)
    assert changed
