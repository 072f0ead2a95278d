"""The filter for numbers that disagree.

Numbers are compared where both sides have some in digits, for either side may spell some of them in words.
"""

import re
from collections.abc import Mapping
from typing import Final

from translator.corpus.filters.sides import Check, Sides

_DIGIT: Final = re.compile("[0-9٠-٩۰-۹]")
_TO_ASCII: Final = str.maketrans("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹٬،", "01234567890123456789,,")
_LIST_NUMBER: Final = re.compile(r"[\s(\[«\"*#-]*+\d{1,3}+(?=[.):\]»-]|\s-)[.):\]»-]*+(?!\d)")
"""A number at the beginning of a text that counts a list."""
_THOUSANDS: Final = re.compile(r"(?<=\d), ?(?=\d{3}(?!\d))")
_THOUSANDS_AT_THE_END: Final = re.compile("(?:000)++$")
_NUMBER: Final = re.compile(r"(?<![A-Za-z_\d])\d++")
_WORD: Final = re.compile(r"[^\W\d_]+")
_PERSIAN_DATE: Final = re.compile(
    r"\d (?:ماه )?(?:فروردین|اردیبهشت|خرداد|تیر|مرداد|امرداد|شهریور|مهر|آبان|آذر|دی|بهمن|اسفند"
    r"|حمل|ثور|جوزا|سرطان|اسد|سنبله|میزان|عقرب|قوس|جدی|دلو|حوت)\b"
)
"""A day of the Persian calendar, with the names of the months in Iran or in Afghanistan."""
_YEARS_BETWEEN_CALENDARS: Final = (621, 622)


def _spelled(*series: str, round_numbers: str) -> Mapping[str, str]:
    """Return the number in digits of each word; a series counts from 1."""
    numbers = {word: str(number) for words in series for number, word in enumerate(words.split(), start=1)}
    return numbers | dict(zip(round_numbers.split(), _ROUND, strict=True))


_ROUND: Final = ("20", "30", "40", "50", "60", "70", "80", "90", "100", "1", "1")
"""A thousand and a million lose their zeros, as they do in digits."""
_ENGLISH: Final = _spelled(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
    "first second third fourth fifth sixth seventh eighth ninth tenth",
    round_numbers="twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million",
)
_PERSIAN: Final = _spelled(
    "یک دو سه چهار پنج شش هفت هشت نه ده یازده دوازده سیزده چهارده پانزده شانزده هفده هجده نوزده",
    "اول دوم سوم چهارم پنجم ششم هفتم هشتم نهم دهم",
    round_numbers="بیست سی چهل پنجاه شصت هفتاد هشتاد نود صد هزار میلیون",
)


def numbers(share: float) -> Check:
    """Return the check that drops a pair whose sides have less than `share` of their numbers in common.

    With a share of 0.5, "Chapter 12" with "فصل ۲۱" goes; "in 1,200 days" with "در ۱۲۰۰ روز" stays, and so does
    "5 of the seven" with "پنج تا از ۷".
    """

    def check(sides: Sides) -> bool:
        if not (_DIGIT.search(sides.source) and _DIGIT.search(sides.target)):
            return False
        return number_agreement(sides.source, sides.target) < share

    return check


def number_agreement(source: str, target: str) -> float:
    """Return the share of numbers in common, of the side where it is larger; 1 where a side has none.

    A number at the beginning that counts a list need not be in common. A number is also in common if the other side
    spells it in words, or writes a decade short (1970s, دهه ۷۰). Dates of the Persian calendar agree with any.
    """
    source_numbers, target_numbers = numbers_of(source), numbers_of(target)
    # The digits in a row are the same where only a separator was understood in another way.
    if "".join(source_numbers) == "".join(target_numbers):
        return 1.0
    all_ours, all_theirs = set(source_numbers), set(target_numbers)
    if _PERSIAN_DATE.search(target) or _same_year(all_ours, all_theirs):
        return 1.0
    ours, theirs = set(_without_list_number(source, source_numbers)), set(_without_list_number(target, target_numbers))
    if not ours or not theirs:
        return 1.0
    return max(
        len(ours & _known(all_theirs, target, _PERSIAN)) / len(ours),
        len(theirs & _known(all_ours, source, _ENGLISH)) / len(theirs),
    )


def numbers_of(text: str) -> list[str]:
    """Return the whole numbers of a text in ASCII digits: 1,200 and ۱۲۰۰ give 1200; 3.5, ۳٫۵ and ۳/۵ give 3 and 5.

    Digits glued to a Latin letter are none. Leading zeros go, and so do thousands at the end, which may be a word on
    the other side: 12000 gives 12.
    """
    plain = _THOUSANDS.sub("", text.translate(_TO_ASCII))
    return [_THOUSANDS_AT_THE_END.sub("", number.lstrip("0")) or "0" for number in _NUMBER.findall(plain)]


def _without_list_number(text: str, numbers: list[str]) -> list[str]:
    return numbers[1:] if _LIST_NUMBER.match(text) else numbers


def _known(numbers: set[str], text: str, words: Mapping[str, str]) -> set[str]:
    """Return the numbers of a text in digits, in words, and as short decades."""
    spelled = {words[word] for word in _WORD.findall(text.lower()) if word in words}
    return numbers | spelled | {number[2:] for number in numbers if len(number) == 4}


def _same_year(numbers: set[str], others: set[str]) -> bool:
    """Say whether two numbers may be one year in the Gregorian calendar and in the Persian one."""
    years = {int(number) for number in numbers if len(number) in (3, 4)}
    other_years = {int(number) for number in others if len(number) in (3, 4)}
    return any(
        year - apart in other_years or year + apart in other_years
        for year in years
        for apart in _YEARS_BETWEEN_CALENDARS
    )
