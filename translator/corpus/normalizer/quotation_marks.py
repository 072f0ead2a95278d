"""Rules of the normalizer for quotation marks: straight in English, guillemets in Persian. ␣ is a space.

The rows and tables may change: models keep copies of them. What is `kept` may not.
"""

import re
from typing import Final

from translator.corpus.normalizer.rules import Rewriting, Row, kept

# --- spaces inside quotation marks ---


@kept("join_quotes-1", signs='"')
def join_quotes(text: str) -> str:
    """Remove the spaces inside `" … "`, where straight quotes come in pairs with no letter on the outside."""
    if '"' not in text:
        return text
    parts = text.split('"')
    # 1. A single mark opens a quotation at the start of the text and after a colon, and closes one at the end of the
    # text. Anywhere else it is not clear.
    if len(parts) == 2:
        if not parts[0] or parts[0].endswith(": "):
            parts[1] = parts[1].lstrip(" ")
        elif not parts[1]:
            parts[0] = parts[0].rstrip(" ")
    # 2. An odd number of marks, which cut the text into an even number of parts, do not come in pairs, and stay.
    if len(parts) % 2 == 0:
        return '"'.join(parts)

    # 3. Of pairs, the parts at odd places are quotations, except where a letter stands outside a mark. The spaces of a
    # quotation go if it has one at both ends. A space at one end goes only if the mark beside it begins or ends the
    # text, or follows a colon.
    for index in range(1, len(parts), 2):
        before, quoted, after = parts[index - 1 : index + 2]
        is_clear_outside = (not before or before[-1] in " ([«“") and (not after or not after[0].isalnum())
        if is_clear_outside and not quoted.isspace():
            has_both_spaces = quoted[:1] == quoted[-1:] == " "
            if has_both_spaces or not before or before.endswith(": "):
                quoted = quoted.lstrip(" ")
            parts[index] = quoted.rstrip(" ") if has_both_spaces or not after else quoted
    return '"'.join(parts)


_FREE_APOSTROPHE: Final = re.compile(r"'(?<!\S')(?!\S)")


@kept("join_apostrophes-1", signs="'")
def join_apostrophes(text: str) -> str:
    """Join the apostrophes of '␣yes␣' → 'yes' and servants␣'␣hall → servants' hall, unless their place is ambiguous."""
    if "'" not in text:
        return text
    places = [match.start() for match in _FREE_APOSTROPHE.finditer(text)]  # of apostrophes between spaces
    # 1. One at the start of the text opens a quotation: the space after it goes.
    if places == [0]:
        return "'" + text[2:]
    # 2. One at the end of the text closes a quotation; one after an s belongs to a plural: the space before it goes.
    if len(places) == 1:
        (place,) = places
        if place == len(text) - 1 or text[place - 2] in "sS":
            return text[: place - 1] + text[place:]
    # 3. Two with text between them are a quotation if punctuation other than a comma precedes them, or if punctuation
    # stands at the end of that text and no comma precedes them.
    if len(places) == 2 and places[1] - places[0] > 2:
        opening, closing = places
        # The character before the space; a quotation may begin the text, as it may follow a colon.
        before = text[opening - 2] if opening else ":"
        if before in ".:;!?" or (before != "," and text[closing - 2] in ",.!?"):
            return f"{text[:opening]}'{text[opening + 2 : closing - 1]}'{text[closing + 1 :]}"
    return text


# god␣"␣s → god␣'s: a quotation mark in place of an apostrophe
_WRONG_MARK: Final = r' " (?<=[A-Za-z] . )(?=(?i:s|t|ll|re|ve|d|m)(?![\w\'’])(?! "))'
CORRECT_MARKS: Final = Rewriting(rows=(Row(contains='"', pattern=_WRONG_MARK, replacement=" '"),))

# --- English: straight marks ---

_OPENING_SEMICOLON: Final = re.compile(r";(?<!\S;)(?=[^\W\d_])")
# At the start of a text or a clause, a semicolon can only be a broken quotation mark.
_CERTAIN_SEMICOLON: Final = re.compile(r";(?=[^\W\d_])(?:(?<=^;)|(?<=[:,.?!] ;))")
_CLOSING_SEMICOLON: Final = re.compile(r";(?<=[,.!?];)(?=\s|$)")
_LAST_SEMICOLON: Final = re.compile(r";$(?<=[^\W\d_]{2}[,.!?];)")


@kept("restore_broken_quotes-1", signs=";")
def restore_broken_quotes(text: str) -> str:
    """Return `text` with quotation marks for the semicolons that a broken &quot; left: ;Nay,; → "Nay,"."""
    if ";" not in text:
        return text
    is_certain = _CERTAIN_SEMICOLON.search(text) is not None or _CLOSING_SEMICOLON.search(text) is not None
    opening_count = 0
    if is_certain:
        text, opening_count = _OPENING_SEMICOLON.subn('"', text)
    closing = _CLOSING_SEMICOLON if opening_count else _LAST_SEMICOLON
    return closing.sub('"', text)


STRAIGHT_MARKS: Final = Rewriting(  # “yes” → "yes"
    rows=tuple(Row(contains=mark, pattern=mark, replacement='"') for mark in "“”„‟″«»")
)
# ``␣yes␣'' → "yes". Two apostrophes: anywhere in a text that opens quotations with two backticks …
_CLOSING_APOSTROPHES: Final = r"(?:(?<=\S) +)?(?<!')''(?!')"
# … else where they end a word.
_APOSTROPHES_AFTER_WORD: Final = r"(?<=[\w.,!?;)])''(?!['\w])"
_OPENING_BACKTICKS: Final = "(?<!`)``(?!`) *"
# A backtick, or `code` with its backticks.
_BACKTICK: Final = r"(?<![\w`])`(?=[^\s`])[^`]*(?<=[^\s`])`(?![\w`])|(?<!`)`(?!`)"

JOIN_MARKS: Final = Rewriting(
    rows=(
        Row(contains="``", pattern=_CLOSING_APOSTROPHES, replacement='"'),
        Row(contains="''", pattern=_APOSTROPHES_AFTER_WORD, replacement='"'),
        Row(contains="``", pattern=_OPENING_BACKTICKS, replacement='"'),
        Row(contains="`", pattern=_BACKTICK, unless="[^`]", replacement="'"),  # `tis → 'tis, but `code` stays
    )
)
ENGLISH_QUOTES: Final = (STRAIGHT_MARKS, "restore_broken_quotes-1", JOIN_MARKS)
"""Quotation marks become straight: “yes” → "yes", ``␣yes␣'' → "yes", ;Nay,; (broken &quot;) → "Nay,"."""

# --- Persian: guillemets ---

_PERSIAN_LETTER: Final = re.compile("[\u0621-\u064aپچژکگیۀ]")


@kept("pair_guillemets-1", signs='"')
def pair_guillemets(text: str) -> str:
    """Return `text` with guillemets for each pair of straight marks around Persian words; an odd mark leaves all."""
    parts = text.split('"')
    if len(parts) == 1 or len(parts) % 2 == 0:
        return text
    paired = [parts[0]]
    for quoted, after in zip(parts[1::2], parts[2::2], strict=True):
        is_free = not paired[-1][-1:].isalnum() and not after[:1].isalnum()
        is_tight = quoted and not quoted[0].isspace() and not quoted[-1].isspace()
        is_quotation = is_free and is_tight and _PERSIAN_LETTER.search(quoted)
        opening, closing = "«»" if is_quotation else '""'
        paired += [opening, quoted, closing, after]
    return "".join(paired)


GUILLEMETS: Final = Rewriting(  # “بله” → «بله»
    only_if="[“”„‟´]",
    rows=(
        *(Row(contains=mark, pattern='[“„”‟]([^“”„‟«»"]*)[“”„‟]', replacement=r"«\1»") for mark in "“”„‟"),
        *(Row(contains=mark, pattern=mark, replacement="«") for mark in "“„‟"),
        Row(contains="”", pattern="”", replacement="»"),
        Row(contains="´", pattern="´", replacement="'"),
    ),
)
PERSIAN_QUOTES: Final = ("pair_guillemets-1", GUILLEMETS)
"""Quotation marks become guillemets; of straight ones, only pairs around Persian words."""
