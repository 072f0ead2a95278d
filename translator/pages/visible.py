"""Text of a corpus on a page: what cannot be seen is marked, and what would turn the text around is not obeyed."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

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


class Mark(NamedTuple):
    """What stands on a page in the place of a hidden character."""

    style: str
    """Classes of the page's style."""
    text: str
    title: str


def visible(text: str) -> Markup:
    """Return `text` as HTML in which every hidden character is a mark that tells its name.

    A ZWNJ is a thin bar and still parts the letters beside it. Direction controls, line breaks, unusual spaces and
    unassigned characters stand there by a short name, and do nothing.
    """
    parts, end = [], 0
    for match in _PERHAPS_HIDDEN.finditer(text):
        character = match[0]
        if not _needs_mark(character):
            continue
        parts += [escape(text[end : match.start()]), _mark(character)]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def plain(text: str) -> str:
    """Return `text` with the short name of each hidden character in its place, in ⟨⟩: for titles and attributes."""
    return _PERHAPS_HIDDEN.sub(lambda match: f"⟨{_short_name(match[0])}⟩" if _is_hidden(match[0]) else match[0], text)


def marks(texts: Iterable[str]) -> dict[str, Mark]:
    """Return the mark of each hidden character of `texts`, for a page whose script sets the text as `visible` does."""
    found = set().union(*map(set, texts))
    return {one: _description(one) for one in sorted(found) if _PERHAPS_HIDDEN.match(one) and _needs_mark(one)}


def _needs_mark(character: str) -> bool:
    return character == _LOST or _is_hidden(character)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN_CATEGORIES


def _short_name(character: str) -> str:
    return _SHORT_NAMES.get(character, f"U+{ord(character):04X}")


def _mark(character: str) -> Markup:
    mark = _description(character)
    if character == ZWNJ:
        return Markup('<span class="{}" title="{}">{}</span>').format(mark.style, mark.title, mark.text)
    return Markup('<bdi class="{}" dir="ltr" title="{}">{}</bdi>').format(mark.style, mark.title, mark.text)


def _description(character: str) -> Mark:
    name = _CONTROL_NAMES.get(character) or unicodedata.name(character, "no name").lower()
    title = f"{name} (U+{ord(character):04X})"
    if character == ZWNJ:
        return Mark("zwnj", ZWNJ, title)
    if character == _LOST:
        return Mark("mark lost", _LOST, title)
    return Mark("mark", _short_name(character), title)
