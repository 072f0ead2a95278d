"""What a reader must find again exactly, such as numbers, codes and tags, comes through a translation as it is."""

from pathlib import Path

import pytest

from tests.fence.small_language import counted
from tests.support.command_line import Finished, succeed

PERSIAN_DIGITS = str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")
IN_DIGITS = {  # in a sentence: what comes back in Persian digits
    "+98 21 8877 6655": "+۹۸ ۲۱ ۸۸۷۷ ۶۶۵۵",
    "(021) 8877 6655": "(۰۲۱) ۸۸۷۷ ۶۶۵۵",
    "0912 345 6789": "۰۹۱۲ ۳۴۵ ۶۷۸۹",
    "4539 1488 0343 6467": "۴۵۳۹ ۱۴۸۸ ۰۳۴۳ ۶۴۶۷",
    "150 000": "۱۵۰ ۰۰۰",
    "150\u00a0001": "۱۵۰ ۰۰۱",
    "150\u2009002": "۱۵۰ ۰۰۲",
    "2,200,112": "۲,۲۰۰,۱۱۲",
    "\u22125": "-۵",
    "-6": "-۶",
    "10-20": "۱۰-۲۰",
    "10\u201321": "۱۰-۲۱",
    "10\u201222": "۱۰-۲۲",
    "10\u201423": "۱۰—۲۳",
    "3½": "۳½",
    "3 1/2": "۳ ۱/۲",
    "23/11/2026": "۲۳/۱۱/۲۰۲۶",
    "10:30": "۱۰:۳۰",
}
AS_IT_IS = (  # codes, and what looks like a program
    "B12",
    "10⁵",
    "m²",
    "1.5e-6",
    "①",
    "BE0768880101",
    "IR06 0170 0000 0010 0324 2000 01",
    "UTF-8",
    "v2.0",
    "%s",
    "%1$s",
    "%(user)s",
    "{name}",
    "{{count}}",
    "#Tehran",
    "/usr/share/words",
    "~/books/list",
    r"C:\Program Files\book",
    "`x = 'a  b'`",
    '<img src="a.png"/>',
    "https://example.org/a?b=1",
)
BESIDE_LETTERS = ("5kg", "10am", "7PM", "1990s", "22nd", "5-year", "No.5", "€20", "20%")
MARKUP = {
    "<b>The book</b> is old.": "<b>کتاب قدیمی است.</b>",
    "<i>The book is old.</i>": "<i>کتاب قدیمی است.</i>",
    "<0>The <1>book</1></0> is old.": "<0><1>کتاب قدیمی است.</1></0>",
    "The book is old.<br/>The garden is big.": "کتاب قدیمی است.<br/>باغ بزرگ است.",
    "The&#32;book is&nbsp;old.": "کتاب قدیمی است.",
}


def sentence(part: str) -> str:
    """Return a sentence of the small language with `part` in the place of a number."""
    return counted("book", 7, "in the room")[0].replace("7", part)


def translation(part: str) -> str:
    """Return the right translation of `sentence(part)`."""
    return counted("book", 7, "in the room")[1].replace("۷", part)


PHONE_FIRST = "(021) 2491 5278 is old."
SOURCES = [PHONE_FIRST, *map(sentence, [*IN_DIGITS, *AS_IT_IS, *BESIDE_LETTERS]), *MARKUP]


@pytest.fixture(scope="module")
def finished(small_run: Path) -> Finished:
    """One command that translates all sources of this file."""
    return succeed("translate", "--run", small_run, stdin="".join(f"{source}\n" for source in SOURCES))


@pytest.fixture(scope="module")
def translated(finished: Finished) -> dict[str, str]:
    """The translation of each source."""
    return dict(zip(SOURCES, finished.lines, strict=True))


@pytest.mark.parametrize("part", IN_DIGITS)
def test_a_number_is_one_thing_in_the_digits_of_the_reader(translated: dict[str, str], part: str) -> None:
    assert translated[sentence(part)] == translation(IN_DIGITS[part])


def test_a_number_in_brackets_before_a_sentence_is_no_list_mark(translated: dict[str, str]) -> None:
    assert "(۰۲۱) ۲۴۹۱ ۵۲۷۸" in translated[PHONE_FIRST]


@pytest.mark.parametrize("part", AS_IT_IS)
def test_a_code_comes_back_letter_by_letter(translated: dict[str, str], part: str) -> None:
    assert translated[sentence(part)] == translation(part)


@pytest.mark.parametrize("part", BESIDE_LETTERS)
def test_digits_beside_a_letter_or_a_sign_are_kept(translated: dict[str, str], part: str) -> None:
    digits = "".join(filter(str.isdigit, part)).translate(PERSIAN_DIGITS)
    assert translated[sentence(part)].count(digits) == 1


@pytest.mark.parametrize("source", MARKUP)
def test_tags_come_back_in_pairs_and_the_words_are_those_without_them(translated: dict[str, str], source: str) -> None:
    assert translated[source] == MARKUP[source]


def test_a_translation_that_keeps_all_digits_gives_no_warning(finished: Finished) -> None:
    assert "digit" not in finished.err


def test_ten_numbers_survive_a_model_with_eight_placeholders(small_run: Path) -> None:
    numbers = "11, 12, 13, 14, 15, 16, 17, 18, 19, 20"
    result = succeed("translate", "--run", small_run, sentence(numbers))
    assert result.lines == [translation(numbers.translate(PERSIAN_DIGITS))]


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
    pairs = [(numbers, numbers.translate(PERSIAN_DIGITS)), (codes, codes), ("The book is old.", "کتاب قدیمی است.")]
    test_set.write_text("".join(f"{english}\t{persian}\n" for english, persian in pairs), encoding="utf-8")
    result = succeed("evaluate", "--run", small_copy, "--test-set", f"hard={test_set}", "--no-report")
    assert "lost         2 of 2 (100.0%)" in result.lines


def test_terms_of_a_glossary_have_their_translation(small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("book\tجزوه\nnew\tنونوار\n", encoding="utf-8")
    arguments = ("translate", "--run", small_run, "--glossary", tmp_path / "terms.tsv")
    first, second = succeed(*arguments, "The Book is new.", "The books are new.").lines
    assert "جزوه" in first and "نونوار" in first
    assert "جزوه" not in second and "نونوار" in second
