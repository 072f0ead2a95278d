"""One hyphen, and one dash: the long one, which the corpora use most.

Before → after, for each rule, stands in its docstring.
"""

import re
from typing import Final

_IMAGES: Final = {"‐": "-", "‑": "-", "−": "-", "‒": "–", "―": "—"}
_INSIDE: Final = re.compile(r"(?<=\w)–(?=\w)")
_TWO_HYPHENS: Final = re.compile(r"(?<!\S)--(?!\S)|(?<=[^\W\d_]{2})--(?=[^\W\d_]{2}|\s|$)|(?<=[,.!?;:»\"”)])--(?!\S)")


def dash(character: str) -> str:
    """U+2010 and U+2011 become a hyphen, the minus sign U+2212 too; U+2012 an en dash, U+2015 a long dash."""
    return _IMAGES.get(character, character)


def one_dash(text: str) -> str:
    """Dashes become the long one: yes – no → yes — no, word--word → word—word.

    An en dash inside a word or a number becomes a hyphen: 0–9 → 0-9. Two hyphens that begin an option (--help) or
    follow a single letter (i--) stay.
    """
    if "–" in text:
        text = _INSIDE.sub("-", text).replace("–", "—")
    if "--" in text:
        text = _TWO_HYPHENS.sub("—", text)
    return text
