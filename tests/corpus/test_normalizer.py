"""The normalizer: each rule alone, all together, idempotent, with half-spaces (ZWNJ) kept."""

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.doc_examples import ROOT, blocks
from translator.config import NormalizationConfig, SourceConfig
from translator.corpus.fingerprint import PREPARE_VERSION
from translator.corpus.normalizer.mojibake import is_suspect
from translator.corpus.normalizer.normalizer import CHOSEN, CURRENT_RULES, Normalizer
from translator.corpus.normalizer.rules import FUNCTIONS, NOTHING
from translator.corpus.reading.pairs import read_pairs
from translator.corpus.selecting.folding import fold

Side = Literal["source", "target"]
EXAMPLES = yaml.safe_load(Path(__file__).with_name("normalizer.yaml").read_text(encoding="utf-8"))
ALONE = [(group["key"], group["value"], group["side"], *pair) for group in EXAMPLES["alone"] for pair in group["pairs"]]
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
CONFIGS = st.builds(
    NormalizationConfig,
    rules=st.sampled_from(["standard", "none"]),
    mojibake=st.booleans(),
    digits=st.sampled_from(["keep", "persian", "ascii"]),
    orthography=st.booleans(),
)
ALL_RULES = Normalizer(NormalizationConfig())
NO_RULES = Normalizer(NormalizationConfig(rules="none", mojibake=False, digits="keep"))
DATA = Path("../shared/data")
PERSIAN_LETTER = "[\u0621-\u063a\u0641-\u064aپچژکگی]"
JOINED = re.compile(f"{PERSIAN_LETTER}\u200c+(?={PERSIAN_LETTER})")


def normalize(normalizer: Normalizer, side: Side, text: str) -> str:
    return normalizer.source(text) if side == "source" else normalizer.target(text)


def alone(key: str, value: bool | str) -> Normalizer:
    """Return a normalizer with one rule."""
    (rule,) = [rule for rule in CURRENT_RULES.rules if (rule.key, rule.value) == (key, value)]
    chosen = {key: value} if key in CHOSEN else {}
    return Normalizer(NormalizationConfig.model_validate(chosen), rules=replace(CURRENT_RULES, rules=(rule,)))


@pytest.mark.parametrize(("key", "value", "side", "before", "after"), ALONE)
def test_a_rule_alone_changes_what_it_should(key: str, value: bool | str, side: Side, before: str, after: str) -> None:
    normalizer = alone(key, value)
    assert normalize(normalizer, side, before) == after
    assert normalize(normalizer, side, after) == after
    assert normalize(NO_RULES, side, before) == before


@pytest.mark.parametrize("text", EXAMPLES["ambiguous"])
def test_where_the_place_of_a_space_is_unclear_it_stays(text: str) -> None:
    assert alone("punctuation_spacing", True).target(text) == text


@pytest.mark.parametrize(("side", "before", "after"), EXAMPLES["together"])
def test_default_rules_together_give_the_expected_text(side: Side, before: str, after: str) -> None:
    assert normalize(ALL_RULES, side, before) == after


def test_every_rule_has_an_example_for_each_side() -> None:
    shown = {(key, value, side) for key, value, side, before, after in ALONE if before != after}
    working = {(rule.key, rule.value, "source") for rule in CURRENT_RULES.rules if rule.english != NOTHING}
    working |= {(rule.key, rule.value, "target") for rule in CURRENT_RULES.rules if rule.persian != NOTHING}
    assert shown == working


@pytest.mark.parametrize(
    ("settings_of_rules", "text", "normal"),
    [
        ({"rules": "none"}, "Ø³Ù„Ø§Ù… كتاب  25 .", "سلام كتاب  ۲۵ ."),
        ({"digits": "keep"}, "كتاب  25 .", "کتاب 25."),
        ({"digits": "ascii"}, "كتاب ۲۵ .", "کتاب 25."),
        ({"mojibake": False}, "cafÃ© .", "cafÃ©."),
        ({"orthography": True}, "می روم .", "می\u200cروم."),
    ],
)
def test_a_configuration_chooses_the_rules(settings_of_rules: dict[str, object], text: str, normal: str) -> None:
    assert Normalizer(NormalizationConfig.model_validate(settings_of_rules)).target(text) == normal


@settings(deadline=None, max_examples=200)
@given(CONFIGS, TEXTS)
def test_normalizing_twice_changes_nothing_more(config: NormalizationConfig, text: str) -> None:
    normalizer = Normalizer(config)
    for normalize in (normalizer.source, normalizer.target):
        once = normalize(text)
        assert normalize(once) == once
    assert NO_RULES.source(text) == NO_RULES.target(text) == text


@pytest.fixture(scope="module")
def normalize_of_page() -> Callable[..., str]:
    """Return the function on the page about the file: it applies every rule to every text."""
    ((_, code),) = blocks(ROOT / "docs" / "normalizer.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "normalizer.md", "exec"), names)  # noqa: S102 - our own words
    normalize: Callable[..., str] = names["normalize"]
    return normalize


@settings(deadline=None, max_examples=200)
@given(CONFIGS, TEXTS)
def test_another_program_can_apply_the_file_as_its_page_says(
    normalize_of_page: Callable[..., str], config: NormalizationConfig, text: str
) -> None:
    normalizer = Normalizer(config)
    data = json.loads(CURRENT_RULES.to_json())
    for language, normalize_side in (("english", normalizer.source), ("persian", normalizer.target)):
        assert normalize_of_page(text, data, config.model_dump(), language, FUNCTIONS) == normalize_side(text)


def test_every_function_that_a_rule_names_is_explained() -> None:
    page = (ROOT / "docs" / "normalizer.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+-\d+)` \|", page, flags=re.MULTILINE)) == FUNCTIONS.keys()


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
@given(TEXTS)
def test_normalizer_leaves_single_plain_spaces_and_adds_no_newline(text: str) -> None:
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert "\n" not in normal
        assert normal == " ".join(normal.split())


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


EXAMPLE_TEXTS = [text for *_, before, after in ALONE for text in (before, after)]


def test_output_changes_only_with_the_normalizer_version() -> None:
    """A change to a rule's output must raise the version, so that no model gets text unlike its training text."""
    texts = [
        *EXAMPLE_TEXTS,
        "It 's ` late ' , ;Nay,; he said -- `` no '' ( 3 - 2 ) . . . 10 : 30 a != b :)",
        "\u200cمی\u200c\u200cروم ، « كتابهای 25 ساله » , sum(a = 1, b = 2) و arr[0] و Windows 10 , ۵۰ %",
        "قرآن سدرة المنتهى مُسلّماً خانهٔ الا´ن کتـــاب ﻻ ﷲ \u00ad\u200f 1,000 و ٣٫٥ !؟ می کند بزرگ تر رفته\u200cبود",
    ]
    outputs: list[str] = []
    for config in (NormalizationConfig(), NormalizationConfig(digits="ascii", orthography=True)):
        normalizer = Normalizer(config)
        outputs += map(normalizer.source, texts)
        outputs += map(normalizer.target, texts)
    digest = hashlib.sha256(json.dumps(outputs).encode()).hexdigest()[:16]
    assert (CURRENT_RULES.version, digest) == (3, "060b92210b576e81")


def test_the_data_of_the_rules_change_only_with_the_normalizer_version() -> None:
    """A run keeps the rules as data under this hash; a pattern may be composed in another way, but not change."""
    assert (CURRENT_RULES.version, CURRENT_RULES.sha256[:16]) == (3, "fca80c798b01b001")


def test_folds_change_only_with_the_version_of_the_preparation() -> None:
    """Prepared data are kept for the same version, and their duplicates are found by folds."""
    folds = [fold(text) for text in EXAMPLE_TEXTS]
    digest = hashlib.sha256(json.dumps(folds).encode()).hexdigest()[:16]
    assert (PREPARE_VERSION, digest) == (4, "ac7ec5973ca666b0")
