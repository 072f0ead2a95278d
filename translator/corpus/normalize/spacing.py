"""The normalizer's rules for spaces and for punctuation that stands apart.

Before → after, for each rule, stands in its docstring; ␣ is a space.
"""

import re
from typing import Final


def tidy_spaces(text: str) -> str:
    """No two spaces stand together, and none at the ends: ␣a␣␣b␣ → a␣b."""
    if "  " in text:
        text = _SPACES.sub(" ", text)
    return text.strip(" ")


_SPACES: Final = re.compile("   *")
_END: Final = r"(?:[\s»”’\]\"']|$)"
_SPACED_DOTS: Final = re.compile(r"(?<!\S)\.(?: \.){2,}(?!\S)")
_MISPLACED: Final = re.compile(r" (?=[،؛؟\]:.!])(?:([،؛؟\]]+)(?=\w)|([:.!])(?<=\w [:.!])(?=[«\u0621-\u064aپچژکگی]))")
_MISSING: Final = re.compile(r"[،؛؟](?<=[^\W\d_].)(?=[^\W\d_])")
_DECIMAL: Final = re.compile(r" \.(?<=\d \.)(?=\d)")
# The patterns begin with a plain space, and the first lookahead is one small class: this keeps the search fast.
_CLOSING: Final = re.compile(
    r"  *(?=[,،؛؟»”)\];!?:.])(?:"
    r"(?=[,،؛؟»”)\]](?!\w))"  # signs that are never written free
    rf"|(?=[;!?]!*{_END})"  # but not in `a != b`, `?x=1`, `;)`
    rf"|(?=[:.]{_END})(?!(?<=\d )[:.] \d)(?<!\. )"  # but not in `10 : 30`, `2 . 3`, `... .`, `:)`
    ")"
)
_OPENING: Final = re.compile(r"(?:(?<=^[\[(«“])|(?<=[\s\[(«“\"'—–-][\[(«“]))  *")
_LOOSE: Final = re.compile(r" (?:[,،؛؟»”)\];!?:.]|(?<=[\[(«“] ))")
"""What a line shows that any of the patterns above may change; most lines do not."""
_QUOTE: Final = '"'


def punctuation_spacing(text: str) -> str:
    """Text that a tokenizer took apart is joined: رفت␣. → رفت., «␣متن␣» → «متن», (␣x␣) → (x), "␣yes␣" → "yes".

    A sign on the wrong side of its space is moved: a␣،b → a،␣b, and a،b gets its space. What may be meant stays:
    `3 - 2`, `...`, `10 : 30`, `a != b`, `:)`, braces. White space must be plain single spaces.
    """
    if _QUOTE in text:
        text = _join_quotes(text)
    if _LOOSE.search(text) is not None:
        text = _join_signs(text)
    return text if text.isascii() else _MISSING.sub(_space_after, text)


def _space_after(sign: re.Match[str]) -> str:
    # A function, because a template would be parsed anew for every line.
    return sign[0].lstrip(" ") + " "


def _join_signs(text: str) -> str:
    if " . . " in text:
        text = _SPACED_DOTS.sub(lambda match: match[0].replace(" ", ""), text)
    if not text.isascii() or " ]" in text:
        text = _MISPLACED.sub(_space_after, text)
    if " ." in text[:-1]:
        text = _DECIMAL.sub(".", text)
    text = _CLOSING.sub("", text)
    if "(" in text or "«" in text or "[" in text or "“" in text:
        text = _OPENING.sub("", text)
    return text


def _join_quotes(text: str) -> str:
    """Take the spaces out of `" … "`, where straight quotes come in pairs and stand free on both sides.

    Of a single mark it is clear where it belongs only at the ends of the text and after a colon.
    """
    parts = text.split(_QUOTE)
    if len(parts) == 2:
        before, after = parts
        if not before or before.endswith(": "):
            after = after.lstrip(" ")
        elif not after:
            before = before.rstrip(" ")
        return before + _QUOTE + after
    if len(parts) % 2 == 0:
        return text
    for index in range(1, len(parts), 2):
        before, quoted, after = parts[index - 1 : index + 2]
        free = (not before or before[-1] in " ([«“") and (not after or not after[0].isalnum())
        if not free or quoted.isspace():
            continue
        both = quoted[:1] == quoted[-1:] == " "
        if both or not before or before.endswith(": "):
            quoted = quoted.lstrip(" ")
        if both or not after:
            quoted = quoted.rstrip(" ")
        parts[index] = quoted
    return _QUOTE.join(parts)
