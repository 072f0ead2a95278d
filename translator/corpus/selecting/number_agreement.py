"""Agreement of the numbers of a sentence and its translation."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from translator.corpus.selecting.scripts import LETTERS

DIGIT: Final = re.compile("[0-9٠-٩۰-۹]")
_TO_ASCII: Final = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٬،", "01234567890123456789,,")
_LIST_NUMBER: Final = re.compile(r"[\s(\[«\"*#-]*+\d{1,3}+(?=[.):\]»-]|\s-)[.):\]»-]*+(?!\d)")
_THOUSANDS: Final = re.compile(r"(?<=\d), ?(?=\d{3}(?!\d))")
_THOUSANDS_AT_THE_END: Final = re.compile("(?:000)++$")
_NUMBER: Final = re.compile(r"(?<![A-Za-z_\d])\d++")
_PERSIAN_DATE: Final = re.compile(  # with the names of the months in Iran or in Afghanistan
    r"\d (?:ماه )?(?:فروردین|اردیبهشت|خرداد|تیر|مرداد|امرداد|شهریور|مهر|آبان|آذر|دی|بهمن|اسفند"
    r"|حمل|ثور|جوزا|سرطان|اسد|سنبله|میزان|عقرب|قوس|جدی|دلو|حوت)\b"
)
_ROUND: Final = ("20", "30", "40", "50", "60", "70", "80", "90", "100", "1", "1")  # `numbers_of` drops trailing 000


def _spelled(*series: str, round_numbers: str) -> Mapping[str, str]:
    """Return the number of each word in digits: those of a series are 1, 2, 3 …, the round ones are `_ROUND`."""
    digits_of_word = {}
    for words in series:
        for number, word in enumerate(words.split(), start=1):
            digits_of_word[word] = str(number)
    digits_of_word.update(zip(round_numbers.split(), _ROUND, strict=True))
    return digits_of_word


_ENGLISH_NUMBERS: Final = _spelled(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    round_numbers="twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million",
)
_PERSIAN_NUMBERS: Final = _spelled(
    "یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده نوزده",
    "اول دوم سوم چهارم پنجم ششم هفتم هشتم نهم دهم",
    round_numbers="بیست سی چهل پنجاه شصت هفتاد هشتاد نود صد هزار میلیون",
)


def number_agreement(source: str, target: str) -> float:
    """Return the share of the numbers of a side that the other side has too: the larger of the two sides' shares.

    The share is 1 if a side has no numbers, or for a date of the Persian calendar. The other side may also spell a
    number in words, or write a decade short (1970s, دهه ۷۰). A list number at the beginning is ignored.
    """
    # 1. Numbers that count as equal as a whole: they differ in their separators only, or may be dates of two calendars.
    source_numbers, target_numbers = numbers_of(source), numbers_of(target)
    has_same_digits = "".join(source_numbers) == "".join(target_numbers)
    if has_same_digits or _PERSIAN_DATE.search(target) or _same_year(source_numbers, target_numbers):
        return 1.0

    # 2. The numbers of each side, without the number of a list item.
    source_set = set(source_numbers[1:] if _LIST_NUMBER.match(source) else source_numbers)
    target_set = set(target_numbers[1:] if _LIST_NUMBER.match(target) else target_numbers)
    if not source_set or not target_set:
        return 1.0

    # 3. The numbers of each side that the other side has in any form, as shares.
    source_in_target = source_set & _numbers_in_any_form(target_numbers, target, _PERSIAN_NUMBERS)
    target_in_source = target_set & _numbers_in_any_form(source_numbers, source, _ENGLISH_NUMBERS)
    return max(len(source_in_target) / len(source_set), len(target_in_source) / len(target_set))


def numbers_of(text: str) -> list[str]:
    """Return the whole numbers of a text in ASCII digits: 1,200 and ۱۲۰۰ give 1200; 3.5, ۳٫۵ and ۳/۵ give 3 and 5.

    Digits beside a Latin letter do not count. Leading zeros and trailing groups of 000 are dropped: 12000 gives 12.
    """
    plain_text = _THOUSANDS.sub("", text.translate(_TO_ASCII))
    numbers = []
    for digits in _NUMBER.findall(plain_text):
        numbers.append(_THOUSANDS_AT_THE_END.sub("", digits.lstrip("0")) or "0")
    return numbers


def _numbers_in_any_form(in_digits: Sequence[str], text: str, digits_of_word: Mapping[str, str]) -> set[str]:
    """Return the numbers of a text in digits, in words, and as short decades: 1970 gives 70, too."""
    numbers = set(in_digits)
    for word in LETTERS.findall(text.lower()):
        if word in digits_of_word:
            numbers.add(digits_of_word[word])
    numbers.update(number[2:] for number in in_digits if len(number) == 4)
    return numbers


_YEARS_APART: Final = (621, 622)  # the Gregorian calendar is ahead of the Persian one


def _same_year(source_numbers: Sequence[str], target_numbers: Sequence[str]) -> bool:
    """Return whether a number of each side may be one year, in the Gregorian and in the Persian calendar."""
    source_years, target_years = _years(source_numbers), _years(target_numbers)
    for year in source_years:
        for distance in _YEARS_APART:
            if year + distance in target_years or year - distance in target_years:
                return True
    return False


def _years(numbers: Sequence[str]) -> set[int]:
    """Return the numbers that may be years: those of three or four digits."""
    return {int(number) for number in numbers if len(number) in (3, 4)}
