"""What a model cannot translate comes back as it is: text without words or in another script, and lone signs."""

import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.echo_model import Words, echo
from translator import Translator
from translator.config import NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.subword.placeholders import PLACEHOLDERS, cut_out_unreadable, put_back
from translator.subword.source_text import is_mostly_in_script


class FewSigns(Words):
    """Words, and no signs but the comma and the full stop."""

    def has_sign(self, sign: str) -> bool:
        return sign in ",."

    def has_pieces(self, text: str) -> bool:
        return text.isascii()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("* * *", "* * *"),
        ("  ----- ", "  ----- "),
        ("(…)", "(…)"),
        ("2,200 - 3.14%", "۲,۲۰۰ - ۳.۱۴%"),
        ("https://x.org/a1", "https://x.org/a1"),
        ("→\n←", "→ ←"),
        ("\x1b→\ufffd", "→"),
        ("\ufffd", ""),
    ],
)
def test_a_line_without_words_never_reaches_the_model(line: str, expected: str) -> None:
    translator, model = echo()
    assert translator.translate(line) == expected
    assert model.shapes == []


@settings(deadline=None, max_examples=30)
@given(st.text(st.characters(categories=["S", "P", "Zs", "M"], exclude_characters="\ufffd"), min_size=1, max_size=20))
def test_a_line_without_letters_and_digits_is_returned_unchanged(line: str) -> None:
    assert echo()[0].translate(line) == ("" if line.isspace() else line)


@pytest.mark.parametrize(
    ("text", "script", "readable"),
    [
        ("café, Dvořák, naïve", "LATIN", True),
        ("Ｆｕｌｌ ｗｉｄｔｈ, 𝐁𝐨𝐥𝐝", "LATIN", True),
        ("the word سلام means hello", "LATIN", True),
        ("سلام dear", "LATIN", True),
        ("سلام", "LATIN", False),
        ("Привет, мир", "LATIN", False),
        ("你好", "LATIN", False),
        ("در Paris بود", "ARABIC", True),
        ("in Paris", "ARABIC", False),
    ],
)
def test_the_script_of_a_text_is_that_of_most_of_its_letters(text: str, script: str, readable: bool) -> None:
    assert is_mostly_in_script(text, script) == readable


@pytest.mark.parametrize(
    ("languages", "texts", "message"),
    [
        (
            (ENGLISH, PERSIAN),
            ["Hello.", "Привет. Yes.", "", "你好 12"],
            "lines 12, 14: text that is not in Latin",
        ),
        ((PERSIAN, ENGLISH), ["سلام.", "Привет. بله.", "", "Hello 12"], "lines 12, 14: text that is not in Arabic"),
    ],
)
def test_sentences_in_another_script_are_copied_with_one_warning(
    languages: Any, texts: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    translator, model = echo()
    translator.normalizer = Normalizer(NormalizationConfig(), languages)
    assert [best.text for (best,) in translator.translations(texts, first_line=11)] == texts
    assert sum(rows for rows, _ in model.shapes) == 2, "only the readable sentences are translated"
    (logged,) = caplog.messages
    assert logged.startswith(message)


def test_signs_that_the_vocabulary_lacks_are_copied_by_placeholders_or_beside_the_sentence() -> None:
    translator, _ = echo(source=FewSigns(PLACEHOLDERS[:2]))
    for text in ("• Open it.", "It is 😂 ▪ ▪", "a → b"):
        assert translator.translate(text) == text
    assert translator.translate("It is €20 now") == "It is €۲۰ now"
    assert "→" not in translator.subword.source.words  # type: ignore[attr-defined]


def test_signs_that_the_vocabulary_lacks_are_left_out_without_placeholders() -> None:
    translator, _ = echo(source=FewSigns())
    assert translator.translate("• a → b ©") == "• a b ©"


@pytest.mark.parametrize(
    "text", ["the word سلام", "in 北京 yes", "we say می\u200cرود here", "the name of the man is Иван Ли"]
)
def test_words_in_another_script_are_copied_by_one_placeholder(text: str) -> None:
    translator, _ = echo(source=FewSigns(PLACEHOLDERS[:1]))
    assert translator.translate(text) == text
    (segment,) = translator.segments([text])
    assert len(segment.copied) == 1


def test_words_in_another_script_reach_a_model_without_placeholders() -> None:
    translator, _ = echo(source=FewSigns())
    assert translator.translate("the word سلام") == "the word سلام"
    assert "سلام" in translator.subword.source.words  # type: ignore[attr-defined]


def test_letters_with_accents_are_not_cut_out_of_their_word() -> None:
    translator, _ = echo(source=FewSigns(PLACEHOLDERS[:1]))
    translator.translate("the café")
    assert "café" in translator.subword.source.words  # type: ignore[attr-defined]


def test_a_forced_prefix_may_repeat_signs_that_are_copied_before_the_sentence() -> None:
    translator, _ = echo(source=FewSigns())
    for prefix in ("• Open", "Open"):
        ((best,),) = translator.translations(["• Open it."], prefixes=[prefix])
        assert best.text == "• Open it."


@given(st.text("ab →€°C\ue000", max_size=12), st.integers(0, 3))
def test_signs_come_back_from_their_placeholders(text: str, count: int) -> None:
    # A text has at most one stand-in for a copied part: \ue000 stands for 20.
    surplus_stand_ins = max(0, text.count("\ue000") - 1)
    text = text.replace("\ue000", "", surplus_stand_ins)
    copied = {"\ue000": "20"} if "\ue000" in text else {}

    shown, parts = cut_out_unreadable(text, "→€°", copied, PLACEHOLDERS[:count])
    assert not set("→€°") & set(shown)
    if len(parts) < count:
        assert put_back(shown, parts) == text.replace("\ue000", "20").lstrip(" ")


def test_unknown_signs_are_those_of_a_real_vocabulary(random_run: Path, caplog: pytest.LogCaptureFixture) -> None:
    translator = Translator.load(random_run)
    caplog.set_level(logging.WARNING)
    assert translator.translate("▪ abc →") == f"▪ {translator.translate('abc')} →"
    assert not caplog.messages
