"""Latin words of a translation are spelled as in the source."""

import pytest
from echo_model import Words, echo

from translator.inference.latin_words import with_source_spelling


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


def test_translator_restores_source_spelling_except_in_forced_prefixes() -> None:
    class Misspelling(Words):
        def decode_ids(self, rows: list[list[int]]) -> list[str]:  # type: ignore[override]
            return [text.replace("Smith", "Smthi") for text in super().decode_ids(rows)]

    translator, _ = echo(source=Misspelling())
    assert translator.translate_lines(["آقای Smith", "و Smith"]) == ["آقای Smith", "و Smith"]
    ((best,),) = translator.translations(["آقای Smith"], prefixes=["آقای Smthi"])
    assert best.text.startswith("آقای Smthi")
