"""What a reader must find again exactly, such as numbers, codes and tags, comes through a translation as it is."""

from pathlib import Path

import pytest
import yaml

from tests.fence.small_language import counted, persian
from tests.support.command_line import Finished, succeed

PARTS = yaml.safe_load(Path(__file__).with_name("copied_parts.yaml").read_text(encoding="utf-8"))


def sentence(part: str) -> str:
    """Return a sentence of the small language with `part` in the place of a number."""
    return counted("book", 7, "in the room")[0].replace("7", part)


def translation(part: str) -> str:
    """Return the right translation of `sentence(part)`."""
    return counted("book", 7, "in the room")[1].replace("۷", part)


EXPECTED = {
    **{sentence(part): translation(copy) for part, copy in PARTS["numbers"].items()},
    **{sentence(code): translation(code) for code in PARTS["codes"]},
    **PARTS["markup"],
}
PHONE_FIRST = "(021) 2491 5278 is old."
SOURCES = [PHONE_FIRST, *EXPECTED, *map(sentence, PARTS["beside_letters"])]


@pytest.fixture(scope="module")
def finished(small_run: Path) -> Finished:
    """One command that translates all sources of this file."""
    return succeed("translate", "--run", small_run, stdin="".join(f"{source}\n" for source in SOURCES))


@pytest.fixture(scope="module")
def translated(finished: Finished) -> dict[str, str]:
    """The translation of each source."""
    return dict(zip(SOURCES, finished.lines, strict=True))


@pytest.mark.parametrize("source", EXPECTED)
def test_a_part_comes_through_a_translation(translated: dict[str, str], source: str) -> None:
    assert translated[source] == EXPECTED[source]


def test_a_number_in_brackets_before_a_sentence_is_no_list_mark(translated: dict[str, str]) -> None:
    assert "(۰۲۱) ۲۴۹۱ ۵۲۷۸" in translated[PHONE_FIRST]


@pytest.mark.parametrize("part", PARTS["beside_letters"])
def test_digits_beside_a_letter_or_a_sign_are_kept(translated: dict[str, str], part: str) -> None:
    digits = persian("".join(filter(str.isdigit, part)))
    assert translated[sentence(part)].count(digits) == 1


def test_a_translation_that_keeps_all_digits_gives_no_warning(finished: Finished) -> None:
    assert "digit" not in finished.err


def test_a_lost_part_stands_before_the_mark_that_ends_the_sentence(small_run: Path) -> None:
    forced = ["--prefix", "آیا کتاب تازه است؟"]  # the forced translation has no place for the number
    result = succeed("translate", "--run", small_run, *forced, "Is the book 4321 new?")
    assert result.lines[0].startswith("آیا کتاب تازه است ۴۳۲۱؟")


def test_a_digit_that_is_lost_is_a_warning_with_its_line(small_run: Path) -> None:
    source = "The book is old.\n" + " a ".join("123456789012") + ".\n"
    result = succeed("translate", "--run", small_run, stdin=source)
    assert "line 2: a digit of the source is not in the translation" in result.err
    assert result.err.count("not in the translation") == 1


def test_evaluate_counts_sentences_that_lost_a_number_or_a_code(small_copy: Path, tmp_path: Path) -> None:
    # More numbers and codes than the model can carry, between words.
    test_set = tmp_path / "hard.tsv"
    numbers, codes = " a ".join("123456789012"), " a ".join(f"B{number}" for number in range(10, 24))
    pairs = [(numbers, persian(numbers)), (codes, codes), ("The book is old.", "کتاب قدیمی است.")]
    test_set.write_text("".join(f"{english}\t{persian}\n" for english, persian in pairs), encoding="utf-8")
    result = succeed("evaluate", "--run", small_copy, "--test-set", f"hard={test_set}", "--no-report")
    assert "lost         2 of 2 (100.0%)" in result.lines


def test_terms_of_a_glossary_have_their_translation(small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("book\tجزوه\nnew\tنونوار\n", encoding="utf-8")
    arguments = ("translate", "--run", small_run, "--glossary", tmp_path / "terms.tsv")
    first, second = succeed(*arguments, "The Book is new.", "The books are new.").lines
    assert "جزوه" in first and "نونوار" in first
    assert "جزوه" not in second and "نونوار" in second
