"""The normalizer as a whole: idempotent, careful with ZWNJ, switchable; and the folding key."""

import itertools
import re
import unicodedata
from pathlib import Path

import pytest
from corpus.normalize.strategies import CONFIGS, NOTHING, TEXTS
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from translator.config import NormalizationConfig, SourceConfig
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.normalize.mojibake import is_suspect
from translator.corpus.sources import read_pairs

ALL_RULES = Normalizer(NormalizationConfig())
NO_RULES = Normalizer(NormalizationConfig.model_validate(NOTHING))
DATA = Path("../shared/data")

PERSIAN_LETTER = "[\u0621-\u063a\u0641-\u064aپچژکگی]"
JOINED = re.compile(f"{PERSIAN_LETTER}\u200c+(?={PERSIAN_LETTER})")


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
        ('گفت : " بله " ، و رفت .', "گفت: «بله»، و رفت."),
        ("Ù…ÛŒâ€ŒØ±ÙˆÙ… – ظ…غŒâ€Œط±ظˆظ…", "می‌روم — می‌روم"),
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
        ("`` it ’s r &amp; d , '' he said -- “ really ”", '"it\'s r & d," he said — "really"'),
        ("cafÃ©\u200b itâ€™s", "café it's"),
    ],
)
def test_english_examples(text: str, normal: str) -> None:
    assert ALL_RULES.source(text) == normal


@settings(deadline=None, max_examples=200)
@given(CONFIGS, TEXTS)
def test_normalizing_twice_changes_nothing_more(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normalize in (normalizer.source, normalizer.target):
        once = normalize(text)
        assert normalize(once) == once


@pytest.mark.parametrize(
    ("text", "normal"),
    [("R &amp;amp;amp; D", "R & D"), ("Ã\u200b© here", "é here"), ("yes «", 'yes"'), ("god &quot; s", "god's")],
)
def test_what_one_rule_uncovers_is_done_by_the_next_pass(text: str, normal: str) -> None:
    assert ALL_RULES.source(text) == normal


@settings(deadline=None, max_examples=120)
@given(st.text("ابکیمرن", min_size=1), st.text("ابکیمرن", min_size=1))
def test_zwnj_inside_a_word_stays(first: str, second: str) -> None:
    word = f"{first}\u200c{second}"
    assert ALL_RULES.target(f" {word} .") == f"{word}."


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_no_zwnj_between_letters_comes_or_goes(text: str) -> None:
    # What else makes a ZWNJ, or letters beside one: soft hyphens, escapes, wrong decoding, ligatures, removed marks.
    text = "".join(
        c for c in text if c in "\u200c\t\r\x1f\x85\n" or c.isspace() or unicodedata.category(c)[0] in "LNPSZ"
    )
    text = re.sub("[\ufb50-\ufdff\ufe70-\ufeff\u0640&\u00ad]", "", text)
    assume(not is_suspect(text))
    assert len(JOINED.findall(ALL_RULES.target(text))) == len(JOINED.findall(text))


@settings(deadline=None, max_examples=120)
@given(CONFIGS, TEXTS)
def test_spaces_are_plain_and_no_line_end_is_made(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normal in (normalizer.source(text), normalizer.target(text)):
        assert "\n" not in normal or "\n" in text
        if config.spaces:
            assert normal == normal.strip(" ")
            assert "  " not in normal


@settings(deadline=None)
@given(TEXTS)
def test_without_rules_nothing_changes(text: str) -> None:
    assert NO_RULES.source(text) == NO_RULES.target(text) == text


@settings(deadline=None, max_examples=120)
@given(TEXTS)
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
        ("“yes” – he’s", '"yes" -- he\'s'),
        ("R &amp; D", "R&D"),
        ("cafÃ© Ø³Ù„Ø§Ù…", "café سلام"),
        ("الا´ن", "الآن"),
    ],
)
def test_fold_makes_variants_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other) != ""


def test_fold_keeps_different_texts_apart() -> None:
    texts = ["می‌روم", "می‌رویم", "I go", "I went", "12", "13", "...", "?!", "آب", "کتاب"]
    assert len({fold(text) for text in texts}) == len(texts)


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_fold_of_normalized_text_is_fold_of_raw_text(text: str) -> None:
    assume("&" not in text and not is_suspect(text))  # what is damaged twice is not folded twice
    # The key does not know a tokenizer's bracket that has a control character for a neighbour; the normalizer does.
    assume(text.isprintable() or not re.search("-[LR][RSC]B-", text))
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert fold(normal + " x") == fold(text + " x")  # a letter, so that there is something to compare


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
