"""Markup inside a text: its tags stay out of the model, and its entities become the signs that they stand for."""

import re
from typing import Final

from translator.corpus.normalizer.punctuation import decode_entities

_VALUE: Final = r"""(?:"[^"<>]*"|'[^'<>]*'|[^\s<>"'/]++)"""
_ATTRIBUTES: Final = rf"(?:\s+[\w:.-]++={_VALUE})*+\s*"
_VOID: Final = "br|hr|img|input|wbr"  # tags without an end
_TAG: Final = re.compile(rf"<(?P<slash>/?)(?P<name>(?!(?i:{_VOID})\b)[A-Za-z][\w:.-]*+|\d++){_ATTRIBUTES}>")
_BLOCKS: Final = "br|hr|p|div|li|ul|ol|tr|td|th|table|h[1-6]|blockquote"  # tags that begin or end a sentence
_REMARK: Final = r"<!--(?:[^<>-]|-(?!->))*+-->|<[!?][A-Za-z][^<>]*+>"  # also <!DOCTYPE html> and <?xml ...?>
_BREAK: Final = re.compile(rf"((?<! ) *(?:</?(?i:{_BLOCKS})\b{_ATTRIBUTES}/?>|{_REMARK}) *)")
_CODE: Final = re.compile(r"(`[^`\n]+`)")
SINGLE_TAG: Final = rf"</?[A-Za-z][\w:.-]*+{_ATTRIBUTES}/?>|</?\d++\s*/?>"
"""A pattern of any tag."""


def unescaped(text: str) -> str:
    """Return `text` with the sign of each entity, such as `&#39;`; code in backticks stays."""
    if "&" not in text:
        return text
    parts = _CODE.split(text)
    parts[::2] = map(decode_entities, parts[::2])
    return "".join(parts)


def split_at_breaks(text: str) -> list[str]:
    """Return the parts of `text`, and between two of them the tag that parts their sentences, such as `<br/>`."""
    return _BREAK.split(text) if "<" in text else [text]


def cut_tags(text: str) -> tuple[str, str, str]:
    """Return the opening tags of a sentence, the sentence without tags, and its closing tags, nested.

    Tags without an end, such as `<img src="a.png">`, stay. A closing tag without an opening one belongs to an earlier
    sentence, and comes last.

    >>> cut_tags("The <b>book</b> is <0>old</0>.")
    ('<b><0>', 'The book is old.', '</0></b>')
    """
    opening: list[re.Match[str]] = []
    closing: dict[int, str] = {}  # closing tags, by the place of their opening tag in `opening`
    closing_earlier: list[str] = []  # closing tags of an earlier sentence

    # 1. Cut out each tag, and remember it.
    def cut(tag: re.Match[str]) -> str:
        """Remember a tag; return the empty text that replaces it."""
        if not tag["slash"]:
            opening.append(tag)
            return ""
        # A closing tag belongs to the last tag of its name that is still open.
        for place in reversed(range(len(opening))):
            if opening[place]["name"] == tag["name"] and place not in closing:
                closing[place] = tag[0]
                return ""
        closing_earlier.append(tag[0])
        return ""

    text = _TAG.sub(cut, text) if "<" in text else text

    # 2. All opening tags go before the sentence, so their closing tags follow the sentence in the reverse order.
    nested = [closing[place] for place in sorted(closing, reverse=True)]
    return "".join(tag[0] for tag in opening), text, "".join([*nested, *closing_earlier])


def without_tags(text: str) -> str:
    """Return `text` without the tags that `cut_tags` takes off."""
    return _TAG.sub("", text) if "<" in text else text
