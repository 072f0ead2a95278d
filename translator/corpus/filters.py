"""Filter rules that look at a single pair. A new rule needs a line in `PAIR_RULES` and a key in `FilterConfig`."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Final, NamedTuple

from translator.config import FilterConfig


class Sides(NamedTuple):
    """A pair of normalized texts, English and Persian, with the words and the distinct words of each."""

    texts: tuple[str, str]
    words: tuple[list[str], list[str]]
    vocabularies: tuple[set[str], set[str]]


Check = Callable[[Sides, float], bool]  # returns whether the rule drops a pair, given its setting


def is_empty(source: str, target: str) -> bool:
    """Return whether one of two normalized texts has no words."""
    return not source.strip() or not target.strip()


def _lost_character(sides: Sides, _: float) -> bool:
    return "\ufffd" in sides.texts[0] or "\ufffd" in sides.texts[1]


def _far_apart(sides: tuple[Sized, Sized], least: int, limit: float) -> bool:
    """Return whether one side is more than `limit` times as long as the other, and has `least` items or more."""
    one, other = len(sides[0]), len(sides[1])
    return (one > limit * other or other > limit * one) and max(one, other) >= least


_LATIN: Final = "A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ"
_ARABIC: Final = "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_NOT_LATIN: Final = re.compile(rf"[^\W\d_{_LATIN}]+")
_NOT_ARABIC: Final = re.compile(rf"[^\W\d_{_ARABIC}]+")
_ARABIC_SCRIPT_WORD: Final = re.compile(rf"(?:(?=[^\W\d_])[{_ARABIC}]){{2,}}+")
# Most text has no letter of another script. A class of ranges tests that much faster than \W.
_PLAIN_LATIN: Final = re.compile(r"[\x00-\xa9\xab-\xb4\xb6-\xb9\xbb-\u024f\u2000-\u206f\u20a0-\u20bf]*+")
_PLAIN_ARABIC: Final = re.compile(
    r"[\x00-@\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u0600-\u06ff\u2000-\u206f\u20a0-\u20bf]*+"
)


def latin_share(text: str) -> float:
    """Return the share of letters that are Latin; 1 for a text without letters, such as a number."""
    return 1.0 if text.isascii() or _PLAIN_LATIN.fullmatch(text) else 1.0 - _share_of_letters(_NOT_LATIN, text)


def arabic_script_share(text: str) -> float:
    """Return the share of letters of the Arabic script, including Persian; 1 for a text without letters."""
    return 1.0 if _PLAIN_ARABIC.fullmatch(text) else 1.0 - _share_of_letters(_NOT_ARABIC, text)


def _share_of_letters(pattern: re.Pattern[str], text: str) -> float:
    found = len("".join(pattern.findall(text)))
    return found / len("".join(_LETTERS.findall(text))) if found else 0.0


def _not_persian(sides: Sides, share: float) -> bool:
    """Return whether the Persian side is in another script.

    Words that both sides have do not count if two Persian words remain: فرمان ls را اجرا کنید is kept.
    """
    source, target = sides.texts
    if arabic_script_share(target) >= share:
        return False
    if len(_ARABIC_SCRIPT_WORD.findall(target)) < 2:
        return True
    foreign = set(_LETTERS.findall(source))
    return arabic_script_share(" ".join(w for w in _LETTERS.findall(target) if w not in foreign)) < share


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After normalization Arabic and Persian use the same yeh and kaf. The evidence is in letters and words: Arabic has the
# article ال, the letters ة أ إ and words such as فی, التی, هذا; Persian has پ چ ژ گ, ZWNJ and words such as که, را.
_ARABIC_SCRIPT_RUN: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u200c]+")
_ARABIC_FORM: Final = re.compile(
    # The article, also after و ف ب ک; not the Persian words and the names that begin the same way.
    "[وفبک]?ال(?!آن|ان|بته|برت|برز|بسه|تفات|تماس|تهاب|حاق|داد|زا|غا|فا|فب|فت$|فر|ک[لسینو]|کتر|گ|ماس|مان|مپ|نا|نو|وار|وی|ه"
    "|یا|یز|یس|ین|یو|[بتفکی]$)..."
    # The article after لـ, and letters that do not begin a Persian word.
    "|[وف]?لل..|[وفبکل]?[أإ]."
    # The ending ة, which Persian writes only in a few borrowed words.
    "|..+ة$"
)
_ARABIC_WORDS: Final = _words(
    "فی وفی الی إلی والی عن وعن مع ومع هذا هذه وهذا وهذه ذلک وذلک تلک التی الذی الذین اللذین لا ولا لم ولم لن ولن "
    "قد وقد لقد کان وکان کانت وکانت یکون تکون هو وهو وهی أن إن وأن وإن إنه أنه إنها أنها إنی أنا أنت نحن ثم لیس "
    "لیست هناک أو أم أی أین عند عندما عندنا لأن ماذا کیف لماذا لها لهم لکم لنا بها بهم فیه فیها منه منها منهم علیه "
    "علیها علیهم إلیه إلیها هل یجب یمکن سوف جدا الآن الیوم کما ومن وما وعلی ولکن لکن قال وقال قالت یقول أنهم إنهم"
)
_PERSIAN_WORDS: Final = _words(
    "که را در از به است این و آن با برای می نمی شد شود بود هر یک خود تو او تا باید دارد کرد کرده شده کنید نیست هست "
    "شما ایشان آنان آنها اینها ها های هایی ای اند ام بر نه نیز اگر اما یا پس دو سه کند کنند کن شوند شدند دارند بی "
    "هیچ همه روز خدا باشد باشند داد گفت آمد رفت خدای خداوند بودند نزد"
)
_PERSIAN_LETTERS: Final = re.compile("[پچژگ\u200c\u06c0]")


def _arabic(sides: Sides, limit: float) -> bool:
    target = sides.texts[1]
    # One of these is in nearly every Arabic sentence, and in few Persian ones.
    if " ال" in target or "أ" in target or "إ" in target or target.startswith("ال"):
        return arabic_share(_ARABIC_SCRIPT_RUN.findall(target)) > limit
    return False


def arabic_share(words: Sequence[str]) -> float:
    """Return the share of Arabic among words that are clearly Arabic or clearly Persian; 0 for under 3 Arabic ones."""
    arabic_words = persian_words = 0
    for word in words:
        if word in _PERSIAN_WORDS or _PERSIAN_LETTERS.search(word):
            persian_words += 1
        elif word in _ARABIC_WORDS or _ARABIC_FORM.match(word):
            arabic_words += 1
    return arabic_words / (arabic_words + persian_words) if arabic_words >= 3 else 0.0


_UNTRANSLATED_FROM: Final = 4  # distinct shared words; names are copied correctly
_LETTER: Final = re.compile(r"[^\W\d_]")


def _untranslated(sides: Sides, limit: float) -> bool:
    same = sides.vocabularies[0] & sides.vocabularies[1]
    return len(same) >= _UNTRANSLATED_FROM and max(_copied_share(words, same) for words in sides.words) > limit


def _copied_share(words: Sequence[str], same: set[str]) -> float:
    words = [word for word in words if _LETTER.search(word)]
    copied = [word for word in words if word in same]
    return len(copied) / len(words) if len(set(copied)) >= _UNTRANSLATED_FROM else 0.0


_DIGIT: Final = re.compile("[0-9٠-٩۰-۹]")
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
    numbers = {word: str(number) for words in series for number, word in enumerate(words.split(), start=1)}
    return numbers | dict(zip(round_numbers.split(), _ROUND, strict=True))


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


def _other_numbers(sides: Sides, share: float) -> bool:
    source, target = sides.texts
    return bool(_DIGIT.search(source) and _DIGIT.search(target)) and number_agreement(source, target) < share


def number_agreement(source: str, target: str) -> float:
    """Return the larger of the two sides' shares of numbers that the other side has too; 1 if a side has none.

    A number is also in common if the other side spells it in words, or writes a decade short (1970s, دهه ۷۰). A list
    number at the beginning is ignored. A date of the Persian calendar gives 1.
    """
    source_numbers, target_numbers = numbers_of(source), numbers_of(target)
    same_digits = "".join(source_numbers) == "".join(target_numbers)  # only their separators differ
    if same_digits or _PERSIAN_DATE.search(target) or _same_year(source_numbers, target_numbers):
        return 1.0
    ours = set(source_numbers[1:] if _LIST_NUMBER.match(source) else source_numbers)
    theirs = set(target_numbers[1:] if _LIST_NUMBER.match(target) else target_numbers)
    if not ours or not theirs:
        return 1.0
    return max(
        len(ours & _known(target_numbers, target, _PERSIAN_NUMBERS)) / len(ours),
        len(theirs & _known(source_numbers, source, _ENGLISH_NUMBERS)) / len(theirs),
    )


def numbers_of(text: str) -> list[str]:
    """Return the whole numbers of a text in ASCII digits: 1,200 and ۱۲۰۰ give 1200; 3.5, ۳٫۵ and ۳/۵ give 3 and 5.

    Digits beside a Latin letter do not count. Leading zeros and trailing groups of 000 are dropped: 12000 gives 12.
    """
    plain = _THOUSANDS.sub("", text.translate(_TO_ASCII))
    return [_THOUSANDS_AT_THE_END.sub("", number.lstrip("0")) or "0" for number in _NUMBER.findall(plain)]


def _known(in_digits: Sequence[str], text: str, words: Mapping[str, str]) -> set[str]:
    spelled = {words[word] for word in _LETTERS.findall(text.lower()) if word in words}
    return {*in_digits} | spelled | {number[2:] for number in in_digits if len(number) == 4}


def _same_year(in_digits: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a number of each side may be one year, in the Gregorian and in the Persian calendar."""
    years, other_years = ({int(number) for number in side if len(number) in (3, 4)} for side in (in_digits, others))
    return any(year + apart in other_years or year - apart in other_years for year in years for apart in (621, 622))


_MARKUP_SIGNS: Final = re.compile(r"[<>@{}\\|=&/]")
_TAGS: Final = re.compile(r"<[!/]?[A-Za-z][^<>]*+>|<!--|-->|&(?:#x?[0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
_MARKUP_WORD: Final = re.compile(
    r"[a-z]://|www\.|[^@]@[^@.]++\.[A-Za-z]"  # addresses
    r"|[{}\\|]|[=!<>]=|=\"|[-=]>|\w\([^()]*+\);|\[\[\w+:"  # LaTeX, code, files of a wiki
)


def markup_share(text: str) -> float:
    """Return the share of characters, without spaces, in addresses, tags, entities and code; 0 for no text."""
    if not (_MARKUP_SIGNS.search(text) or "www." in text or ");" in text or "[[" in text):  # all markup has one
        return 0.0
    characters = len("".join(text.split()))
    language = len("".join([word for word in _TAGS.sub(" ", text).split() if not _MARKUP_WORD.search(word)]))
    return 1.0 - language / characters if characters else 0.0


_REPETITION_FROM: Final = 10  # words of a side; in shorter ones, like "ha ha ha ha", repetition is emphasis
_RUN: Final = 8  # words in a row that must occur twice
_NEARLY: Final = 0.9  # a repeat follows its original directly, unlike refrains and parallels


def _repetition(sides: Sides, limit: float) -> bool:
    """Return whether a side repeats more than `limit`, or half of it if the other has at most 1 repeated word pair."""
    source = _share_beyond(limit / 2, sides.words[0], sides.vocabularies[0])
    target = _share_beyond(limit / 2, sides.words[1], sides.vocabularies[1])
    if not source and not target:
        return False
    return max(source, target) > limit or _repeated_couples(sides.words[0 if target else 1]) < 2


def _share_beyond(limit: float, words: Sequence[str], vocabulary: set[str]) -> float:
    count = len(words)
    # A fast test first: if nearly all words, or word pairs, are new, nothing repeats.
    if (
        count < _REPETITION_FROM
        or count - len(vocabulary) <= limit * count
        or _repeated_couples(words) < limit * count * (_RUN - 1) / _RUN
    ):
        return 0.0
    share = repeated_share(words)
    return share if share > limit else 0.0


def _repeated_couples(words: Sequence[str]) -> int:
    return max(0, len(words) - 1) - len(set(itertools.pairwise(words)))


def repeated_share(words: Sequence[str]) -> float:
    """Return the share of words that repeat the words just before them, at least 8 in a row; 0 for no words."""
    last: dict[tuple[str, ...], int] = {}
    repeated = length = distance = covered = 0
    runs = zip(*(words[start:] for start in range(_RUN)), strict=False)
    for start, run in enumerate(itertools.chain(runs, [()])):  # the empty run ends the last repeat
        before = last.get(run)
        if before is not None and length and start - before == distance:
            length += 1
        else:
            if length and length >= _NEARLY * distance:
                end = start + _RUN - 1
                repeated += min(length, end - covered)
                covered = end
            length, distance = (_RUN, start - before) if before is not None else (0, 0)
        last[run] = start
    return repeated / len(words) if words else 0.0


EMPTY: Final = "empty"
PAIR_RULES: Final[tuple[tuple[str, str | None, Check, str], ...]] = (
    (EMPTY, None, lambda s, _: not (s.words[0] and s.words[1]), "One side has no text."),
    ("replacement_character", "replacement_character", _lost_character, "A character was lost (U+FFFD)."),
    ("too_many_words", "max_words", lambda s, n: max(map(len, s.words)) > n, "One side has too many words."),
    ("too_many_characters", "max_characters", lambda s, n: max(map(len, s.texts)) > n, "One side is too long."),
    ("length_ratio", "max_length_ratio", lambda s, n: _far_apart(s.texts, 20, n), "One side is far longer."),
    ("word_ratio", "max_word_ratio", lambda s, n: _far_apart(s.words, 12, n), "One side has far more words."),
    ("source_script", "min_source_script", lambda s, n: latin_share(s.texts[0]) < n, "The English side is not Latin."),
    ("target_script", "min_target_script", _not_persian, "The Persian side is not in Arabic script."),
    ("arabic", "max_arabic", _arabic, "The words of the Persian side are Arabic, not Persian."),
    ("untranslated", "max_untranslated", _untranslated, "One side was copied to the other, not translated."),
    ("numbers", "min_number_agreement", _other_numbers, "Both sides have numbers in digits, but different ones."),
    ("markup", "max_markup", lambda s, n: max(map(markup_share, s.texts)) > n, "One side is mostly markup or code."),
    ("repetition", "max_repetition", _repetition, "One side repeats the same words over and over."),
)
"""Name in reports, key in `FilterConfig` (None: always on), test, and meaning of each rule, in their order."""
FILTER_MEANINGS: Final[Mapping[str, str]] = {
    "invalid_utf8": "The line has bytes that are not UTF-8.",
    "line_too_long": "The line is longer than 1 MiB.",
    "bad_row": "The row has another number of columns than the table, or the unit of the TMX is not XML.",
    "missing_language": "The unit of the TMX has no English, or no Persian.",
    **{name: meaning for name, _, _, meaning in PAIR_RULES},
}
"""Rules that drop a line or a pair before it is compared with others, in order: reading, then `PAIR_RULES`."""


class PairFilter:
    """The rules of `PAIR_RULES` that a configuration switches on."""

    def __init__(self, config: FilterConfig) -> None:
        """Select the rules whose setting is neither null nor false; 0 is a valid limit."""
        settings = [(name, check, 1 if key is None else getattr(config, key)) for name, key, check, _ in PAIR_RULES]
        self._checks = [rule for rule in settings if rule[2] is not None and rule[2] is not False]

    def broken_rule(self, source: str, target: str) -> str | None:
        """Return the name of the first rule that a pair of normalized texts breaks, or None."""
        words = source.split(), target.split()
        sides = Sides((source, target), words, (set(words[0]), set(words[1])))
        for name, breaks, limit in self._checks:
            if breaks(sides, limit):
                return name
        return None
