"""Latin words that no reference has are found, copied or not; terms that a reference keeps are left alone."""

import pytest
from translated_sets import translated

from translator.evaluation.diagnosis.latin_words import find_latin_words, latin_words


@pytest.mark.parametrize(
    ("hypothesis", "references", "note"),
    [
        ("او در garden است.", ("او در باغ است.",), "garden"),
        ("فرمان LS را اجرا کنید", ("فرمان ls را اجرا کن",), None),
        ("فرمان ls و ls", ("فرمان ls",), "ls"),
        ("فرمان ls", ("دستور", "فرمان ls"), None),
        ("گروه A", ("گروه الف",), None),
        ("باغ", ("garden",), None),
        ("café و naïve", ("کافه",), "café naïve"),
        ("x و the the the", ("ایکس",), "the ×3"),
    ],
)
def test_latin_words(hypothesis: str, references: tuple[str, ...], note: str | None) -> None:
    found = find_latin_words(translated([hypothesis], [references], ["He is in the garden."]), 3)
    assert [example.note for example in found.examples] == ([note] if note else [])


def test_words_of_the_source_are_told_apart() -> None:
    hypotheses = ["the garden big", "باغ", "in garden"]
    found = find_latin_words(translated(hypotheses, ["باغ"] * 3, ["He is in the Garden."] * 3), 3)
    assert found.sentences == (1, 3)
    assert found.figures == {"Latin words": 5, "of them copied from the source": 4}


def test_one_letter_is_no_word() -> None:
    assert latin_words("I am a NATO B2B x") == {"am": 1, "nato": 1}
