"""Cleaning one chunk of pairs: normalize, filter, take keys; a pure function, so that any process may do it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.config import FilterConfig, NormalizationConfig
from translator.corpus.duplicates import SignedTexts, folded_key
from translator.corpus.examples import ExampleCollector
from translator.corpus.filters import EMPTY, PairFilter
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.sources import Pair

_PAIRS: Final = 4096
_CHARACTERS: Final = 1 << 20
"""A chunk ends when it has this many pairs or characters: the first of the two."""


@dataclass(frozen=True)
class Chunk:
    """Some neighbouring pairs of a source, as read; texts are strung together, which is quicker to hand over."""

    number: int
    """Of the source, in the list of all."""
    name: str
    """Of the source."""
    filtered: bool
    """Whether the filters apply: not to a test set, which is taken as it is but for empty and unreadable pairs."""
    lines: list[int]
    sources: str
    targets: str
    defects: Sequence[tuple[str, int]]
    """Rule and line number of each pair that could not be read; they are not among the others."""


@dataclass(frozen=True)
class CleanChunk:
    """What is left of a chunk: N pairs."""

    number: int
    read: int
    dropped: Counter[str]
    examples: ExampleCollector
    normalized: tuple[bytes, bytes]
    """English and Persian lines."""
    raw: tuple[bytes, bytes]
    lines: NDArray[np.int64]
    """(N,) line numbers."""
    keys: tuple[bytes, bytes]
    """Of both sides, 8 bytes a pair."""
    folded: SignedTexts
    """Both folded sides of each pair as one text, for finding near-duplicates."""


def chunks_of(pairs: Iterator[Pair], number: int, name: str, filtered: bool) -> Iterator[Chunk]:
    """Yield `pairs` in chunks, whose borders depend on the pairs alone."""
    chunk = _Chunk()
    for pair in pairs:
        chunk.add(pair)
        if chunk.is_full:
            yield chunk.made(number, name, filtered)
            chunk = _Chunk()
    if chunk.read:
        yield chunk.made(number, name, filtered)


@dataclass
class _Chunk:
    lines: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    defects: list[tuple[str, int]] = field(default_factory=list)
    read: int = 0
    characters: int = 0

    def add(self, pair: Pair) -> None:
        self.read += 1
        if pair.defect is not None:
            self.defects.append((pair.defect, pair.line))
            return
        self.lines.append(pair.line)
        self.sources.append(pair.source)
        self.targets.append(pair.target)
        self.characters += len(pair.source) + len(pair.target)

    @property
    def is_full(self) -> bool:
        return self.read >= _PAIRS or self.characters >= _CHARACTERS

    def made(self, number: int, name: str, filtered: bool) -> Chunk:
        sources, targets = "\n".join(self.sources), "\n".join(self.targets)
        return Chunk(number, name, filtered, self.lines, sources, targets, self.defects)


_Kept = tuple[int, str, str, str, str]
"""Line number, normalized and raw texts."""


class Cleaner:
    """The rules of a configuration, ready to be applied to chunks."""

    def __init__(self, normalization: NormalizationConfig, filters: FilterConfig) -> None:
        normalizer = Normalizer(normalization)
        self._normalize_source, self._normalize_target = normalizer.source, normalizer.target
        self._broken_rule = PairFilter(filters).broken_rule
        self._near_duplicates = filters.near_duplicates is not None

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return what is left of `chunk`."""
        dropped = Counter(rule for rule, _ in chunk.defects)
        examples = ExampleCollector(chunk.name)
        for defect, line in chunk.defects:
            examples.add(defect, line, "", "")
        kept: list[_Kept] = []
        # Split at "\n" alone: `splitlines` would also split at U+2028 and others, which texts may hold.
        sources, targets = chunk.sources.split("\n"), chunk.targets.split("\n")
        for line, raw_source, raw_target in zip(chunk.lines, sources, targets, strict=bool(chunk.lines)):
            source, target = self._normalize_source(raw_source), self._normalize_target(raw_target)
            rule = self._broken_rule(source, target)
            if rule is not None and (chunk.filtered or rule == EMPTY):
                dropped[rule] += 1
                examples.add(rule, line, raw_source, raw_target)
            else:
                kept.append((line, source, target, raw_source, raw_target))
        return self._packed(chunk, kept, dropped, examples)

    def _packed(
        self,
        chunk: Chunk,
        kept: list[tuple[int, str, str, str, str]],
        dropped: Counter[str],
        examples: ExampleCollector,
    ) -> CleanChunk:
        lines, *texts = zip(*kept, strict=True) if kept else ((), (), (), (), ())
        encoded = [[f"{text}\n".encode() for text in side] for side in texts]
        folded = [list(map(fold, side)) for side in texts[:2]]
        whole = [f"{source}|{target}" for source, target in zip(*folded, strict=True)]
        return CleanChunk(
            number=chunk.number,
            read=len(chunk.lines) + len(chunk.defects),
            dropped=dropped,
            examples=examples,
            normalized=(b"".join(encoded[0]), b"".join(encoded[1])),
            raw=(b"".join(encoded[2]), b"".join(encoded[3])),
            lines=np.array(lines, np.int64),
            keys=(b"".join(map(folded_key, folded[0])), b"".join(map(folded_key, folded[1]))),
            folded=SignedTexts.of(whole if self._near_duplicates else []),
        )
