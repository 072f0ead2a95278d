"""What tokenizers leave in a text besides spaces: escapes, joiners, and English endings that were cut off.

Before → after, for each rule, stands in its docstring; ␣ is a space.
"""

import re
from typing import Final

from translator.corpus.normalize.spacing import punctuation_spacing

_ESCAPES: Final = {
    "&amp;": "&",
    "&quot;": '"',
    "&apos;": "'",
    "&lt;": "<",
    "&gt;": ">",
    "&#91;": "[",
    "&#93;": "]",
    "&#124;": "|",
    "&zwnj;": "\u200c",
    "&nbsp;": " ",
}
_ESCAPE: Final = re.compile("|".join(_ESCAPES))
_BRACKETS: Final = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
_BRACKET: Final = re.compile(r"(?<!\S)-([LR][RSC]B)-(?!\S)", re.IGNORECASE)
_JOINER: Final = re.compile(r"(?<=\w) ?@([-/,.:])@ ?(?=\w)")


def unescape(text: str) -> str:
    """Escapes of tokenizers are undone: R&amp;D → R&D, well␣@-@␣known → well-known, -LRB-␣x␣-RRB- → (␣x␣)."""
    if "&" in text:
        text = _ESCAPE.sub(lambda match: _ESCAPES[match[0]], text)
    if "@" in text:
        text = _JOINER.sub(r"\1", text)
    if "B-" in text or "b-" in text:
        text = _BRACKET.sub(lambda match: _BRACKETS[match[1].lower()], text)
    return text


_CURRENCY: Final = re.compile(r"(?<!\S)([$£€]) (?=\d)")
_PERCENT: Final = re.compile(r"(?<=\d) %(?!\S)")
_ELIDED: Final = re.compile(r"(?<![\w'])([dlo]) ' (?=[a-z]{2})", re.IGNORECASE)
_ELISION: Final = re.compile(r"(?<!\S)' (?=(?:em|tis|twas)(?![\w'’]))", re.IGNORECASE)
_FREE_APOSTROPHE: Final = re.compile(r"(?<!\S)'(?!\S)")


def english_signs(text: str) -> str:
    """Signs of English text that stand apart are joined: $␣5 → $5, 5␣% → 5%, '␣yes␣' → 'yes'.

    So are servants␣'␣hall → servants' hall and d␣'␣Artagnan → d'Artagnan. White space must be plain
    single spaces. Where it is not clear what an apostrophe belongs to, it stays.
    """
    if "$" in text or "£" in text or "€" in text:
        text = _CURRENCY.sub(r"\1", text)
    if "%" in text:
        text = _PERCENT.sub("%", text)
    if "'" in text and ("' " in text or " '" in text):
        text = _join_apostrophes(_ELISION.sub("'", _ELIDED.sub(r"\1'", text)))
    return text


def _join_apostrophes(text: str) -> str:
    free = [match.start() for match in _FREE_APOSTROPHE.finditer(text)]
    if len(free) == 1:
        at = free[0]
        if at == 0:
            return "'" + text[2:]
        if at == len(text) - 1 or text[at - 2] in "sS":
            return text[: at - 1] + text[at:]
    elif len(free) == 2:
        first, last = free
        before = text[first - 2] if first else ":"
        sure = before in ".:;!?" or (before != "," and text[last - 2] in ",.!?")
        if sure and last - first > 2:
            return f"{text[:first]}'{text[first + 2 : last - 1]}'{text[last + 1 :]}"
    return text


_CONTRACTION: Final = re.compile(
    r" (?:(?=['sStTdDmMlLrRvVnN])(?:"  # a plain space and one small class come first: this keeps the search fast
    r"(?<=[\w)\]] )(?='(?i:s|d|m|ll|re|ve)(?![\w'’]))"
    r"|(?<=[A-Za-z] )(?=(?i:n't)(?!\w))|(?<=[nN] )(?='[tT](?![\w'’]))"
    r"|(?<=[A-Za-z]' )(?=(?i:s|t|d|m|ll|re|ve)(?![\w'’]))))"
)
_CUT_WORD: Final = re.compile(r"(?<![\w'’])(?:(gon|wan) (na)|(got) (ta))(?![\w'’])", re.IGNORECASE)
_CUT_BEGINNING: Final = re.compile(r"'[tT] (?<=(?<![\w'’])'. )(?=(?i:is|was|will|were)(?!\w))")


def english_contractions(text: str) -> str:
    """English endings that a tokenizer cut off are joined: it␣'s → it's, don␣'t → don't, ca␣n't → can't.

    So are ship'␣s → ship's, gon␣na → gonna, wan␣na → wanna, got␣ta → gotta and 't␣is → 'tis.
    """
    if "'" in text:
        text = _CUT_BEGINNING.sub(lambda match: match[0][:-1], _CONTRACTION.sub("", text))
    if "n na" in text or "t ta" in text:
        text = _CUT_WORD.sub(lambda match: match[0].replace(" ", ""), text)
    return text


_WRONG_MARK: Final = re.compile(r' " (?<=[A-Za-z] . )(?=(?i:s|t|ll|re|ve|d|m)(?![\w\'’])(?! "))')
"""Some texts have their apostrophes as quotation marks, which shows where an ending follows: god␣"␣s → god␣'s."""


def english_text(text: str) -> str:
    """Put an English text together again: escapes, punctuation, signs."""
    text = unescape(text)
    if '"' in text:
        text = _WRONG_MARK.sub(" '", text)
    return english_signs(punctuation_spacing(text))


def persian_text(text: str) -> str:
    """Put a Persian text together again: escapes, punctuation."""
    return punctuation_spacing(unescape(text))
