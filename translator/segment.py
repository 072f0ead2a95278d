"""Cuts a text that is too long for the model where a reader would pause."""

import re
from collections.abc import Callable, Iterator, Sequence

Lengths = Callable[[Sequence[str]], list[int]]
"""Returns the length of each text in tokens; that of words joined by spaces is about the sum of theirs."""

_SENTENCE_END = re.compile(r"(?:[.!?…؟۔][\"'”’»)\]]*(\s+)(?![a-z])|[。！？](\s*))")
_CLAUSE_END = re.compile(r"(?:[,;:،؛][\"'”’»)\]]*|\s[-–—]|—)(\s+)")
_SPACE = re.compile(r"(\s+)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sr|Jr|St|Mt|No|vs|e\.g|i\.e|(?:[A-Za-z]\.)*[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 12
"""Characters to look back for an abbreviation, the character before it and its full stop included."""


def split_text(text: str, lengths: Lengths, room: int) -> list[str]:
    """Return `text` in pieces, in order, that the model can take; only white space at the cuts is lost.

    A text that fits stays whole. Otherwise each sentence is a piece. A sentence that does not fit is cut between
    clauses, and a clause that does not fit between words, into as few pieces as there must be and those as even as
    they can be.

    Args:
        text: one line.
        lengths: length of each of several texts.
        room: longest piece.

    Returns:
        The pieces; a single word that does not fit is still too long, and the caller's to cut.

    >>> split_text("It rains. When it stops, we go home.", lambda texts: [len(text.split()) for text in texts], room=4)
    ['It rains.', 'When it stops,', 'we go home.']
    """
    text = text.strip()
    if not text:
        return []
    if lengths([text])[0] <= room:
        return [text]
    sentences = list(_sentences(text))
    pieces: list[str] = []
    for sentence, length in zip(sentences, lengths(sentences), strict=True):
        pieces += [sentence] if length <= room else _clauses(sentence, lengths, room)
    return pieces


def _clauses(sentence: str, lengths: Lengths, room: int) -> list[str]:
    """Return the pieces of a sentence that does not fit."""
    clauses = list(_parts(sentence, _CLAUSE_END))
    pieces: list[str] = []
    fitting: list[tuple[str, int]] = []
    for clause, length in zip(clauses, lengths(clauses), strict=True):
        if length <= room:
            fitting.append((clause, length))
            continue
        words = list(_parts(clause, _SPACE))
        pieces += _even(fitting, lengths, room) + _even(list(zip(words, lengths(words), strict=True)), lengths, room)
        fitting = []
    return pieces + _even(fitting, lengths, room)


def _even(parts: Sequence[tuple[str, int]], lengths: Lengths, room: int) -> list[str]:
    """Return the parts joined into the fewest pieces that fit, the longest of them as short as it can be.

    Args:
        parts: texts that follow one another, and their lengths; one that does not fit is a piece by itself.
        lengths: length of each of several texts.
        room: longest piece.
    """
    if not parts:
        return []
    sizes = [length for _, length in parts]
    fewest = len(_groups(sizes, room))
    shortest, longest = 1, room
    while shortest < longest:  # the smallest limit that still makes no more pieces
        limit = (shortest + longest) // 2
        if len(_groups(sizes, limit)) <= fewest:
            longest = limit
        else:
            shortest = limit + 1
    pieces, start = [], 0
    for count in _groups(sizes, longest):
        pieces.append([text for text, _ in parts[start : start + count]])
        start += count
    joined = [" ".join(texts) for texts in pieces]
    # The sum was only about right: what does not fit after all goes in its parts.
    fits = [length <= room for length in lengths(joined)]
    return [
        piece
        for whole, texts, fitting in zip(joined, pieces, fits, strict=True)
        for piece in ([whole] if fitting else texts)
    ]


def _groups(sizes: Sequence[int], limit: int) -> list[int]:
    """Return how many of `sizes` go into each group, filled one after another up to `limit`."""
    counts: list[int] = []
    room_left = -1
    for size in sizes:
        if size <= room_left:
            counts[-1] += 1
            room_left -= size
        else:
            counts.append(1)
            room_left = limit - size
    return counts


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`; the full stop of a common abbreviation or an initial ends none."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end, following = match.span(1) if match[1] is not None else match.span(2)
        if not _ABBREVIATION.search(text[max(start, end - _LONGEST_ABBREVIATION) : end]):
            yield text[start:end]
            start = following
    if text[start:]:
        yield text[start:]


def _parts(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """Yield what stands between the white space after each `mark`."""
    start = 0
    for match in mark.finditer(text):
        if text[start : match.start(1)]:
            yield text[start : match.start(1)]
        start = match.end(1)
    if text[start:]:
        yield text[start:]
