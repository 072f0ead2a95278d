"""The normalizer: each rule alone, all together, idempotent, with half-spaces (ZWNJ) kept."""

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.support.doc_examples import ROOT, blocks
from translator.config import NormalizationConfig, SourceConfig
from translator.corpus.fingerprint import PREPARE_VERSION
from translator.corpus.normalizer.characters import CharacterTable
from translator.corpus.normalizer.mojibake import is_suspect
from translator.corpus.normalizer.named_functions import FUNCTIONS
from translator.corpus.normalizer.normalizer import CURRENT_RULES, Normalizer
from translator.corpus.normalizer.normalizer_file import read_rules
from translator.corpus.normalizer.normalizer_rules import NOTHING as NOTHING_TO_DO
from translator.corpus.normalizer.normalizer_rules import NormalizerRules
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.folding import fold

Side = Literal["source", "target"]
CHARACTERS = (
    "ابهویيىكکةۀهمیآأإئؤپچژگطظعغ",
    "\u200c\u200c\u200d\u200e\u200b\u00ad\ufeff\u061c\x00\x1f\u0640\u00a0\u2028\u0085\t\r   ",
    "\u064b\u064e\u0651\u0653\u0654\u0655\u0670\u06d6\u06dd",
    ".,:;!?،؛؟…«»()[]{}",
    "“”„‟‘’‚‛′″\"'`´‹›",
    "-–—‐‑‒―−%@&$",
    "0٣۵9aZéstnd",
    "ﷲ﷼ﷺﻻﻛﺘﹱﹰﱞﳲ﴾ﯾ",
    "ÃØ³Ùâ€Œ©Âž\x9d\x81\x93",
    "😀👍🏽字नα",
)
PIECES = (
    *("Ø³Ù„Ø§Ù…", "ط³ظ„ط§ظ…", "â€Œ", "cafÃ©", "''", "``", "&amp;", "&quot;", "&#91;", "&zwnj;", "@-@", "-LRB-"),
    *(" 's", " n't", "gon na", "می ", "نمی ", " ها", " تر", "\u200cبود", " . . ", "الا´ن", ";x", "x,;", " $ 5"),
    *(" ' ", ' " ', " -- ", "--", "d ' ar", ' " s '),
)
TEXTS = st.lists(
    st.one_of(st.sampled_from([*"".join(CHARACTERS), *PIECES, *PIECES]), st.characters(exclude_categories=["Cs"])),
    max_size=25,
).map("".join)
CONFIGS = st.fixed_dictionaries(
    {
        key: st.booleans()
        if field.annotation is bool
        else st.sampled_from(["keep", "strip"] if key == "vowel_marks" else ["keep", "persian", "ascii"])
        for key, field in NormalizationConfig.model_fields.items()
    }
).map(NormalizationConfig.model_validate)
NOTHING: dict[str, object] = {
    key: False if field.annotation is bool else "keep" for key, field in NormalizationConfig.model_fields.items()
}
"""Every switch off."""
EXAMPLES: list[tuple[str, bool | str, Side, str, str]] = [
    ("mojibake", True, "target", "Ø³Ù„Ø§Ù… Ø¯Ù†ÛŒØ§", "سلام دنیا"),
    ("mojibake", True, "source", "a cafÃ© in Paris", "a café in Paris"),
    ("presentation_forms", True, "target", "ﺳﻼم", "سلام"),
    ("arabic_letters", True, "target", "كتاب عربي", "کتاب عربی"),
    ("teh_marbuta", True, "target", "دایرة المعارف", "دایره المعارف"),
    ("tatweel", True, "target", "کتـــاب", "کتاب"),
    ("vowel_marks", "strip", "target", "کِتابِ خوب", "کتاب خوب"),
    ("vowel_marks", "strip", "target", "مُسلّماً", "مسلماً"),
    ("zero_width", True, "source", "right\u200e and\ufeff left", "right and left"),
    ("zero_width", True, "target", "\u200fسلام\u202c", "سلام"),
    ("zero_width", True, "target", "بنی\u00adاسرائیل", "بنی\u200cاسرائیل"),
    ("zwnj", True, "target", "می\u200c\u200cروم", "می\u200cروم"),
    ("zwnj", True, "target", "«\u200cکتاب\u200c»", "«کتاب»"),
    ("zwnj", True, "source", "a\u200c book", "a book"),
    ("hamza", True, "target", "خانه\u0654 ما", "خانۀ ما"),
    ("hamza", True, "target", "قرا\u0653ن", "قرآن"),
    ("digits", "persian", "target", "در 25 سال و ٣ ماه", "در ۲۵ سال و ۳ ماه"),
    ("digits", "ascii", "target", "در ۲۵ سال و ٣ ماه", "در 25 سال و 3 ماه"),
    ("spaces", True, "source", " a\u00a0b\t c ", "a b c"),
    ("spaces", True, "target", "یک\u2003 دو\u2028سه", "یک دو سه"),
    ("punctuation_spacing", True, "target", "رفت ، و « آمد » .", "رفت، و «آمد»."),
    ("punctuation_spacing", True, "source", 'he said , " yes ( no ) "', 'he said, "yes (no)"'),
    ("punctuation_spacing", True, "source", "well @-@ known R &amp; D for $ 5", "well-known R & D for $5"),
    ("contractions", True, "source", "it 's what I ca n't do", "it's what I can't do"),
    ("quotes", True, "source", "“it’s late”", '"it\'s late"'),
    ("quotes", True, "target", 'گفت: "بله"', "گفت: «بله»"),
    ("dashes", True, "source", "yes – no, well‐known, 0–9, so -- yes", "yes — no, well-known, 0-9, so — yes"),
    ("dashes", True, "target", "او – اگر", "او — اگر"),
    ("orthography", True, "target", "نمی روم", "نمی\u200cروم"),
    ("orthography", True, "target", "کتاب های بزرگ تر", "کتاب\u200cهای بزرگ\u200cتر"),
]
"""Key, setting, side, before, after."""
ALONE: dict[tuple[str, bool | str, Side], list[tuple[str, str]]] = {
    ("dashes", True, "source"): [
        ("pages 10–20, London–Paris", "pages 10-20, London-Paris"),
        ("shallow--the new", "shallow—the new"),
        ("to you-- (remember), he said.--", "to you— (remember), he said.—"),
        ("git log --graph, i-- and a---b --- c", "git log --graph, i-- and a---b --- c"),
    ],
    ("quotes", True, "source"): [
        ("“yes” „no‟ «so» 5″", '"yes" "no" "so" 5"'),
        ("`` yes , '' he said", '"yes ," he said'),
        ("it is iniquity'' among you.''", 'it is iniquity" among you."'),
        ("let x = '' and f('')", "let x = '' and f('')"),
        ("the `Arsh, Fir`awn, Bakhi`", "the 'Arsh, Fir'awn, Bakhi'"),
        ("call `run()` and `stop` now", "call `run()` and `stop` now"),
        (";Nay,; he said, ;it is so.;", '"Nay," he said, "it is so."'),
        ("it is so; and x,; y; etc.; z;", "it is so; and x,; y; etc.; z;"),
        ("x = 1 ;print x", "x = 1 ;print x"),
        (";Was she ill?", '"Was she ill?'),
    ],
    ("quotes", True, "target"): [
        ('گفت: "بله"، و "نه"', "گفت: «بله»، و «نه»"),
        ("گفت: “بله” و „نه“", "گفت: «بله» و «نه»"),
        ('متغیر "name" و "نام"', 'متغیر "name" و «نام»'),
        ('5" و "بله"', '5" و "بله"'),
        ('" بله" و ""', '" بله" و ""'),
        ('الف"بله"ب', 'الف"بله"ب'),
        ("ا´", "ا'"),
    ],
    ("punctuation_spacing", True, "target"): [
        ("رفت ، آمد ؛ ماند ؟", "رفت، آمد؛ ماند؟"),
        ("[ شهر ] آنان", "[شهر] آنان"),
        ('he said , " come here . "', 'he said, "come here."'),
        ('گفت : " بیا "', 'گفت: "بیا"'),
        ("[چرا ]به خدا", "[چرا] به خدا"),
        ("so . . . yes", "so ... yes"),
        ("in 1998 , and 1999 .", "in 1998, and 1999."),
        ("“ yes ” ( no )", "“yes” (no)"),
        ("کرد،ولی رفت؛او", "کرد، ولی رفت؛ او"),
        ("گفت :«بیا» و رفت .او", "گفت: «بیا» و رفت. او"),
        ("۱۱ .۵ تن", "۱۱.۵ تن"),
        ('he said : " go on', 'he said: "go on'),
        ('he said : "go on . "', 'he said: "go on."'),
        ("&quot; yes &quot; don &apos;t", '"yes" don \'t'),
        ("&#91; 1 &#93; &lt; &#124;", "[1] < |"),
        ("می&zwnj;روم&nbsp;من", "می\u200cروم من"),
        ("می&#8204;روم&#10;&#x200C;من&hellip;", "می\u200cروم \u200cمن…"),
        ("well @-@ known 5 @.@ 5 a@-@b", "well-known 5.5 a-b"),
        ("-LRB- x -rrb- -LSB- y -RSB-", "(x) [y]"),
        ("&copy; &ampx &x; a@b.c @-@ -LRB-x", "© &ampx &x; a@b.c @-@ -LRB-x"),
    ],
    ("punctuation_spacing", True, "source"): [
        ("$ 5 or £ 6.5 , 7 % of it", "$5 or £6.5, 7% of it"),
        ("30 $\\times$ 30 and x % y", "30 $\\times$ 30 and x % y"),
        ("d ' Artagnan and o ' clock", "d'Artagnan and o'clock"),
        ("never . '", "never.'"),
        ("the servants ' hall", "the servants' hall"),
        ("' yes ' he said", "'yes' he said"),
        ("mash ' al and we ' re", "mash ' al and we ' re"),
        ("a ' b ' c ' d", "a ' b ' c ' d"),
        ("one there , ' I", "one there, ' I"),
        ("try ' em again", "try 'em again"),
    ],
    ("contractions", True, "source"): [
        ("it 's the world 's end", "it's the world's end"),
        ("don 't , do n't , I 'll", "don't , don't , I'll"),
        ("they 've we 're I 'd I 'm", "they've we're I'd I'm"),
        ("say 's' and 'tis and 't we", "say 's' and 'tis and 't we"),
        ("the boys ' toys", "the boys ' toys"),
        ("gon na see , Got ta go , wan na", "gonna see , Gotta go , wanna"),
        ("his gon nature", "his gon nature"),
        ("'t is and 'T was", "'tis and 'Twas"),
        ("the ship' s world' s", "the ship's world's"),
        ("the regexp 's' and ' s", "the regexp 's' and ' s"),
        ("(who) 's in the 1800 's", "(who)'s in the 1800's"),
    ],
    ("zwnj", True, "target"): [
        ("\u200cمی روم\u200c", "می روم"),
        ("می \u200c روم", "می  روم"),
        ("۲۰\u200cساله HTML\u200cها", "۲۰\u200cساله HTML\u200cها"),
        ("کتابِ\u200cها", "کتابِ\u200cها"),
        ("\u200c", ""),
    ],
    ("hamza", True, "target"): [
        ("ه\u0654\u0654\u0654", "ۀ"),
        ("ب\u0654", "ب\u0654"),
        ("پس الا´ن و ابدالا´باد", "پس الآن و ابدالآباد"),
        ("ا´ن و لا´", "ا´ن و لا´"),
    ],
    ("digits", "persian", "target"): [
        ("٢٥ و ۲۵", "۲۵ و ۲۵"),
        ("MP3 3D UTF-8 v1.2.3 COVID-19 a/2", "MP3 3D UTF-8 v1.2.3 COVID-19 a/2"),
        (
            "تابع sum(a = 1, b = 2) و pow(2, -1) و css)[0] و {a}^{(1)} و while(4 < n)",
            "تابع sum(a = 1, b = 2) و pow(2, -1) و css)[0] و {a}^{(1)} و while(4 < n)",
        ),
        ("صفحه(25) و 5 > 3 و قیمت = 7", "صفحه(۲۵) و ۵ > ۳ و قیمت = ۷"),
    ],
    ("orthography", True, "target"): [
        ("می روم و نمی آید", "می|روم و نمی|آید"),
        ("می توان گفت می گه", "می|توان گفت می|گه"),
        ("از یاد می بریمشان", "از یاد می|بریمشان"),
        ("بر می گردد", "بر می|گردد"),
        ("از می و قمار", "از می و قمار"),
        ("می ناب و می صافی و می هست", "می ناب و می صافی و می هست"),
        ("قدیمی رفت و اسلامی شد", "قدیمی رفت و اسلامی شد"),
        ("کتاب ها و خانه های ما", "کتاب|ها و خانه|های ما"),
        ("و هادی آمد، کتاب هاله", "و هادی آمد، کتاب هاله"),
        ("مرتفع ترین کوه", "مرتفع|ترین کوه"),
        ("صنوبر تر و تازه", "صنوبر تر و تازه"),
        ("به آب تر ساخته", "به آب تر ساخته"),
        ("حساب تر", "حساب|تر"),
        ("انداخته|بودند، پیدا|کرد", "انداخته بودند، پیدا کرد"),
        ("کتاب|ها|بود", "کتاب|ها بود"),
        ("می|شد نمی|کرد بر|می|کردند برمی|شد", "می|شد نمی|کرد بر|می|کردند برمی|شد"),
        ("شناخته|شده آزادی|خواهی در|کرد", "شناخته|شده آزادی|خواهی در|کرد"),
        ("کتاب|های رفته|ام", "کتاب|های رفته|ام"),
    ],
}
"""Text before and after a rule alone, by key, setting and side; in orthography, | stands for a ZWNJ."""
AMBIGUOUS = (
    *("3 - 2", "۱،۰۰۰ و a،۲", 'he said, " yes', "فایل .camel", "well ... yes", "رفت ...", "... and", "3.5 and 1,000"),
    *("at 10:30", "at 10 : 30", "2 . 3", "a != b", "see .NET and ?x=1", "yes :) or ;)", "{ a: 1 }", "it is 'fine' now"),
    *('the " x" and "y " so', '5 " wide', "شماست.« پس", "alert( x", "word )متن( word"),
)
"""Texts in which it is unclear where a space belongs, so they must stay unchanged."""


ALL_RULES = Normalizer(NormalizationConfig())
NO_RULES = Normalizer(NormalizationConfig.model_validate(NOTHING))
DATA = Path("../shared/data")


@pytest.fixture(scope="module")
def rules_from_file(tmp_path_factory: pytest.TempPathFactory) -> NormalizerRules:
    file = tmp_path_factory.mktemp("rules") / "normalizer.json"
    file.write_text(CURRENT_RULES.to_json(), encoding="utf-8", newline="")
    return read_rules(file)


PERSIAN_LETTER = "[\u0621-\u063a\u0641-\u064aپچژکگی]"
JOINED = re.compile(f"{PERSIAN_LETTER}\u200c+(?={PERSIAN_LETTER})")


@pytest.mark.parametrize(
    ("side", "text", "normal"),
    [
        ("target", "ﻛﺘﺎب ﻻزم ﷲ ۱۰ ﷼", "کتاب لازم الله ۱۰ ریال"),
        ("target", "رؤیاهایت دربارهٔ آن، همهٔٔ ما", "رؤیاهایت دربارۀ آن، همۀ ما"),
        ("target", "می‌‌روم ‌و‌ می‌آیم‌.", "می‌روم و می‌آیم."),
        ("target", "پروندهٔ MP3 با UTF-8 و 3D", "پروندۀ MP3 با UTF-8 و 3D"),
        ("target", 'او گفت : " سلام " ، و « رفت » .', "او گفت: «سلام»، و «رفت»."),
        ("target", "Ù…ÛŒâ€ŒØ±ÙˆÙ… – ظ…غŒâ€Œط±ظˆظ…", "می‌روم — می‌روم"),
        ("source", "it 's late , is n't it ? ( yes )", "it's late, isn't it? (yes)"),
        ("source", "كتاب 12 ك", "كتاب 12 ك"),
        ("source", "naïve café — 3 - 2", "naïve café — 3 - 2"),
        ("source", "`` it ’s r &amp; d , '' he said -- “ really ”", '"it\'s r & d," he said — "really"'),
        # Another pass normalizes what one rule uncovers.
        ("source", "R &amp;amp;amp; D", "R & D"),
        ("source", "Ã\u200b© here", "é here"),
        ("source", "yes «", 'yes"'),
        ("source", "god &quot; s", "god's"),
        ("source", 'god " s and " yes " she can " t , " no " .', 'god\'s and "yes" she can\'t, "no".'),
        ("source", 'the letter " s " is', 'the letter "s" is'),
    ],
)
def test_default_rules_together_give_the_expected_text(side: Side, text: str, normal: str) -> None:
    assert normalize({}, side, text) == normal


@settings(deadline=None, max_examples=200)
@given(CONFIGS, TEXTS)
def test_normalizing_twice_changes_nothing_more(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normalize in (normalizer.source, normalizer.target):
        once = normalize(text)
        assert normalize(once) == once
    assert NO_RULES.source(text) == NO_RULES.target(text) == text


@settings(deadline=None, max_examples=60)
@given(CONFIGS, TEXTS)
def test_rules_read_back_from_their_file_give_the_same_text(
    rules_from_file: NormalizerRules, config: NormalizationConfig, text: str
) -> None:
    normalizer = Normalizer(config)
    normalizer_of_file = Normalizer(config, rules=rules_from_file)
    assert normalizer_of_file.source(text) == normalizer.source(text)
    assert normalizer_of_file.target(text) == normalizer.target(text)


@pytest.fixture(scope="module")
def normalize_of_page() -> Callable[..., str]:
    """Return the function on the page about the file: it applies every rule to every text."""
    ((_, code),) = blocks(ROOT / "docs" / "normalizer.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "normalizer.md", "exec"), names)  # noqa: S102 - our own words
    normalize: Callable[..., str] = names["normalize"]
    return normalize


RULES_AS_DATA = json.loads(CURRENT_RULES.to_json())
PAGE_TEXTS = st.lists(st.sampled_from([*sorted(CharacterTable().page), *PIECES]), max_size=25).map("".join)


@settings(deadline=None, max_examples=200)
@given(CONFIGS, st.one_of(TEXTS, PAGE_TEXTS))
@example(NormalizationConfig(orthography=True, teh_marbuta=True), "a -LRB- b -RRB-- c (-lrb- d)")
def test_a_program_that_leaves_no_rule_out_gives_the_same_text(
    normalize_of_page: Callable[..., str], config: NormalizationConfig, text: str
) -> None:
    normalizer = Normalizer(config)
    for language, normalize in (("english", normalizer.source), ("persian", normalizer.target)):
        text_of_page = normalize_of_page(text, RULES_AS_DATA, config.model_dump(), language, FUNCTIONS)
        assert text_of_page == normalize(text)


def test_another_program_can_apply_the_file_as_its_page_says(normalize_of_page: Callable[..., str]) -> None:
    config = NormalizationConfig(orthography=True, teh_marbuta=True)
    normalizer = Normalizer(config)
    for _, _, _, *texts in EXAMPLES:
        for text in texts:
            for language, normalize in (("english", normalizer.source), ("persian", normalizer.target)):
                text_of_page = normalize_of_page(text, RULES_AS_DATA, config.model_dump(), language, FUNCTIONS)
                assert text_of_page == normalize(text)


def test_every_function_that_a_rule_names_is_explained() -> None:
    page = (ROOT / "docs" / "normalizer.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+-\d+)` \|", page, flags=re.MULTILINE) == list(FUNCTIONS)


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_normalizer_neither_adds_nor_removes_zwnj_between_letters(text: str) -> None:
    # Exclude what else creates a ZWNJ or letters beside one: soft hyphens, escapes, wrong decoding, ligatures, marks.
    text = "".join(
        c for c in text if c in "\u200c\t\r\x1f\x85\n" or c.isspace() or unicodedata.category(c)[0] in "LNPSZ"
    )
    text = re.sub("[\ufb50-\ufdff\ufe70-\ufeff\u0640&\u00ad]", "", text)
    assume(not is_suspect(text))
    assert len(JOINED.findall(ALL_RULES.target(text))) == len(JOINED.findall(text))


@settings(deadline=None, max_examples=120)
@given(CONFIGS, TEXTS)
def test_normalizer_leaves_single_plain_spaces_and_adds_no_newline(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normal in (normalizer.source(text), normalizer.target(text)):
        assert "\n" not in normal or "\n" in text
        if config.spaces:
            assert normal == normal.strip(" ")
            assert "  " not in normal
            assert normal == " ".join(normal.split()) or not config.zero_width


@settings(deadline=None, max_examples=120)
@given(TEXTS)
def test_fold_of_normalized_text_is_fold_of_raw_text(text: str) -> None:
    assume("&" not in text and not is_suspect(text))  # fold repairs only one layer of damage
    # The normalizer may remove a character beside a tokenizer's bracket (-LRB-), and then recognizes it; fold does not.
    assume(not re.search("(?i)[^ -~]-[lr][rsc]b-|-[lr][rsc]b-[^ -~]", text))
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert fold(normal + " x") == fold(text + " x")  # a letter, so that there is something to compare


@pytest.mark.skipif(not DATA.is_dir(), reason="the real corpora are not in ../shared/data")
@pytest.mark.parametrize("name", ["mizan.zip", "tatoeba.zip", "bible.en-fa.zip", "quran.en-fa.zip", "docs.tsv.gz"])
def test_normalizing_real_text_is_idempotent_and_keeps_its_fold(name: str) -> None:
    changed_lines = 0
    source = SourceConfig(name="real", path=str(DATA / name))
    for pair in itertools.islice(read_pairs(source), 4000, 7000):
        for normalize, text in ((ALL_RULES.source, pair.source), (ALL_RULES.target, pair.target)):
            normal = normalize(text)
            changed_lines += normal != text
            assert normalize(normal) == normal
            assert fold(normal) == fold(text)
    assert changed_lines


def normalize(settings: dict[str, object], side: Side, text: str) -> str:
    normalizer = Normalizer(NormalizationConfig.model_validate(settings))
    return normalizer.source(text) if side == "source" else normalizer.target(text)


def test_every_key_is_a_rule_with_an_example_for_each_side() -> None:
    assert {rule.key for rule in CURRENT_RULES.rules} == set(NormalizationConfig.model_fields)
    shown = {(key, value, side) for key, value, side, before, after in EXAMPLES if before != after}
    working = {(rule.key, rule.value, "source") for rule in CURRENT_RULES.rules if rule.english != NOTHING_TO_DO}
    working |= {(rule.key, rule.value, "target") for rule in CURRENT_RULES.rules if rule.persian != NOTHING_TO_DO}
    assert shown == working


@pytest.mark.parametrize(("key", "value", "side", "before", "after"), EXAMPLES)
def test_a_rule_works_alone_and_with_the_others_and_can_be_switched_off(
    key: str, value: bool | str, side: Side, before: str, after: str
) -> None:
    assert normalize({**NOTHING, key: value}, side, before) == after
    assert normalize({**NOTHING, key: value}, side, after) == after
    assert normalize({key: value}, side, before) == after
    assert normalize(NOTHING, side, before) == before


@pytest.mark.parametrize(("key", "value", "side"), ALONE)
def test_a_rule_alone_changes_only_the_text_it_should(key: str, value: bool | str, side: Side) -> None:
    pairs = [*ALONE[key, value, side]]
    if key == "punctuation_spacing":
        pairs += [(text, text) for text in AMBIGUOUS]
    for before, after in pairs:
        if key == "orthography":
            before = before.replace("|", "\u200c")
            after = after.replace("|", "\u200c")
        assert normalize({**NOTHING, key: value}, side, before) == after


EXAMPLE_TEXTS = list(itertools.chain.from_iterable(texts for _, _, _, *texts in EXAMPLES))


def test_output_changes_only_with_the_normalizer_version() -> None:
    """A change to a rule's output must raise the version, so that no model gets text unlike its training text."""
    texts = list(EXAMPLE_TEXTS)
    texts += [
        "It 's ` late ' , ;Nay,; he said -- `` no '' ( 3 - 2 ) . . . 10 : 30 a != b :)",
        "\u200cمی\u200c\u200cروم ، « كتابهای 25 ساله » , sum(a = 1, b = 2) و arr[0] و Windows 10 , ۵۰ %",
        "قرآن سدرة المنتهى مُسلّماً خانهٔ الا´ن کتـــاب ﻻ ﷲ \u00ad\u200f 1,000 و ٣٫٥ !؟ می کند بزرگ تر رفته\u200cبود",
    ]
    outputs: list[str] = []
    for config in (NormalizationConfig(), NormalizationConfig(teh_marbuta=True, digits="ascii", orthography=True)):
        normalizer = Normalizer(config)
        outputs += map(normalizer.source, texts)
        outputs += map(normalizer.target, texts)
    digest = hashlib.sha256(json.dumps(outputs).encode()).hexdigest()[:16]
    assert (CURRENT_RULES.version, digest) == (3, "68b7bf6ca2206f37")


def test_the_data_of_the_rules_change_only_with_the_normalizer_version() -> None:
    """A run keeps the rules as data under this hash; a pattern may be composed in another way, but not change."""
    assert (CURRENT_RULES.version, CURRENT_RULES.sha256[:16]) == (3, "390354b6a91ede2f")


def test_folds_change_only_with_the_version_of_the_preparation() -> None:
    """Prepared data are kept for the same version, and their duplicates are found by folds."""
    folds = [fold(text) for text in EXAMPLE_TEXTS]
    digest = hashlib.sha256(json.dumps(folds).encode()).hexdigest()[:16]
    assert (PREPARE_VERSION, digest) == (4, "86626f5c7d473746")
