"""Rules of the normalizer for spaces, dashes, escapes and the place of punctuation. In examples, ␣ is a space."""

import html
import html.entities
import re
from typing import Final

from translator.corpus.normalizer.rules import Rewriting, Row, kept


@kept("single_spaces-1")
def single_spaces(text: str) -> str:
    """Return `text` with single spaces, and none at its ends."""
    return " ".join(filter(None, text.split(" "))) if "  " in text else text.strip(" ")


# --- dashes ---

# word--word → word—word, but an option (--help) and what follows a single letter (i--) stay.
_FREE_DASHES: Final = r"(?<!\S)--(?!\S)"
_DASHES_AFTER_WORD: Final = r"(?<=[^\W\d_]{2})--(?=[^\W\d_]{2}|\s|$)"
_DASHES_AFTER_MARK: Final = r"(?<=[,.!?;:»\"”)])--(?!\S)"

UNIFY_DASHES: Final = Rewriting(
    rows=(
        Row(contains="–", pattern=r"(?<=\w)–(?=\w)", replacement="-"),  # inside a word or a number: 0–9 → 0-9
        Row(contains="–", pattern="–", replacement="—"),  # yes – no → yes — no
        Row(
            contains="--",
            pattern=f"{_FREE_DASHES}|{_DASHES_AFTER_WORD}|{_DASHES_AFTER_MARK}",
            replacement="—",
        ),
    )
)
"""One kind of hyphen and one long dash."""

# --- what tokenizers and converters write in place of a sign ---

_ENTITY: Final = re.compile(r"&(#(?:[0-9]{1,7}|[xX][0-9A-Fa-f]{1,6});|[A-Za-z][A-Za-z0-9]{0,31};)")


@kept("decode_entities-1", signs="&")
def decode_entities(text: str) -> str:
    """Return `text` with a sign for each entity of HTML: R&amp;D → R&D; an unknown one stays, as in `&x;`."""
    return _ENTITY.sub(_sign, text) if "&" in text else text


def _sign(entity: re.Match[str]) -> str:
    is_number = entity[1].startswith("#")
    sign = html.unescape(entity[0]) if is_number else html.entities.html5.get(entity[1], entity[0])
    return " " if sign.isspace() else sign  # a line end would part a line


_BRACKETS: Final = {"LRB": "(", "RRB": ")", "LSB": "[", "RSB": "]", "LCB": "{", "RCB": "}"}

UNESCAPE: Final = Rewriting(
    only_if=rf"@[-/,.:]@|-(?i:{'|'.join(_BRACKETS)})-",  # one search instead of six: many texts have a hyphen
    rows=(
        Row(contains="@", pattern=r"(?<=\w) ?@([-/,.:])@ ?(?=\w)", replacement=r"\1"),  # well␣@-@␣known → well-known
        *(  # -LRB-␣x␣-RRB- → (␣x␣)
            Row(contains="-", pattern=rf"(?<!\S)-(?i:{name})-(?!\S)", replacement=sign)
            for name, sign in _BRACKETS.items()
        ),
    ),
)
"""Escapes of tokenizers become the signs that they stand for."""

# --- punctuation joins its word ---

# Anything that the rows below may change: few texts have it.
_LOOSE: Final = r" (?:[,،؛؟»”)\];!?:.]|(?<=[\[(«“] ))"
_END: Final = r"(?:[\s»”’\]\"']|$)"

# .␣.␣. → ..., where each dot stands alone and a third one is beside these two
_SPACE_IN_ELLIPSIS: Final = (
    r" (?<=\. )(?<!\S\. )(?=\.(?!\S))"  # between two dots that stand alone
    r"(?:(?=\. \.(?!\S))|(?<=\. \. )(?<!\S\. \. ))"  # a third one follows, or precedes
)
# a␣،b → a،␣b: a sign on the wrong side of its space
_MISPLACED_SIGN: Final = (
    r" (?=[،؛؟\]:.!])"
    r"((?:[،؛؟\]]+(?=\w)|[:.!](?<=\w [:.!])(?=[«\u0621-\u064aپچژکگی])))"
)
# رفت␣. → رفت.
_SPACE_BEFORE_SIGN: Final = (
    r"  *(?=[,،؛؟»”)\];!?:.])(?:"
    r"(?=[,،؛؟»”)\]](?!\w))"  # signs that always follow a word
    rf"|(?=[;!?]!*{_END})"  # but not in `a != b`, `?x=1`, `;)`
    rf"|(?=[:.]{_END})(?!(?<=\d )[:.] \d)(?<!\. )"  # but not in `10 : 30`, `2 . 3`, `... .`, `:)`
    ")"
)
# (␣x → (x
_SPACE_AFTER_OPENING: Final = r"(?:(?<=^[\[(«“])|(?<=[\s\[(«“\"'—–-][\[(«“]))  *"

JOIN_LOOSE: Final = Rewriting(
    only_if=_LOOSE,
    rows=(
        Row(contains=" . . ", pattern=_SPACE_IN_ELLIPSIS, replacement=""),
        Row(contains=" ", pattern=_MISPLACED_SIGN, replacement=r"\1 "),
        Row(contains=" .", pattern=r" \.(?<=\d \.)(?=\d)", replacement="."),  # 2␣.5 → 2.5
        Row(contains=" ", pattern=_SPACE_BEFORE_SIGN, replacement=""),
        *(Row(contains=mark, pattern=_SPACE_AFTER_OPENING, replacement="") for mark in "(«[“"),
    ),
)
PART_WORDS: Final = Rewriting(  # a،b → a،␣b
    rows=tuple(
        Row(contains=sign, pattern=rf"{sign}(?<=[^\W\d_].)(?=[^\W\d_])", replacement=f"{sign} ") for sign in "،؛؟"
    )
)
JOIN_PUNCTUATION: Final = ("join_quotes-1", JOIN_LOOSE, PART_WORDS)
"""Punctuation joins its word: رفت␣. → رفت., «␣متن␣» → «متن», (␣x␣) → (x), "␣yes␣" → "yes".

Ambiguous text stays: `3 - 2`, `...`, `10 : 30`, `a != b`, `:)`, braces.
"""

JOIN_ENGLISH_SIGNS: Final = Rewriting(
    rows=(
        *(Row(contains=sign, pattern=rf"(?<!\S)\{sign} (?=\d)", replacement=sign) for sign in "$£€"),  # $␣5 → $5
        Row(contains="%", pattern=r"(?<=\d) %(?!\S)", replacement="%"),  # 5␣% → 5%
        Row(  # d␣'␣Artagnan → d'Artagnan
            contains=" ' ",
            pattern=r"(?i)(?<![\w'])([dlo]) ' (?=[a-z]{2})",
            replacement=r"\1'",
        ),
        Row(  # '␣tis → 'tis
            contains="' ",
            pattern=r"(?i)(?<!\S)' (?=(?:em|tis|twas)(?![\w'’]))",
            replacement="'",
        ),
    )
)
"""Signs of currency, per cent and elision join what they belong to (English)."""

# --- English endings that a tokenizer split off ---

# A space before an ending, in the four ways in which endings are split off.
_SPACE_IN_CONTRACTION: Final = (
    r" (?:(?=['sStTdDmMlLrRvVnN])(?:"
    r"(?<=[\w)\]] )(?='(?i:s|d|m|ll|re|ve)(?![\w'’]))"  # it␣'s
    r"|(?<=[A-Za-z] )(?=(?i:n't)(?!\w))"  # ca␣n't
    r"|(?<=[nN] )(?='[tT](?![\w'’]))"  # don␣'t
    r"|(?<=[A-Za-z]' )(?=(?i:s|t|d|m|ll|re|ve)(?![\w'’]))"  # ship'␣s
    r"))"
)
_SPACE_IN_TIS: Final = r"('[tT]) (?<=(?<![\w'’])'. )(?=(?i:is|was|will|were)(?!\w))"
_SPACE_IN_GONNA: Final = r"(?i) (?<=(?<![\w'’])(?:gon|wan) )(?=na(?![\w'’]))| (?<=(?<![\w'’])got )(?=ta(?![\w'’]))"

JOIN_CONTRACTIONS: Final = Rewriting(
    rows=(
        Row(contains="'", pattern=_SPACE_IN_CONTRACTION, replacement=""),  # it␣'s → it's, don␣'t → don't
        Row(contains="'", pattern=_SPACE_IN_TIS, replacement=r"\1"),  # 't␣is → 'tis
        *(Row(contains=part, pattern=_SPACE_IN_GONNA, replacement="") for part in ("n na", "t ta")),  # gon␣na → gonna
    )
)
