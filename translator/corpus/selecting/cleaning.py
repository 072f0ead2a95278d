"""Cleaning, the first step of a preparation: normalize, filter and fold raw pairs, in chunks, in worker processes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from translator.config import FilterConfig, NormalizationConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.corpus.preparation_counts import NUMBERS_SHOWN, Example, chosen_examples
from translator.corpus.reading.lines import Pair
from translator.corpus.selecting.duplicates import Hashes, Keys, Numbers, pair_keys
from translator.corpus.selecting.filters import EMPTY, PairFilter
from translator.corpus.selecting.folding import fold
from translator.corpus.selecting.near_duplicates import signatures

_CHUNK_PAIRS: Final = 4096  # pairs in a chunk, which also ends at `_CHUNK_CHARACTERS` characters
_CHUNK_CHARACTERS: Final = 1 << 20

Examples = dict[str, list[Example]]  # by rule, as `chosen_examples` chooses them
LineNumbers = dict[str, list[int]]  # by rule for lines that cannot be read, the first `NUMBERS_SHOWN` of them


class Chunk(NamedTuple):
    """Consecutive raw pairs of a source, with the number of the source among all sources and test sets."""

    number: int
    filtered: bool  # false for a test set, which loses only empty and unreadable pairs
    pairs: list[tuple[int, str, str, str | None]]  # the fields of each `Pair`, as tuples that pickle faster


def chunks_of(pairs: Iterable[Pair], number: int, filtered: bool) -> Iterator[Chunk]:
    """Yield `pairs` in one or more chunks; their borders depend only on the pairs.

    Args:
        pairs: all pairs of one source.
        number: index of the source in the configuration.
        filtered: whether the filters apply to the source.
    """
    chunk = Chunk(number, filtered, [])
    characters = 0
    for pair in pairs:
        if len(chunk.pairs) == _CHUNK_PAIRS or characters >= _CHUNK_CHARACTERS:
            yield chunk
            chunk = Chunk(number, filtered, [])
            characters = 0
        chunk.pairs.append((pair.line, pair.source, pair.target, pair.defect))
        characters += len(pair.source) + len(pair.target)
    yield chunk


class SideTexts(NamedTuple):
    """The two sides of N pairs as UTF-8, with a line for each pair."""

    english: bytes
    persian: bytes


class CleanChunk(NamedTuple):
    """The N pairs of a chunk that passed the filters, and what is to be reported on the others."""

    number: int  # of the source
    read: int  # pairs in the chunk, dropped ones included
    dropped: Counter[str]  # pairs by the rule that they break
    examples: Examples
    unread: LineNumbers
    left_out: Numbers  # places of all dropped pairs in the chunk, from 1, if it is not filtered
    normalized: SideTexts  # what training reads
    raw: SideTexts  # as read, for held-out text and examples
    lines: Numbers  # (N,) numbers of their lines in the source
    keys: Keys  # (N, 2)
    folded: list[str]  # both folded sides of each pair as one text; empty if near-duplicates may stay
    bands: Hashes


class Cleaner:
    """Applies the normalizer and the filters of a configuration to chunks, in a worker process."""

    def __init__(self, normalization: NormalizationConfig, rules: NormalizerRules, filters: FilterConfig) -> None:
        self._normalizer = Normalizer(normalization, rules=rules)
        self._broken_rule = PairFilter(filters).broken_rule
        self._near_duplicates = filters.near_duplicates is not None

    def __call__(self, chunk: Chunk) -> CleanChunk:
        """Return the pairs of `chunk` that pass the filters, normalized."""
        # 1. Normalize and filter each pair.
        lines: list[int] = []
        english_texts: list[str] = []
        persian_texts: list[str] = []
        raw_english_texts: list[str] = []
        raw_persian_texts: list[str] = []
        dropped: dict[str, list[Example]] = {}
        unread: LineNumbers = {}
        left_out: list[int] = []
        for place, (line, raw_english, raw_persian, rule) in enumerate(chunk.pairs, start=1):
            if rule is None:
                english = self._normalizer.source(raw_english)
                persian = self._normalizer.target(raw_persian)
                rule = self._broken_rule(english, persian)
                if rule is None or (rule != EMPTY and not chunk.filtered):
                    lines.append(line)
                    english_texts.append(english)
                    persian_texts.append(persian)
                    raw_english_texts.append(raw_english)
                    raw_persian_texts.append(raw_persian)
                    continue
            elif len(unread.setdefault(rule, [])) < NUMBERS_SHOWN:
                unread[rule].append(line)
            dropped.setdefault(rule, []).append(Example.of(line, raw_english, raw_persian))
            if not chunk.filtered:
                left_out.append(place)

        # 2. Fold the remaining pairs, so that their repetitions can be found.
        folded = list(zip(map(fold, english_texts), map(fold, persian_texts), strict=True))
        folded_pairs: list[str] = []
        if self._near_duplicates:
            folded_pairs = [f"{english}|{persian}" for english, persian in folded]

        return CleanChunk(
            number=chunk.number,
            read=len(chunk.pairs),
            dropped=Counter({rule: len(examples) for rule, examples in dropped.items()}),
            examples={rule: chosen_examples(examples) for rule, examples in dropped.items()},
            unread=unread,
            left_out=np.array(left_out, np.int64),
            normalized=SideTexts(english=_as_lines(english_texts), persian=_as_lines(persian_texts)),
            raw=SideTexts(english=_as_lines(raw_english_texts), persian=_as_lines(raw_persian_texts)),
            lines=np.array(lines, np.int64),
            keys=pair_keys(folded),
            folded=folded_pairs,
            bands=signatures(folded_pairs),
        )


def _as_lines(texts: Sequence[str]) -> bytes:
    """Return `texts` as UTF-8, each with a line break at its end."""
    return "".join([f"{text}\n" for text in texts]).encode()
