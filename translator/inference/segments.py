"""Segments of a text and their translations: splits long texts at sentences and clauses, and joins translations."""

import bisect
import heapq
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap
from translator.inference.sentences import split_sentences

Lengths = Callable[[Sequence[str]], list[int]]  # returns the length of each text in tokens

_CLAUSE_END = re.compile(r"(?:[,;:،؛][\"'”’»)\]]*|\s[-–—]|—)(?P<gap>\s+)")


class Segment(NamedTuple):
    """A sentence of a text, or a part of a sentence that is too long for the model."""

    line: int  # index of its text, from 0
    source: str  # the sentence that it belongs to, as given
    ids: list[int]
    is_first: bool  # whether it is the first segment of its text
    copied: Mapping[str, str]  # placeholder to copied text


@dataclass(frozen=True)
class Translation:
    """One translation of a text, with its scores."""

    text: str  # on one line
    score: float  # summed log-probability of its tokens, over all segments
    normalized_score: float  # `score` divided by the length penalty; averaged if there are several segments
    tokens: int  # of the target, EOS included
    pieces: int  # number of source segments; 0 for a source without words
    finished: bool  # False if a segment was cut off at its maximum length
    alignment: Alignment | None = None  # if requested
    attention: tuple[AttentionMap, ...] | None = None  # one map per segment, if requested

    def to_json(self) -> dict[str, Any]:
        """Return the translation for JSON; a score of minus infinity becomes None."""
        record: dict[str, Any] = {
            "text": self.text,
            "score": finite(round(self.score, 6)),
            "normalized_score": finite(round(self.normalized_score, 6)),
            "tokens": self.tokens,
            "pieces": self.pieces,
            "finished": self.finished,
        }
        if self.alignment is not None:
            record["alignment"] = asdict(self.alignment)
        if self.attention is not None:
            record["attention"] = [one.to_json() for one in self.attention]
        return record


def finite(value: float) -> float | None:
    """Return `value`, or None if it is not finite, which JSON cannot represent."""
    return value if math.isfinite(value) else None


def checked_texts(texts: Iterable[str], name: str) -> list[str]:
    """Return `texts` as a list; raise InputError, with the argument's `name`, for an item that is not valid text."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise InputError(f"{name} must be a list of texts, not of type {kind}; for one text, use translate(text)")
    listed = list(texts)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"{name}[{index}] is of type {type(text).__name__}, not str; decode or convert it first")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name}[{index}] has a lone surrogate (half a character) at position {error.start}, which UTF-8 "
                "cannot write; remove it"
            ) from None
    return listed


def split_text(text: str, lengths: Lengths, room: int) -> list[str]:
    """Return `text`, one line, as segments of at most `room` tokens, in order; only white space at the cuts is lost.

    A text that fits stays whole. Otherwise each sentence is a segment. A longer sentence is split between clauses, and
    a longer clause between words, into the fewest and most even segments. A longer word stays whole.

    >>> split_text("It rains. When it stops, we go home.", lambda texts: [len(text.split()) for text in texts], room=4)
    ['It rains.', 'When it stops,', 'we go home.']
    """
    text = text.strip()
    if not text or lengths([text])[0] <= room:
        return [text] if text else []
    sentences = [sentence.text for sentence in split_sentences(text)]
    segments: list[str] = []
    for sentence, length in zip(sentences, lengths(sentences), strict=True):
        segments += [sentence] if length <= room else _clause_segments(sentence, lengths, room)
    return segments


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence, split at the white space after commas, colons and dashes."""
    start = 0
    for match in _CLAUSE_END.finditer(sentence):
        end, next_start = match.span("gap")
        yield sentence[start:end]
        start = next_start
    if sentence[start:]:
        yield sentence[start:]


def _clause_segments(sentence: str, lengths: Lengths, room: int) -> list[str]:
    """Return a sentence of more than `room` tokens as segments of one or more clauses, or of parts of a clause."""
    clauses = list(_clauses(sentence))
    segments: list[str] = []
    fitting: list[tuple[str, int]] = []
    for clause, length in zip(clauses, lengths(clauses), strict=True):
        if length <= room:
            fitting.append((clause, length))
            continue
        words = clause.split()
        segments += _even(fitting, lengths, room) + _even(list(zip(words, lengths(words), strict=True)), lengths, room)
        fitting = []
    return segments + _even(fitting, lengths, room)


def _even(parts: Sequence[tuple[str, int]], lengths: Lengths, room: int) -> list[str]:
    """Return `parts` (text, length) joined into the fewest segments that fit, with the longest as short as possible."""
    fewest = len(_groups(parts, room))
    limit = 1 + bisect.bisect_left(range(1, room), True, key=lambda limit: len(_groups(parts, limit)) <= fewest)
    segments: list[str] = []
    for texts in _groups(parts, limit):
        whole = " ".join(texts)
        # The sum of the lengths is an estimate: a group that does not fit stays split.
        segments += [whole] if lengths([whole])[0] <= room else texts
    return segments


def _groups(parts: Sequence[tuple[str, int]], limit: int) -> list[list[str]]:
    """Return the texts in groups, filled greedily up to a length of `limit`; a longer text forms its own group."""
    groups: list[list[str]] = []
    room_left = -1
    for text, size in parts:
        if size <= room_left:
            groups[-1].append(text)
            room_left -= size
        else:
            groups.append([text])
            room_left = limit - size
    return groups


def join_segments(
    segments: Sequence[Sequence[Translation]], between: Sequence[str], count: int, *, ranked: bool
) -> list[Translation]:
    """Return up to `count` translations of a text from those of its segments.

    Args:
        segments: the translations of each segment, best first; at least one segment.
        between: the text before the first segment, between two, and after the last: one more than there are segments.
        count: number of translations.
        ranked: whether to return the combinations with the highest mean normalized score, best first. Otherwise draws
            are joined by number: the first of each segment, the second of each, and so on.
    """
    if count == 1:
        return [_joined([translations[0] for translations in segments], between)]
    if not ranked:
        return [_joined(draws, between) for draws in list(zip(*segments, strict=False))[:count]]
    best: list[tuple[float, tuple[Translation, ...]]] = [(0.0, ())]
    for translations in segments:
        totals: list[tuple[float, tuple[Translation, ...]]] = []
        for total, parts in best:
            for translation in translations:
                totals.append((total + translation.normalized_score, (*parts, translation)))
        best = heapq.nlargest(count, totals, key=lambda entry: entry[0])
    return [_joined(parts, between) for _, parts in best]


def _joined(parts: Sequence[Translation], between: Sequence[str]) -> Translation:
    """Return the translation of a text from one translation of each of its segments."""
    text = between[0]
    for part, following in zip(parts, between[1:], strict=True):
        # White space is left out beside an empty translation.
        text += part.text + (following if part.text or following.strip() else "")
    text = text.strip()
    if len(parts) == 1:
        return replace(parts[0], text=text)
    alignment: Alignment | None = None
    attention: tuple[AttentionMap, ...] | None = None
    if parts[0].alignment is not None:
        alignment = sum((part.alignment or Alignment() for part in parts), Alignment())
        attention = tuple(attention_map for part in parts for attention_map in part.attention or ())
    return Translation(
        text=text,
        score=sum(part.score for part in parts),
        normalized_score=sum(part.normalized_score for part in parts) / len(parts),
        tokens=sum(part.tokens for part in parts),
        pieces=sum(part.pieces for part in parts),
        finished=all(part.finished for part in parts),
        alignment=alignment,
        attention=attention,
    )
