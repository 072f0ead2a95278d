"""The normalizer's rules that look at neighbours: ZWNJ, hamza, digits beside Latin letters, spaces and punctuation.

Before → after, for each rule, stands in its docstring; ␣ is a space and | a ZWNJ (U+200C).
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
_FOREIGN_DIGIT: Final = re.compile("[0-9٠-٩]")
_TOKEN: Final = re.compile("[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+(?:[-_./:@+'’]+[A-Za-zÀ-ɏ0-9٠-٩۰-۹]+)*")
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
    """A letter and a following madda or hamza become one letter: هٔ → ۀ, ا + U+0653 → آ."""
    if "\u0654" in text or "\u0653" in text or "\u0655" in text:
        text = _REPEATED_HAMZA.sub(r"\1", text)
        for parts, whole in _HAMZA:
            text = text.replace(parts, whole)
    return text


def convert_digits(text: str) -> str:
    """Digits become Persian unless Latin letters are glued to them: 25 سال → ۲۵ سال; MP3, UTF-8 and 3D stay."""
    if _FOREIGN_DIGIT.search(text) is None:
        return text
    return _TOKEN.sub(_convert_token, text)


def _convert_token(match: re.Match[str]) -> str:
    token = match[0]
    return token if _LATIN.search(token) else "".join(map(persian_digits, token))


def tidy_spaces(text: str) -> str:
    """No two spaces stand together, and none at the ends: ␣a␣␣b␣ → a␣b."""
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return text.strip(" ")


_SPACES: Final = re.compile("   *")
_END: Final = r"(?:[\s»”’\]\"']|$)"
_SPACED_DOTS: Final = re.compile(r"(?<!\S)\.(?: \.){2,}(?!\S)")
_MISPLACED: Final = re.compile(r"  *([،؛؟\]]+)(?=\w)")
# The patterns begin with a plain space, and the first lookahead is one small class: this keeps the search fast.
_CLOSING: Final = re.compile(
    r"  *(?=[,،؛؟»”)\];!?:.])(?:"
    r"(?=[,،؛؟»”)\]](?!\w))"  # signs that are never written free
    rf"|(?=[;!?]!*{_END})"  # but not in `a != b`, `?x=1`, `;)`
    rf"|(?=[:.]{_END})(?!(?<=\d )[:.] \d)(?<!\. )"  # but not in `10 : 30`, `2 . 3`, `... .`, `:)`
    ")"
)
_OPENING: Final = re.compile(r"(?:(?<=^[\[(«“])|(?<=[\s\[(«“\"'—–-][\[(«“]))  *")
_QUOTE: Final = '"'


def punctuation_spacing(text: str) -> str:
    """Text that a tokenizer took apart is joined: رفت␣. → رفت., «␣متن␣» → «متن», (␣x␣) → (x), "␣yes␣" → "yes".

    A sign on the wrong side of its space is moved: a␣،b → a،␣b. What may be meant stays:
    `3 - 2`, `...`, `10 : 30`, `a != b`, `:)`, braces. White space must be plain single spaces.
    """
    if _QUOTE in text:
        text = _join_quotes(text)
    if " . . " in text:
        text = _SPACED_DOTS.sub(lambda match: match[0].replace(" ", ""), text)
    if " ،" in text or " ؛" in text or " ؟" in text or " ]" in text:
        text = _MISPLACED.sub(r"\1 ", text)
    text = _CLOSING.sub("", text)
    if "( " in text or "« " in text or "[ " in text or "“ " in text:
        text = _OPENING.sub("", text)
    return text


def _join_quotes(text: str) -> str:
    """Take the spaces out of `" … "`, where straight quotes come in pairs and stand free on both sides."""
    parts = text.split(_QUOTE)
    if len(parts) % 2 == 0:
        return text
    for index in range(1, len(parts), 2):
        before, quoted, after = parts[index - 1 : index + 2]
        free = (not before or before[-1] in " ([«“") and (not after or not after[0].isalnum())
        if free and quoted[:1] == quoted[-1:] == " " and not quoted.isspace():
            parts[index] = quoted.strip(" ")
    return _QUOTE.join(parts)


_CONTRACTION: Final = re.compile(
    r"(?<=[A-Za-z]) (?='(?:s|d|m|ll|re|ve)(?![\w'’])|n't(?!\w))|(?<=[Nn]) (?='t(?![\w'’]))", re.IGNORECASE
)


def english_contractions(text: str) -> str:
    """English endings that a tokenizer cut off are joined: it␣'s → it's, don␣'t → don't, do␣n't → don't."""
    return _CONTRACTION.sub("", text) if " '" in text or " n't" in text else text
