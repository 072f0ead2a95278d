"""The normalizer's rules for letters that look at their neighbours: ZWNJ, hamza, digits beside Latin letters.

Before → after, for each rule, stands in its docstring; | is a ZWNJ (U+200C).
"""

import re
from typing import Final

from translator.corpus.normalize.characters import VOWEL_MARKS, persian_digits

ZWNJ: Final = "\u200c"

_BEFORE_ZWNJ: Final = VOWEL_MARKS | frozenset("\u0653\u0654\u0655")
_HAMZA: Final = (
    ("ا\u0653", "آ"),
    ("ا\u0654", "أ"),
    ("ا\u0655", "إ"),
    ("و\u0654", "ؤ"),
    ("ی\u0654", "ئ"),
    ("ي\u0654", "ئ"),
    ("ى\u0654", "ئ"),
    ("ه\u0654", "ۀ"),
    ("ۀ\u0654", "ۀ"),
)
_REPEATED_HAMZA: Final = re.compile("([\u0653-\u0655])\\1+")
_ACUTE_MADDA: Final = re.compile("(?<=ل)ا´(?=[ء-ی])")
# With + and = in the class, which do no harm, each character is looked up in a bitmap; two ranges alone are slower.
_FOREIGN_DIGIT: Final = re.compile("[+0-9=٠-٩]")
_WORD: Final = "[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+"
_TOKEN: Final = re.compile(
    r"[A-Za-z]\w{0,60}\([^()ء-ی]{0,80}\)"  # a call, with all that is in its brackets
    rf"|{_WORD}(?:(?:[-_./:@+'’()\[\]{{}}^$\\#~?&%]+| ?[=<>]+ ?){_WORD})*"
)
_LATIN: Final = re.compile("[A-Za-zÀ-ɏ]")


def tidy_zwnj(text: str) -> str:
    """Keep ZWNJ only between two letters or digits, and only one: می||روم → می|روم, «|کتاب → «کتاب, رفت|. → رفت."""
    if ZWNJ not in text:
        return text
    pieces = text.split(ZWNJ)
    tidy = pieces[0]
    for piece in pieces[1:]:
        if not piece:
            continue
        inside = tidy and piece[0].isalnum() and (tidy[-1].isalnum() or tidy[-1] in _BEFORE_ZWNJ)
        tidy += ZWNJ + piece if inside else piece
    return tidy


def compose_hamza(text: str) -> str:
    """A letter and a following madda or hamza become one letter: هٔ → ۀ, ا + U+0653 → آ.

    Some texts have the madda as an acute accent: الا´ن → الآن.
    """
    if "\u0654" in text or "\u0653" in text or "\u0655" in text:
        text = _REPEATED_HAMZA.sub(r"\1", text)
        for parts, whole in _HAMZA:
            text = text.replace(parts, whole)
    if "´" in text:
        text = _ACUTE_MADDA.sub("آ", text)
    return text


def convert_digits(text: str) -> str:
    """Digits become Persian unless Latin letters are glued to them: 25 سال → ۲۵ سال; MP3, UTF-8 and x = 3 stay."""
    if _FOREIGN_DIGIT.search(text) is None:
        return text
    return _TOKEN.sub(_convert_token, text)


def _convert_token(match: re.Match[str]) -> str:
    token = match[0]
    return token if _LATIN.search(token) else "".join(map(persian_digits, token))
