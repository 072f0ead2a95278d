"""Cuts a text that is too long for the model where a reader would pause."""

import re
from collections.abc import Callable

_SENTENCE_END = re.compile(r"[.!?…؟][\"'”’»)\]]*(\s+)(?![a-z])")
_CLAUSE_END = re.compile(r"(?:[,;:،؛]|\s[-–—])(\s+)")
_SPACE = re.compile(r"(\s+)")
_ABBREVIATION = re.compile(r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Mt|vs|[A-Z])\.$")
_LONGEST_ABBREVIATION = 8
"""Characters to look back for an abbreviation, the character before it and its full stop included."""


def split_text(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Return `text` in pieces, in order, that fit; only white space at the cuts is lost.

    A text that fits stays whole. Otherwise it is cut at all its sentence ends; a sentence that does not fit is halved
    at the clause mark nearest to its middle, else at the nearest space, until the halves fit.

    Args:
        text: one line.
        fits: whether the model can take a text.

    Returns:
        The pieces; a single word that does not fit is still too long, and the caller's to cut.
    """
    text = text.strip()
    if not text:
        return []
    if fits(text):
        return [text]
    sentences = _split_sentences(text)
    if len(sentences) > 1:
        return [piece for sentence in sentences for piece in split_text(sentence, fits)]
    middle = len(text) // 2
    for mark in (_CLAUSE_END, _SPACE):
        cuts = [match.span(1) for match in mark.finditer(text)]
        if cuts:
            end, start = min(cuts, key=lambda cut: abs(cut[0] - middle))
            return split_text(text[:end], fits) + split_text(text[start:], fits)
    return [text]


def _split_sentences(text: str) -> list[str]:
    """Return the sentences of `text`; the full stop of a common abbreviation or an initial ends none."""
    sentences, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[max(start, match.start(1) - _LONGEST_ABBREVIATION) : match.start(1)]):
            sentences.append(text[start : match.start(1)])
            start = match.end(1)
    return [*sentences, text[start:]]
