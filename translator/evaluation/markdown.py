"""Text of a corpus inside Markdown: shown as it is, in its own direction, never taken for markup."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|&~$!]")
_BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT_ISOLATE, _POP_ISOLATE = "\u2067", "\u2069"


def plain(text: str) -> str:
    """Return `text` on one line with everything that Markdown or HTML would interpret written as an entity."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", " ".join(_BIDI_CONTROLS.sub("", text).split()))


def persian(text: str) -> str:
    """Return `text` as `plain` does, set from right to left.

    Unicode's isolates do this everywhere; the `dir` attribute of HTML is taken out by TensorBoard's sanitizer.
    """
    return f"{_RIGHT_TO_LEFT_ISOLATE}{plain(text)}{_POP_ISOLATE}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the cells are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
