"""Rules of the normalizer for digits in Persian text."""

from typing import Final

from translator.corpus.normalizer.characters import PERSIAN_DIGITS
from translator.corpus.normalizer.normalizer_rules import Rewriting, Row

# The class has + and = as well: they are harmless, and with them Python searches a bitmap, which is faster.
_FOREIGN_DIGIT: Final = "[+0-9=٠-٩]"
_LATIN: Final = "[A-Za-zÀ-ɏ]"
_DIGITS_OR_LATIN: Final = "[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+"
# What joins the parts of one token, as in UTF-8, v1.2.3, x = 3.
_JOINTS: Final = r"(?:[-_./:@+'’()\[\]{}^$\\#~?&%]+| ?[=<>]+ ?)"
_FUNCTION_CALL: Final = r"[A-Za-z]\w{0,60}\([^()ء-ی]{0,80}\)"  # pow(2, -1)
_TOKEN: Final = f"{_FUNCTION_CALL}|{_DIGITS_OR_LATIN}(?:{_JOINTS}{_DIGITS_OR_LATIN})*"

CONVERT_DIGITS: Final = Rewriting(
    only_if=_FOREIGN_DIGIT,
    rows=(Row(contains="", pattern=_TOKEN, unless=_LATIN, replacement=PERSIAN_DIGITS),),
)
"""Digits become Persian, except beside Latin letters: 25 سال → ۲۵ سال; MP3, UTF-8 and x = 3 stay."""
