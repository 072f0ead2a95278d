"""One kind of quotation marks and apostrophes for each language: "…" and ' in English, «…» in Persian.

Before → after, for each rule, stands in its docstring; ␣ is a space.
"""

import re
from typing import Final

_ENGLISH: Final = {**dict.fromkeys("‘’‚‛′´‹›", "'"), **dict.fromkeys("“”„‟″«»", '"')}


def english_apostrophe(character: str) -> str:
    """Single quotation marks become apostrophes: it’s → it's, ‘yes’ → 'yes'."""
    return "'" if _ENGLISH.get(character) == "'" else character


_DOUBLE: Final = re.compile("[“”„‟″«»]")
_TWO_BACKTICKS: Final = re.compile("(?<!`)``(?!`) *")
_TWO_APOSTROPHES: Final = re.compile(r"(?:(?<=\S) +)?(?<!')''(?!')")
_CLOSING: Final = re.compile(r"(?<=[\w.,!?;)])''(?!['\w])")
_OPENING_SEMICOLON: Final = re.compile(r";(?<!\S;)(?=[^\W\d_])")
_SURE_SEMICOLON: Final = re.compile(r"(?:^|[:,.?!] );(?=[^\W\d_])")
"""Nothing else begins a text or a clause with a semicolon."""
_CLOSING_SEMICOLON: Final = re.compile(r";(?<=[,.!?];)(?=\s|$)")
_LAST_SEMICOLON: Final = re.compile(r";$(?<=[^\W\d_]{2}[,.!?];)")
_CODE: Final = re.compile(r"(?<![\w`])`(?=[^\s`])[^`]*(?<=[^\s`])`(?![\w`])")
_BACKTICK: Final = re.compile(rf"({_CODE.pattern})|(?<!`)`(?!`)")


def english_quotes(text: str) -> str:
    """Quotation marks become straight: “yes” → "yes", ``␣yes␣'' → "yes"; a single ` an apostrophe, but not in `code`.

    Two apostrophes are a quotation mark where they end a word, or where the text opens quotations with two backticks.
    So is a semicolon that is the rest of &quot;, on the wrong side of its space: ;Nay,; he said → "Nay," he said.
    """
    if not text.isascii():
        text = _DOUBLE.sub('"', text)
    if ";" in text:
        sure = _SURE_SEMICOLON.search(text) is not None or _CLOSING_SEMICOLON.search(text) is not None
        text, openings = _OPENING_SEMICOLON.subn('"', text) if sure else (text, 0)
        text = (_CLOSING_SEMICOLON if openings else _LAST_SEMICOLON).sub('"', text)
    if "''" in text:
        text = (_TWO_APOSTROPHES if "``" in text else _CLOSING).sub('"', text)
    if "`" in text:
        text = _BACKTICK.sub(lambda match: match[1] or "'", _TWO_BACKTICKS.sub('"', text))
    return text


_PERSIAN_LETTER: Final = re.compile("[\u0621-\u064aپچژکگیۀ]")
_CURLY: Final = re.compile('[“„”‟]([^“”„‟«»"]*)[“”„‟]')
_LEFT: Final = re.compile("[“„‟]")


def persian_apostrophe(character: str) -> str:
    """Single quotation marks become apostrophes, as in English; ‹x› becomes «x»."""
    return _PERSIAN_SINGLES.get(character, character)


_PERSIAN_SINGLES: Final = {**dict.fromkeys("‘’‚‛′", "'"), "‹": "«", "›": "»"}


def persian_quotes(text: str) -> str:
    """Quotation marks become guillemets: “بله” → «بله», "بله" → «بله».

    A straight mark is taken only where all of them come in pairs that stand around Persian words; "string" stays.
    """
    if '"' in text:
        text = _pair_quotes(text)
    if "“" in text or "”" in text or "„" in text or "‟" in text:
        text = _LEFT.sub("«", _CURLY.sub(r"«\1»", text)).replace("”", "»")
    return text.replace("´", "'") if "´" in text else text


def _pair_quotes(text: str) -> str:
    parts = text.split('"')
    if len(parts) % 2 == 0:
        return text
    paired = [parts[0]]
    for quoted, after in zip(parts[1::2], parts[2::2], strict=True):
        before = paired[-1]
        free = not before[-1:].isalnum() and not after[:1].isalnum()
        tight = quoted and not quoted[0].isspace() and not quoted[-1].isspace()
        marks = "«»" if free and tight and _PERSIAN_LETTER.search(quoted) else '""'
        paired += [marks[0], quoted, marks[1], after]
    return "".join(paired)
