"""Latin words of a translation are spelled as in the source."""

from collections.abc import Sequence

import pytest

from tests.support.echo_model import Words, echo
from translator.inference.text.latin_words import with_source_spelling


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        ("آقای Smth است", "Mr Smith is", "آقای Smith است"),
        ("مانند nts است.", "Squirrels like NUTS.", "مانند NUTS است."),
        ("درBerln است", "In Berlin", "در Berlin است"),
        ("فایل‌های json", "JSON files", "فایل‌های json"),
        ("رابط API", "the interface", "رابط API"),
        ("او x و y", "xy is here", "او x و y"),
        ("سلام", "Hello", "سلام"),
        ("gniht", "night", "gniht"),
    ],
)
def test_a_misspelt_latin_word_takes_the_spelling_of_the_source(text: str, source: str, expected: str) -> None:
    assert with_source_spelling(text, source) == expected


class Misspelling(Words):
    """Words of a model that misspells a name."""

    def decode_ids(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [text.replace("Smith", "Smthi") for text in super().decode_ids(rows)]


def test_translator_restores_source_spelling() -> None:
    translator, _ = echo(source=Misspelling())
    assert translator.translate_lines(["آقای Smith", "و Smith"]) == ["آقای Smith", "و Smith"]


def test_translator_keeps_the_spelling_of_a_forced_prefix() -> None:
    translator, _ = echo(source=Misspelling())
    ((translation,),) = translator.translations(["آقای Smith"], prefixes=["آقای Smthi"])
    assert translation.text.startswith("آقای Smthi")
