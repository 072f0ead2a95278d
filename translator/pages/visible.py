"""Text of a corpus on a page: what cannot be seen is marked, and what would turn the text around is not obeyed."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from markupsafe import Markup, escape

ZWNJ: Final = "\u200c"
_SHORT_NAMES: Final[Mapping[str, str]] = {
    "\t": "TAB",
    "\n": "LF",
    "\r": "CR",
    "\u0085": "NEL",
    "\u00a0": "NBSP",
    "\u00ad": "SHY",
    "\u061c": "ALM",
    "\u180e": "MVS",
    "\u200b": "ZWSP",
    ZWNJ: "ZWNJ",
    "\u200d": "ZWJ",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u2028": "LS",
    "\u2029": "PS",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u202f": "NNBSP",
    "\u2060": "WJ",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
    "\ufeff": "BOM",
}
_CONTROL_NAMES: Final[Mapping[str, str]] = {
    "\t": "tab",
    "\n": "line feed",
    "\r": "carriage return",
    "\u0085": "next line",
}
_LOST: Final = "\ufffd"
# Everything that is not plainly visible is looked at by its category; letters, digits and common signs are passed over.
_PERHAPS_HIDDEN: Final = re.compile(r"[^ -~\u00a1-\u00ac\u00ae-\u052f\u0621-\u06d3\u06f0-\u06f9]")
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def visible(text: str) -> Markup:
    """Return `text` as HTML in which every hidden character is a mark that tells its name.

    A ZWNJ is a thin bar and still parts the letters beside it. Direction controls, line breaks, unusual spaces and
    unassigned characters stand there by a short name, and do nothing.
    """
    parts, end = [], 0
    for match in _PERHAPS_HIDDEN.finditer(text):
        character = match[0]
        if character != _LOST and not _is_hidden(character):
            continue
        parts += [escape(text[end : match.start()]), _mark(character)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def plain(text: str) -> str:
    """Return `text` with the short name of each hidden character in its place, in ⟨⟩: for titles and attributes."""
    return _PERHAPS_HIDDEN.sub(lambda match: f"⟨{_short_name(match[0])}⟩" if _is_hidden(match[0]) else match[0], text)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _short_name(character: str) -> str:
    return _SHORT_NAMES.get(character, f"U+{ord(character):04X}")


def _mark(character: str) -> Markup:
    name = _CONTROL_NAMES.get(character) or unicodedata.name(character, "no name").lower()
    title = f"{name} (U+{ord(character):04X})"
    if character == ZWNJ:
        return Markup('<span class="zwnj" title="{}">{}</span>').format(title, ZWNJ)
    if character == _LOST:
        return Markup('<bdi class="mark lost" dir="ltr" title="{}">{}</bdi>').format(title, _LOST)
    return Markup('<bdi class="mark" dir="ltr" title="{}">{}</bdi>').format(title, _short_name(character))
