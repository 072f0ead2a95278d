"""How long the texts of a corpus are: sums and histograms that add up, whatever the chunks they were counted in."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from translator.corpus.normalize.letters import ZWNJ

WORD_BINS: Final = 101
"""1, 2, ... 100 words, and more than 100."""
CHARACTER_BINS: Final = 101
"""1 to 10, 11 to 20, ... 991 to 1,000 characters, and more than 1,000."""
CHARACTERS_IN_BIN: Final = 10
RATIO_BINS: Final = 41
"""Binary logarithms -2.5, -2.375, ... 2.5 in the middle of each bin; the outermost hold all that lies beyond."""
RATIO_BINS_IN_OCTAVE: Final = 8

Count = Annotated[int, Field(ge=0)]
_Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class SideStatistics:
    """The lengths of one side of some pairs."""

    words: Count
    """In all texts."""
    characters: Count
    """In all texts, spaces counted."""
    by_words: Annotated[tuple[Count, ...], Field(min_length=WORD_BINS, max_length=WORD_BINS)]
    """Texts in each of `WORD_BINS`."""
    by_characters: Annotated[tuple[Count, ...], Field(min_length=CHARACTER_BINS, max_length=CHARACTER_BINS)]
    """Texts in each of `CHARACTER_BINS`."""

    def __add__(self, other: "SideStatistics") -> "SideStatistics":
        return SideStatistics(
            self.words + other.words,
            self.characters + other.characters,
            _sum(self.by_words, other.by_words),
            _sum(self.by_characters, other.by_characters),
        )


@dataclass(frozen=True)
class TextStatistics:
    """The lengths of both sides of some pairs, and how they compare."""

    pairs: Count
    source: SideStatistics
    target: SideStatistics
    by_ratio: Annotated[tuple[Count, ...], Field(min_length=RATIO_BINS, max_length=RATIO_BINS)]
    """Pairs in each of `RATIO_BINS`, by the characters of the Persian side over those of the English one."""
    with_zwnj: Count
    """Pairs with a ZWNJ on the Persian side."""

    @classmethod
    def of(cls, sources: Sequence[str], targets: Sequence[str]) -> "TextStatistics":
        """Count normalized pairs: no text is empty, and a single space stands between two words.

        Args:
            sources: English texts.
            targets: as many Persian ones.
        """
        assert len(sources) == len(targets)
        source_lengths, target_lengths = _lengths(sources), _lengths(targets)
        octaves = np.log2(np.maximum(target_lengths, 1) / np.maximum(source_lengths, 1))
        middle = RATIO_BINS // 2
        ratios = np.rint(octaves * RATIO_BINS_IN_OCTAVE).astype(np.int64) + middle
        return cls(
            pairs=len(sources),
            source=_side(sources, source_lengths),
            target=_side(targets, target_lengths),
            by_ratio=_histogram(ratios, RATIO_BINS),
            with_zwnj=sum([ZWNJ in text for text in targets]),
        )

    def __add__(self, other: "TextStatistics") -> "TextStatistics":
        return TextStatistics(
            self.pairs + other.pairs,
            self.source + other.source,
            self.target + other.target,
            _sum(self.by_ratio, other.by_ratio),
            self.with_zwnj + other.with_zwnj,
        )

    @property
    def zwnj_share(self) -> float:
        """Part of the pairs with a ZWNJ on the Persian side, between 0 and 1; 0 without pairs."""
        return self.with_zwnj / max(self.pairs, 1)

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TextStatistics":
        """Return the statistics that `to_json` made `values` of.

        Raises:
            ValueError: the values are not of that kind.
        """
        return _ADAPTER.validate_python(values)


_ADAPTER: Final = TypeAdapter(TextStatistics)


def quantile_bin(histogram: Sequence[int], share: float) -> int:
    """Return the first bin at whose end at least `share` of all have been counted; 0 of an empty histogram."""
    counted = np.cumsum(histogram)
    return int(np.searchsorted(counted, share * counted[-1]))


def _lengths(texts: Sequence[str]) -> _Numbers:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _side(texts: Sequence[str], characters: _Numbers) -> SideStatistics:
    words = np.array([text.count(" ") for text in texts], np.int64) + 1
    return SideStatistics(
        words=int(words.sum()),
        characters=int(characters.sum()),
        by_words=_histogram(words - 1, WORD_BINS),
        by_characters=_histogram((characters - 1) // CHARACTERS_IN_BIN, CHARACTER_BINS),
    )


def _histogram(bins: _Numbers, count: int) -> tuple[int, ...]:
    """Count how often each bin stands there; what lies beyond the first or the last is counted in it."""
    return tuple(np.bincount(np.clip(bins, 0, count - 1), minlength=count).tolist())


def _sum(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([one + other for one, other in zip(first, second, strict=True)])
