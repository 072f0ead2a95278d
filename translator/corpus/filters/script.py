"""Filters for sides that are written in the wrong script."""

import re
from collections.abc import Callable
from typing import Final

from translator.corpus.filters.sides import Check, Sides

OWN_WORDS: Final = 2
"""Words of two letters and more that make a Persian text of a list of foreign terms."""

_LATIN: Final = "A-Za-zªºÀ-ÖØ-öø-ɏḀ-ỿ"
_ARABIC: Final = "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff"
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_NOT_LATIN: Final = re.compile(rf"[^\W\d_{_LATIN}]+")
_NOT_ARABIC: Final = re.compile(rf"[^\W\d_{_ARABIC}]+")
_ARABIC_WORD: Final = re.compile(rf"(?:(?=[^\W\d_])[{_ARABIC}]){{2,}}+")
# Text without a letter of another script, as nearly all is. A set of ranges is much quicker than the word class.
_PLAIN_LATIN: Final = re.compile(r"[\x00-\xa9\xab-\xb4\xb6-\xb9\xbb-\u024f\u2000-\u206f\u20a0-\u20bf]*+")
_PLAIN_ARABIC: Final = re.compile(
    r"[\x00-@\[-`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u0600-\u06ff\u2000-\u206f\u20a0-\u20bf]*+"
)


def source_script(share: float) -> Check:
    """Return the check that drops a pair whose English side has less than `share` of Latin letters.

    With a share of 0.5, "дом и сад" goes, and so does Persian on the wrong side; "дом home" stays.
    """
    return lambda sides: not sides.source.isascii() and latin_share(sides.source) < share


def target_script(share: float) -> Check:
    """Return the check that drops a pair whose Persian side has less than `share` of Arabic-script letters.

    Words that stand on the English side too, such as terms and commands, do not count where `OWN_WORDS` words of the
    right script are left. With a share of 0.5, "The door" goes; "فرمان ls را اجرا کنید" and "۱۹۹۹" stay.
    """

    def check(sides: Sides) -> bool:
        return arabic_script_share(sides.target) < share and (
            len(_ARABIC_WORD.findall(sides.target)) < OWN_WORDS
            or arabic_script_share(_without_words_of(sides.target, sides.source)) < share
        )

    return check


def _without_words_of(target: str, source: str) -> str:
    words = set(_LETTERS.findall(source))
    return " ".join(word for word in _LETTERS.findall(target) if word not in words)


def _script_share(plain: re.Pattern[str], foreign: re.Pattern[str]) -> Callable[[str], float]:
    def share(text: str) -> float:
        if plain.fullmatch(text):
            return 1.0
        others = len("".join(foreign.findall(text)))
        return 1.0 - others / len("".join(_LETTERS.findall(text))) if others else 1.0

    return share


latin_share = _script_share(_PLAIN_LATIN, _NOT_LATIN)
"""Return the share of letters that are Latin; 1 for a text without letters, such as a number."""
arabic_script_share = _script_share(_PLAIN_ARABIC, _NOT_ARABIC)
"""Return the share of letters that are of the Arabic script, Persian among them; 1 for a text without letters."""
