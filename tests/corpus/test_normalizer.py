"""The normalizer: each rule alone, all together, idempotent, and as the file of its rules says."""

import functools
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ftfy.bad_codecs  # noqa: F401  registers sloppy-windows-1252, in which undefined bytes are controls
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.doc_examples import ROOT, blocks
from translator.config import NormalizationConfig
from translator.corpus.fingerprint import PREPARE_VERSION
from translator.corpus.normalizer.mojibake import is_suspect, repair_decoding
from translator.corpus.normalizer.normalizer import CHOSEN, CURRENT_RULES, Normalizer
from translator.corpus.normalizer.rules import FUNCTIONS, SIGNS_OF_FUNCTIONS
from translator.corpus.selecting.folding import PAGE, fold, fold_repaired

EXAMPLES = yaml.safe_load(Path(__file__).with_name("normalizer.yaml").read_text(encoding="utf-8"))
CHARACTERS, PIECES = "".join(EXAMPLES["characters"]), EXAMPLES["pieces"]
TEXTS = st.lists(
    st.one_of(st.sampled_from([*CHARACTERS, *PIECES, *PIECES]), st.characters(exclude_categories=["Cs"])),
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
normalizer_of = functools.cache(Normalizer)  # of a configuration; the rules take time to compile


def alone(key: str, value: bool | str) -> Normalizer:
    """Return a normalizer with one rule."""
    (rule,) = [rule for rule in CURRENT_RULES.rules if (rule.key, rule.value) == (key, value)]
    chosen = {key: value} if key in CHOSEN else {}
    return Normalizer(NormalizationConfig.model_validate(chosen), rules=replace(CURRENT_RULES, rules=(rule,)))


@pytest.mark.parametrize("group", EXAMPLES["alone"], ids=lambda group: f"{group['key']} {group['side']}")
def test_a_rule_alone_changes_what_it_should(group: dict[str, Any]) -> None:
    normalize = getattr(alone(group["key"], group["value"]), group["side"])
    for before, after in group["pairs"]:
        assert normalize(before) == normalize(after) == after
    for unclear in group.get("stays", ()):
        assert normalize(unclear) == unclear


@pytest.mark.parametrize(("side", "before", "after"), EXAMPLES["together"])
def test_default_rules_together_give_the_expected_text(side: str, before: str, after: str) -> None:
    assert getattr(ALL_RULES, side)(before) == after


@pytest.mark.parametrize(("settings_of_rules", "text", "normal"), EXAMPLES["settings"])
def test_a_configuration_chooses_the_rules(settings_of_rules: dict[str, object], text: str, normal: str) -> None:
    assert Normalizer(NormalizationConfig.model_validate(settings_of_rules)).target(text) == normal


RULES_OF_FILE = json.loads(CURRENT_RULES.to_json())


@pytest.fixture(scope="module")
def normalize_of_page() -> Callable[..., str]:
    """Return the function on the page about the file: it applies every rule to every text."""
    ((_, code),) = blocks(ROOT / "docs" / "normalizer.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "normalizer.md", "exec"), names)  # noqa: S102 - our own words
    normalize: Callable[..., str] = names["normalize"]
    return normalize


@settings(max_examples=150)
@given(CONFIGS, TEXTS)
def test_text_is_normalized_as_the_page_says_and_a_second_time_changes_nothing_more(
    normalize_of_page: Callable[..., str], config: NormalizationConfig, text: str
) -> None:
    normalizer = normalizer_of(config)
    for language, normalize in (("english", normalizer.source), ("persian", normalizer.target)):
        normal = normalize(text)
        assert normalize_of_page(text, RULES_OF_FILE, config.model_dump(), language, FUNCTIONS) == normal
        assert normalize(normal) == normal
        if config.rules == "standard":
            assert normal == " ".join(normal.split())


@given(TEXTS)
def test_a_function_changes_only_texts_with_one_of_its_signs(text: str) -> None:
    for name, signs in SIGNS_OF_FUNCTIONS.items():
        assert FUNCTIONS[name](text) == text or not signs.isdisjoint(text)


def test_every_function_that_a_rule_names_is_explained() -> None:
    page = (ROOT / "docs" / "normalizer.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+-\d+)` \|", page, flags=re.MULTILINE)) == FUNCTIONS.keys()


# --- folds ---


@pytest.mark.parametrize(("text", "variant"), EXAMPLES["folds"])
def test_fold_makes_variants_equal(text: str, variant: str) -> None:
    assert fold(text) == fold(variant) != ""


def test_fold_keeps_different_texts_apart() -> None:
    texts = EXAMPLES["different_folds"]
    assert len(set(map(fold, texts))) == len(texts)


@given(st.one_of(st.text(st.sampled_from(PAGE)), TEXTS))
def test_fold_by_the_page_is_that_of_any_text(text: str) -> None:
    assert fold(text) == (fold_repaired(text) or " ".join(text.split()))


@settings(max_examples=60)
@given(TEXTS)
def test_fold_of_normalized_text_is_fold_of_raw_text(text: str) -> None:
    assume("&" not in text and not is_suspect(text))  # fold repairs only one layer of damage
    # The normalizer may remove a character beside a tokenizer's bracket (-LRB-), and then recognizes it; fold does not.
    assume(not re.search("(?i)[^ -~]-[lr][rsc]b-|-[lr][rsc]b-[^ -~]", text))
    for normal in (ALL_RULES.source(text), ALL_RULES.target(text)):
        assert fold(normal + " x") == fold(text + " x")  # a letter, so that there is something to compare


# --- text that was decoded with a wrong encoding ---


@pytest.mark.parametrize("wrong", ["latin-1", "sloppy-windows-1252", "windows-1256", "macroman", "cp437"])
def test_repair_restores_utf8_decoded_with_a_wrong_encoding(wrong: str) -> None:
    for text in ("سلام", "می\u200cخواهم کتاب\u200cها را بخوانم؟", "از «ایران» ۱۲ پچژگ", "گفت: «آری»"):
        damaged = text.encode("utf-8").decode(wrong)
        assert is_suspect(damaged)
        assert repair_decoding(damaged) == text


@pytest.mark.parametrize("texts", EXAMPLES["mojibake"])
def test_repair_changes_only_unmistakable_damage(texts: list[str]) -> None:
    assert repair_decoding(texts[0]) == texts[-1]


@given(
    st.text(st.sampled_from("ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآئءۀ\u200c ،؛؟.!«»…–—”“’‘\u00a0۱۲۳abcXYZ"), max_size=60)
)
def test_repair_never_changes_clean_persian(text: str) -> None:
    assert repair_decoding(text) == text


# --- what a version stands for ---

EXAMPLE_TEXTS = [text for group in EXAMPLES["alone"] for pair in group["pairs"] for text in pair]


def digest(texts: list[str]) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


def test_rules_and_their_output_change_only_with_the_normalizer_version() -> None:
    """No model gets text unlike its training text, and a run keeps the rules as data under their hash."""
    texts = [
        *EXAMPLE_TEXTS,
        "It 's ` late ' , ;Nay,; he said -- `` no '' ( 3 - 2 ) . . . 10 : 30 a != b :)",
        "\u200cمی\u200c\u200cروم ، « كتابهای 25 ساله » , sum(a = 1, b = 2) و arr[0] و Windows 10 , ۵۰ %",
        "قرآن سدرة المنتهى مُسلّماً خانهٔ الا´ن کتـــاب ﻻ ﷲ \u00ad\u200f 1,000 و ٣٫٥ !؟ می کند بزرگ تر رفته\u200cبود",
    ]
    outputs: list[str] = []
    for config in (NormalizationConfig(), NormalizationConfig(digits="ascii", orthography=True)):
        normalizer = Normalizer(config)
        outputs += [*map(normalizer.source, texts), *map(normalizer.target, texts)]
    expected = (3, "c1aed655a9648978", "060b92210b576e81")
    assert (CURRENT_RULES.version, CURRENT_RULES.sha256[:16], digest(outputs)) == expected


def test_folds_change_only_with_the_version_of_the_preparation() -> None:
    """Prepared data are kept for the same version, and their duplicates are found by folds."""
    assert (PREPARE_VERSION, digest(list(map(fold, EXAMPLE_TEXTS)))) == (4, "ac7ec5973ca666b0")
