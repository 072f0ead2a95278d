"""The rules that drop a pair: examples on both sides of each limit, the table of rules, and arbitrary text."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.config import FilterConfig, NormalizationConfig, SourceConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.filters import PAIR_RULES, PairFilter, Sides

SHARED = Path("../shared/data")
SAMPLE = Path("data/sample")
CHECKS = {rule.name: rule.check for rule in PAIR_RULES}
Pairs = list[tuple[str, str]]
OTHER = "طنین به او جواب داد: من تنها هستم"
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

MARKUP = [
    "See http://example.org/a/long/address",
    "www.example.org",
    "Write to somebody.long@example.org",
    '<div class="box"><b>Enter</b></div>',
    "&lt;&nbsp;&#160;&gt; or",
    "Max: $Y=\\max(X_1,X_2)$",
    "return object.toString();",
    "[[File:somebody.jpg]]",
    "{{cite|book|year=1990}}",
]
NO_MARKUP = [
    "Press <b>Enter</b> to go on with the next one.",
    "Salt & pepper, and/or oil; 3 < 4 = true",
    "(Revelation);",
    "By the Mount (of Revelation);",
    "convert_dir_to_date is a name",
    "He paid $5 (or $6) @ noon.",
]


def on_either_side(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs with each text as the source, and as the target."""
    pairs = [(text, "در باز است.") for text in texts]
    pairs += [("The door is open.", text) for text in texts]
    return pairs


CASES: dict[tuple[str, float], tuple[Pairs, Pairs]] = {
    ("empty", 0): ([("", "در"), ("door", ""), (" \t", "در"), ("door", "\u2028")], [("door", "در")]),
    ("replacement_character", 0): ([("caf\ufffd", "کافه"), ("café", "کاف\ufffd")], [("café", "کافه")]),
    ("too_many_words", 3): (
        [("the door is open", "در"), ("door", "در باز است آن")],
        [("doors are   open", "در باز است")],
    ),
    ("too_many_characters", 5): ([("a door", "در"), ("door", "یک درب")], [("doors", "درهای")]),
    ("length_ratio", 4.0): (
        [("a" * 20, "ب" * 4), ("a" * 4, "ب" * 20), ("He was standing at the window.", "او.")],
        [("a" * 20, "ب" * 5), ("a" * 19, "ب"), ("No", "به هیچ وجه")],
    ),
    ("word_ratio", 4.0): (
        [("a " * 12, "ب " * 2), ("a " * 2, "ب " * 12), ("He is a man who may or may not be at home", "نه او.")],
        [("a " * 12, "ب " * 3), ("a " * 11, "ب"), ("I do not know", "نمی‌دانم")],
    ),
    ("source_script", 0.5): (
        [("дом и сад", "در"), ("در باز است.", "در")],
        [("The door", "در"), ("“Café”—naïve", "در"), ("дом home", "در"), ("1999", "در")],
    ),
    ("target_script", 0.5): (
        [
            ("The door", "The door"),
            ("Where is the market?", "بازار کجاست؟ (Bāzār kojāst?)"),
            ("Hi, I hope you are well.", "salam, omid ke khub bashi"),
            ("dome", "купол آن"),
            ("makefile", "فایل makefile"),
        ],
        [
            ("The door", "در"),
            ("HTML languages", "زبان‌های HTML"),
            ("Run ls --all --human-readable", "فرمان ls --all --human-readable را اجرا کنید"),
        ],
    ),
    ("untranslated", 0.8): (
        [
            ("He opened the door", "He opened the door او در را باز کرد"),
            ("He opened the door او در را باز کرد", "او در را باز کرد"),
        ],
        [
            ("Python is fast", "زبان Python سریع است"),
            ("Tom Sawyer", "Tom Sawyer"),
            (
                "Vue offers two API styles: Options API and Composition API.",
                "Vue دو سبک Options API و Composition API دارد",
            ),
            ("1 2 3 4 5 - - :", "1 2 3 4 5 - - :"),
        ],
    ),
    ("numbers", 0.5): (
        [
            ("Chapter 12", "فصل ۲۱"),
            ("between 10 and 20 of 30", "بین ۱۱ و ۲۱ از ۳۰"),
            ("on April 28", "روز ۸ آوریل"),
            ("2. The 7 gates", "۳) ۸ دروازه"),
        ],
        [
            ("between 10 and 20", "بین ۱۰ و ۲۱"),
            ("in 1,200 days and 3.5 hours", "در ۱۲۰۰ روز و ۳/۵ ساعت"),
            ("UTF-8, utf8, H2O, 3D, 007", "UTF-۸ و ۷"),
            ("Chapter 12", "فصل دوازده"),
            ("Chapter twelve", "فصل ۱۲"),
            ("5 of the seven", "پنج تا از ۷"),
            ("in the 1970s", "در دهه ۷۰"),
            ("3,846 people", "۳، ۸۴۶ تن"),
            ("born in 1990", "زاده ۱۳۶۹"),
            ("on 17/4/2001", "در ۱۳۸۰/۱/۲۸"),
            ("on 28th April", "روز ۸ ثور"),
            ("3. See 1", "بخش ۱"),
        ],
    ),
    ("repetition", 0.5): (
        [
            ("he went in and he went in and he went in and", OTHER),
            ("ha " * 30, "ها " * 30),
            ("ha " * 10, OTHER),
            (
                "serene inward feelings bud and bloom under the ray.",
                "و مثل غنچه و شکوفه هایی است که در پرتو نور و مثل غنچه و شکوفه هایی است که در پرتو نور صفا یافته‌اند",
            ),
        ],
        [
            ("no, no, no, no!", "نه، نه، نه، نه!"),
            ("ha " * 9, OTHER),
            (
                "Trust ye not in lying words, The temple of the Lord, The temple of the Lord, The temple of the Lord.",
                "به سخنان دروغ توکل منمایید و مگویید که هیکل یهوه، هیکل یهوه، هیکل یهوه این است.",
            ),
            (
                "Which was the son of Melea, which was the son of Menan, which was the son of Nathan,",
                "ابن ملیا، بن مینان، بن متاتا بن ناتان،",
            ),
        ],
    ),
    ("arabic", 0.5): ([("some text", text) for text in ARABIC], [("some text", text) for text in PERSIAN]),
    ("arabic", 0.7): ([("some text", "هذا الکتاب الذی را")], []),
    ("arabic", 0.75): ([], [("some text", "هذا الکتاب الذی را")]),
    ("markup", 0.5): (
        on_either_side(MARKUP),
        on_either_side(NO_MARKUP),
    ),
}
"""For each rule and limit: the pairs that it drops, then the pairs that it keeps."""


def breaks(rule: str, source: str, target: str, limit: float) -> bool:
    source_words = source.split()
    target_words = target.split()
    sides = Sides(
        texts=(source, target),
        words=(source_words, target_words),
        vocabularies=(set(source_words), set(target_words)),
    )
    return CHECKS[rule](sides, limit)


@pytest.mark.parametrize(("rule", "limit"), CASES)
def test_rule_drops_pairs_beyond_its_limit_and_keeps_the_others(rule: str, limit: float) -> None:
    for pairs, dropped in zip(CASES[rule, limit], (True, False), strict=True):
        for source, target in pairs:
            assert breaks(rule, source, target, limit) is dropped, (source, target)
            if rule == "repetition":
                assert breaks(rule, target, source, limit) is dropped, (target, source)


DROPPED = {
    "replacement_character": ("The caf\ufffd is open.", "کافه باز است."),
    "no_words": ("12:30", "۱۲:۳۰"),
    "too_many_words": ("a " * 100 + "a", "در " * 100 + "باز"),
    "too_many_characters": ("a" * 1001, "ب" * 1000),
    "length_ratio": ("He was standing at the window again.", "او بود."),
    "word_ratio": ("He is a man who may be at home or may be not", "مرد‌درخانه‌شاید‌باشد یانه"),
    "source_script": ("дом и сад", "خانه و باغ"),
    "target_script": ("The door", "The door"),
    "arabic": ("I do not know who wrote this book.", "لا أعرف من کتب هذا الکتاب."),
    "untranslated": ("He opened the door", "He opened the door او در را باز کرد و سپس از خانه رفت"),
    "numbers": ("Chapter 12", "فصل ۲۱"),
    "markup": ("See http://example.org/a/long/address", "این نشانی بلند را ببینید: دکمه"),
    "repetition": ("he went in and he went in and he went in and", "او رفت تو و او رفت تو و او رفت تو و او رفت تو و"),
}
"""For each rule but `empty`, a pair that breaks it and no rule before it."""
TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="aب ال۱2.،<>@&;{}()/\\_\u200c\ufffd", max_size=80),
    st.lists(st.sampled_from(["the", "12", "۱۲", "در", "هذا", "www.x.y", "<b>", "http://x"]), max_size=40).map(
        " ".join
    ),
)


def switched_off(key: str) -> bool | None:
    """Return the value of a filter's key that switches its rule off: false for a switch, null for a limit."""
    return False if FilterConfig.model_fields[key].annotation is bool else None


KEYS = {rule.name: rule.limit for rule in PAIR_RULES if isinstance(rule.limit, str)}
ALL_OFF = {key: switched_off(key) for key in KEYS.values()}
LIMITS = {
    "no_words": True,
    "max_words": 100,
    "max_length_ratio": 4.0,
    "min_target_script": 0.5,
    "max_untranslated": 0.8,
}
"""Settings under which the pairs of `DROPPED` break their rules, whatever the defaults are."""


def test_every_rule_has_an_example_and_every_key_a_limit() -> None:
    assert DROPPED.keys() | {"empty"} == CHECKS.keys()
    assert LIMITS.keys() == set(KEYS.values())


@pytest.mark.parametrize("rule", DROPPED)
def test_a_rule_that_is_on_drops_its_example(rule: str) -> None:
    setting = {KEYS[rule]: LIMITS[KEYS[rule]]} if rule in KEYS else {}
    only_this_rule = PairFilter(FilterConfig.model_validate({**ALL_OFF, **setting}))
    assert only_this_rule.broken_rule(*DROPPED[rule]) == rule


@pytest.mark.parametrize("rule", DROPPED)
def test_the_example_of_a_rule_breaks_no_rule_before_it(rule: str) -> None:
    assert PairFilter(FilterConfig.model_validate(LIMITS)).broken_rule(*DROPPED[rule]) == rule


@pytest.mark.parametrize(("rule", "key"), KEYS.items())
def test_a_rule_that_is_switched_off_drops_no_pair(rule: str, key: str) -> None:
    all_others = PairFilter(FilterConfig.model_validate({**LIMITS, key: switched_off(key)}))
    assert all_others.broken_rule(*DROPPED[rule]) != rule


def test_filter_keeps_good_pairs_and_reports_the_first_broken_rule() -> None:
    broken_rule = PairFilter(FilterConfig.model_validate(LIMITS)).broken_rule
    for pair in (
        ("The door is open.", "در باز است."),
        ("He saw her on May 12, 1990.", "او را در ۱۲ مه ۱۹۹۰ دید."),
        ("In the beginning God created the heaven and the earth.", "در ابتدا، خدا آسمانها و زمین را آفرید."),
        ("Page 1999", "صفحهٔ ۱۹۹۹"),
        ("é ñ", "آب"),
    ):
        assert broken_rule(*pair) is None
    everything = " ".join(itertools.chain(*DROPPED.values()))
    assert broken_rule(everything, everything) == "replacement_character"
    assert broken_rule("Chapter 12 www.example.org", "فصل زیبای ۲۱") == "numbers"


def test_a_filter_without_keys_keeps_only_the_rules_that_have_none_but_0_is_a_limit() -> None:
    without_keys = PairFilter(FilterConfig.model_validate(ALL_OFF))
    for rule, pair in DROPPED.items():
        if rule != "too_many_words":  # its example also repeats
            assert without_keys.broken_rule(*pair) == (None if rule in KEYS else rule)
    assert without_keys.broken_rule("", "x") == "empty"
    no_copies = FilterConfig.model_validate({**ALL_OFF, "max_untranslated": 0.0})
    assert PairFilter(no_copies).broken_rule("See Sara and Tom at", "Sara and Tom at را ببین") == "untranslated"


@settings(max_examples=300, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_filter_decides_any_pair_independently_of_earlier_pairs(source: str, target: str, unrelated_text: str) -> None:
    pair_filter = PairFilter(FilterConfig())
    rule = pair_filter.broken_rule(source, target)
    assert rule is None or rule in CHECKS
    pair_filter.broken_rule(unrelated_text, target)
    pair_filter.broken_rule(source, unrelated_text)
    assert pair_filter.broken_rule(source, target) == rule


@pytest.mark.parametrize(
    ("path", "minimum_share"),
    [(SHARED / "mizan.zip", 0.97), *((SAMPLE / f"{split}.tsv", 1.0) for split in ("train", "validation", "test"))],
    ids=str,
)
def test_filter_keeps_nearly_all_pairs_of_clean_corpora(path: Path, minimum_share: float) -> None:
    if not path.exists():
        pytest.skip("the real corpora are not in ../shared/data")
    normalizer = Normalizer(NormalizationConfig())
    pair_filter = PairFilter(FilterConfig())
    source = SourceConfig(name="x", path=str(path))
    pairs = list(itertools.islice(read_pairs(source), 5000))
    kept_pairs = 0
    for pair in pairs:
        rule = pair_filter.broken_rule(normalizer.source(pair.source), normalizer.target(pair.target))
        kept_pairs += rule is None
    assert kept_pairs >= minimum_share * len(pairs)
