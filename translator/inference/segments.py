"""Texts and their translations: splits long texts at sentences and clauses, and joins the translations."""

import bisect
import heapq
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from translator.errors import InputError
from translator.inference.alignment import Alignment, AttentionMap

Lengths = Callable[[Sequence[str]], list[int]]  # returns the length of each text in tokens

_SENTENCE_END = re.compile(r"[.!?…؟۔][\"'”’»)\]]*(?P<gap>\s+)(?![a-z])")
_CLAUSE_END = re.compile(r"(?:[,;:،؛][\"'”’»)\]]*|\s[-–—]|—)(?P<gap>\s+)")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:Mr|Mrs|Ms|Dr|Prof|Rev|Gen|Col|Capt|Lt|Sgt|Sr|Jr|St|Mt|No|vs|e\.g|i\.e|(?:[A-Za-z]\.)*[A-Z])\.$"
)
_LONGEST_ABBREVIATION = 12  # in characters, including the one before it and its full stop


class Segment(NamedTuple):
    """A text, or a part of one that is too long for the model."""

    line: int  # index of its text, from 0
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
    pieces: int  # number of source segments; 0 for an empty source
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


def one_line(text: str) -> str:
    """Return `text` with each line break, of any kind, replaced by a space."""
    return " ".join(text.splitlines())


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
    sentences = list(_parts(text, _SENTENCE_END))
    segments: list[str] = []
    for sentence, length in zip(sentences, lengths(sentences), strict=True):
        segments += [sentence] if length <= room else _clauses(sentence, lengths, room)
    return segments


def _parts(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts of `text`, split at the white space after each `mark`; but not after an abbreviation."""
    start = 0
    for match in mark.finditer(text):
        end, following = match.span("gap")
        if not _ABBREVIATION.search(text[max(start, end - _LONGEST_ABBREVIATION) : end]):
            yield text[start:end]
            start = following
    if text[start:]:
        yield text[start:]


def _clauses(sentence: str, lengths: Lengths, room: int) -> list[str]:
    clauses = list(_parts(sentence, _CLAUSE_END))
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


def join_segments(segments: Sequence[Sequence[Translation]], count: int, *, ranked: bool) -> list[Translation]:
    """Return up to `count` translations of a text from those of its segments.

    If `ranked`, these are the combinations with the highest mean normalized score, best first. Otherwise draws are
    joined by number: the first of each segment, the second of each, and so on.
    """
    if len(segments) == 1:
        return list(segments[0][:count])
    if not ranked:
        return [_join(draws) for draws in list(zip(*segments, strict=False))[:count]]
    best: list[tuple[float, tuple[Translation, ...]]] = [(0.0, ())]
    for translations in segments:
        totals = ((total + one.normalized_score, (*parts, one)) for total, parts in best for one in translations)
        best = heapq.nlargest(count, totals, key=lambda entry: entry[0])
    return [_join(parts) for _, parts in best]


def _join(parts: Sequence[Translation]) -> Translation:
    aligned = parts[0].alignment is not None
    return Translation(
        " ".join(part.text for part in parts if part.text),
        sum(part.score for part in parts),
        sum(part.normalized_score for part in parts) / len(parts),
        sum(part.tokens for part in parts),
        sum(part.pieces for part in parts),
        all(part.finished for part in parts),
        sum((part.alignment or Alignment() for part in parts), Alignment()) if aligned else None,
        tuple(seen for part in parts for seen in part.attention or ()) if aligned else None,
    )
