"""Arabic script in the shapes that its letters take beside each other, for what draws letter by letter."""

from functools import cache
from typing import Any, Final

import arabic_reshaper

_JOINER: Final = "\u200d"
_LAM_ALEF: Final = {
    lam + alef: ligature + form
    for alef, ligature in {"\ufe82": 0xFEF5, "\ufe84": 0xFEF7, "\ufe88": 0xFEF9, "\ufe8e": 0xFEFB}.items()
    for form, lam in enumerate(("\ufedf", "\ufee0"))  # behind nothing, and behind a letter that joins
}
"""Lam and an alef as they stand beside each other, and the one shape that is written for both."""


def shaped(text: str) -> str:
    """Return `text` with each letter in its shape, in the order in which it is read.

    >>> [f"{ord(letter):X}" for letter in shaped("لا")]
    ['FEFB']
    """
    if _JOINER not in text:
        return str(arabic_reshaper.reshape(text))
    # arabic-reshaper (3.1.0) counts a joiner when it looks for ligatures, but not among the letters it has shaped: it
    # puts a ligature in the wrong place, or ends in an IndexError. So it makes none, and those that must be come here.
    letters = str(_without_ligatures().reshape(text))
    for pair, ligature in _LAM_ALEF.items():
        letters = letters.replace(pair, chr(ligature))
    return letters


@cache
def _without_ligatures() -> Any:
    return arabic_reshaper.ArabicReshaper({"support_ligatures": False})
