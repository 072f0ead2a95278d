"""Markdown for TensorBoard: tables, and text that stays text."""

import re
from collections.abc import Sequence
from typing import Final

from tabulate import tabulate

from translator.run.arabic_shaping import is_persian

_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>#|&~$!]")  # in Markdown or HTML
_BIDI_CONTROL: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return header and rows as a Markdown table; the cells must be Markdown, see `escape_markdown`."""
    return tabulate(rows, header, tablefmt="pipe", disable_numparse=True)


def escape_markdown(text: str) -> str:
    """Return `text` on one line, with characters special to Markdown or HTML as entities."""
    line = " ".join(_BIDI_CONTROL.sub("", text).split())
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", line)


def isolate_persian(text: str, like: str | None = None) -> str:
    """Return escaped `text`, isolated as right-to-left if it, or the text `like`, is Persian."""
    escaped = escape_markdown(text)
    # Uses Unicode isolates, since TensorBoard removes the `dir` attribute of HTML.
    return f"\u2067{escaped}\u2069" if is_persian(like or text) else escaped
