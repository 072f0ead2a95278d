"""Detection of exact and near-duplicates at linear cost, and the overlap of two corpora.

Exact repetitions are found by 8-byte keys of folded texts, with 16 bytes of memory per pair.

Near-duplicates are compared by the sets of their character n-grams. The Jaccard similarity s is the share of the
n-grams of either text that both have. Candidates come from MinHash signatures (Broder 1997): in a random order of all
n-grams, the first n-gram of both sets is the same with probability s. The key of a band combines the first n-grams in
`ROWS` orders; a signature has `BANDS` keys. Two texts share a key with probability 1 - (1 - s ** ROWS) ** BANDS: 0.994
at s = 0.9, 0.81 at 0.8, 0.035 at 0.5 (Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", §3.4).
"""

import contextlib
import functools
import hashlib
import itertools
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from translator.config import SourceConfig
from translator.corpus.folding import fold
from translator.corpus.lines import Pair
from translator.corpus.normalizer import Normalizer
from translator.corpus.sources import read_pairs
from translator.run.logging import progress_bar
from translator.run.storage import storage_errors
from translator.run.text import excerpt, text_table

Hashes = NDArray[np.uint64]
Keys = NDArray[np.uint64]  # (N, 2): for each pair, the keys of its English and of its Persian side
Mask = NDArray[np.bool_]  # (N,) whether each of N pairs is chosen
Numbers = NDArray[np.int64]


def pair_keys(folded: Iterable[tuple[str, str]]) -> Keys:
    """Return the keys of folded pairs. Equal texts have equal keys; different texts almost never do."""
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for pair in folded for text in pair]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def mix(values: Hashes, seed: int) -> Hashes:
    """Return `values` scrambled by `seed`: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), a bijection."""
    scrambled = values + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF)
    scrambled = (scrambled ^ (scrambled >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    scrambled = (scrambled ^ (scrambled >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return scrambled ^ (scrambled >> np.uint64(31))


def whole_pairs(keys: Keys) -> Hashes:
    """Return one key (N,) for both sides of each pair."""
    return mix(keys[:, 0], 0) ^ keys[:, 1]  # one side is scrambled, so that equal sides do not cancel out


def beyond_cap(side: Hashes, cap: int) -> Mask:
    """Return for each key (N,) whether at least `cap` earlier ones are equal; keys of one side or of whole pairs."""
    order = np.argsort(side, kind="stable")  # equal keys keep their order
    ordered = side[order]
    beyond = np.zeros(len(side), dtype=np.bool_)
    beyond[order[cap:]] = ordered[cap:] == ordered[: max(0, len(side) - cap)]
    return beyond


NGRAM: Final = 5  # characters (code points)
MINIMUM_NGRAMS: Final = 60  # shorter texts get no signature, since one changed word can make a new sentence
ROWS: Final = 8  # orders in the key of a band
BANDS: Final = 9  # keys of a signature
_BASE: Final = np.uint64(0x9FB21C651E98DF25)  # an n-gram is a number in this base, modulo 2 ** 64
_BLOCK: Final = 1 << 15  # characters per block, so that a block fits into the cache of a core
# Multiplication by an odd number modulo 2 ** 32 permutes the hashes: one number for each row and band.
_ORDERS: Final = (mix(np.arange(BANDS * ROWS, dtype=np.uint64), 1) >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
_COMPARISONS: Final = 1 << 14  # that are listed at a time
_CACHED_TEXTS: Final = 256


def signatures(texts: Sequence[str]) -> Hashes:
    """Return the band keys (N, BANDS) of N folded texts; 0 for one of fewer than `MINIMUM_NGRAMS` n-grams."""
    keys = np.zeros((len(texts), BANDS), dtype=np.uint64)
    long = [number for number, text in enumerate(texts) if len(text) >= MINIMUM_NGRAMS + NGRAM - 1]
    if long:
        smallest = np.concatenate([_minima(block) for block in _blocks([texts[number] for number in long])], axis=1)
        band_keys = np.zeros((BANDS, len(long)), dtype=np.uint64)
        for row in range(ROWS):
            band_keys = band_keys * _BASE + smallest[row::ROWS]
        keys[long] = np.maximum(mix(band_keys, 0), np.uint64(1)).T
    return keys


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield runs of `texts` of at most `_BLOCK` characters; a longer text forms a run alone."""
    start = size = 0
    for number, text in enumerate(texts):
        if size and size + len(text) > _BLOCK:
            yield texts[start:number]
            start, size = number, 0
        size += len(text)
    yield texts[start:]


def _minima(texts: Sequence[str]) -> NDArray[np.uint32]:
    """Return the first n-gram of each of N texts in each order: shape (BANDS * ROWS, N)."""
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    count = len(characters) - NGRAM + 1
    values = characters[:count]
    for offset in range(1, NGRAM):
        values = values * _BASE + characters[offset : offset + count]
    ends = np.fromiter(itertools.accumulate(map(len, texts)), dtype=np.int64, count=len(texts))
    inside = np.ones(count, dtype=np.bool_)  # False for an n-gram that reaches into the next text
    for overhang in range(1, NGRAM):
        inside[ends[:-1] - overhang] = False
    starts = np.zeros(len(texts), dtype=np.int64)
    starts[1:] = ends[:-1] - (NGRAM - 1) * np.arange(1, len(texts))
    hashes = (mix(values[inside], 0) >> np.uint64(32)).astype(np.uint32)
    smallest = np.empty((len(_ORDERS), len(texts)), dtype=np.uint32)
    ordered = np.empty_like(hashes)
    for order, row in zip(_ORDERS, smallest, strict=True):
        np.multiply(hashes, order, out=ordered)
        np.minimum.reduceat(ordered, starts, out=row)
    return smallest


def find_near_duplicates(
    bands: Hashes, candidates: Numbers, threshold: float, text_of: Callable[[int], str]
) -> Numbers:
    """Return, for each of N pairs, the number of the kept pair that it nearly repeats, or -1.

    In each band, a pair is compared with the first and the last of the earlier pairs that have its key, or with the
    survivors of those. So the cost is linear however many pairs share a key. Only a pair whose true Jaccard
    similarity is `threshold` or more is dropped; a few such pairs are not found.

    Args:
        bands: (N, BANDS) `signatures` of all pairs; may be a memory map; it is read band by band.
        candidates: numbers of the pairs to compare; of two similar pairs, the earlier one in this list survives.
        text_of: returns the text of a pair, as it was given to `signatures`.
    """
    survivors = np.full(len(bands), -1, dtype=np.int64)

    @functools.lru_cache(_CACHED_TEXTS)
    def ngrams(number: int) -> set[str]:
        text = text_of(number)
        return {text[start : start + NGRAM] for start in range(len(text) - NGRAM + 1)}

    for later, earlier in _comparisons(bands, candidates):
        if survivors[later] < 0:
            survivor = earlier if survivors[earlier] < 0 else int(survivors[earlier])
            one, other = ngrams(later), ngrams(survivor)
            shared = len(one & other)
            if shared / (len(one) + len(other) - shared) >= threshold:
                survivors[later] = survivor
    return survivors


def _comparisons(bands: Hashes, candidates: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the later and the earlier pair of each comparison, in the order of `candidates`."""
    count = len(candidates)
    places = np.empty(0, dtype=np.int64)  # the place of the later pair, times count, plus that of the earlier one
    for band in range(BANDS):
        later, first, before = _sharing(bands[candidates, band])
        places = np.unique(np.concatenate([places, later * count + first, later * count + before]))
    for start in range(0, len(places), _COMPARISONS):
        later, earlier = np.divmod(places[start : start + _COMPARISONS], count)
        yield from zip(candidates[later].tolist(), candidates[earlier].tolist(), strict=True)


def _sharing(keys: Hashes) -> tuple[Numbers, Numbers, Numbers]:
    """Return the places whose nonzero key occurred before, and the first and the last earlier place of each."""
    order = np.flatnonzero(keys)
    order = order[np.argsort(keys[order], kind="stable")]  # equal keys keep their order
    ordered = keys[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    begins = np.ones(len(again), dtype=np.bool_)  # equal keys are neighbours, so their numbers in `again` are in a row
    begins[1:] = np.diff(again) > 1
    first = again[begins][np.cumsum(begins) - 1] - 1
    return order[again], order[first], order[again - 1]


class NearDuplicateIndex:
    """Folded pairs, numbered from 0 as added, and their signatures, in two files; 8 bytes of memory per pair."""

    def __init__(self, folder: Path) -> None:
        """Open the two files in an empty folder; raises `StorageError` if it is not writable."""
        self._folder = folder
        self._ends = array("q", [0])
        self._files = contextlib.ExitStack()
        with storage_errors(folder):
            self._texts = self._files.enter_context((folder / "texts").open("w+b"))
            self._bands = self._files.enter_context((folder / "bands").open("w+b"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with storage_errors(self._folder):  # on a full disk, closing fails too
            self._files.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, texts: Sequence[str], bands: Hashes) -> None:
        """Append texts with their `signatures`; a few thousand per call are fastest."""
        encoded = [text.encode() for text in texts]
        with storage_errors(self._folder):
            for file, content in ((self._texts, b"".join(encoded)), (self._bands, bands.tobytes())):
                file.seek(0, os.SEEK_END)  # reading has moved it
                file.write(content)
        for text in encoded:
            self._ends.append(self._ends[-1] + len(text))

    def text(self, number: int) -> str:
        """Return the text with this number."""
        start, end = self._ends[number], self._ends[number + 1]
        with storage_errors(self._folder, "read"):
            self._texts.seek(start)
            return self._texts.read(end - start).decode()

    def find(self, candidates: Numbers, threshold: float) -> Numbers:
        """Return `find_near_duplicates` of the texts with the numbers `candidates`: shape (number of texts,)."""
        if not len(self):
            return np.empty(0, dtype=np.int64)
        with storage_errors(self._folder):
            self._texts.flush()
            self._bands.flush()
        bands = np.memmap(self._bands, dtype=np.uint64, mode="r", shape=(len(self), BANDS))
        return find_near_duplicates(bands, candidates, threshold, self.text)


SIMILAR: Final = 0.9  # smallest Jaccard similarity of near-duplicates in two corpora
EXAMPLES: Final = 5


class Found(NamedTuple):
    """How many pairs of one corpus are in the other; texts are the same if `fold` makes them equal."""

    pairs: int  # pairs with text on both sides
    same_pair: int
    similar_pair: int  # not the same as a pair of the other corpus, but a near-duplicate of one
    same_source: int  # the English side is in the other corpus, with any translation
    same_target: int


@dataclass(frozen=True)
class Overlap:
    """The overlap of two corpora, A and B."""

    names: tuple[str, str]
    found: tuple[Found, Found]  # of the pairs of A in B, and of the pairs of B in A
    examples: tuple[tuple[Pair, Pair], ...]  # at most `EXAMPLES` shared English sides: the first pair of each corpus


def find_overlap(a: SourceConfig, b: SourceConfig, normalizer: Normalizer) -> Overlap:
    """Return the overlap of two corpora, normalized and folded; raises CorpusError if one cannot be read."""
    with contextlib.ExitStack() as stack:
        with storage_errors("a temporary folder"):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        index = stack.enter_context(NearDuplicateIndex(Path(folder)))
        (keys_a, places_a), (keys_b, places_b) = (_add(source, normalizer, index) for source in (a, b))
        of_a, of_b = np.split(np.arange(len(index)), [len(keys_a)])
        found = _found(keys_a, of_a, keys_b, of_b, index), _found(keys_b, of_b, keys_a, of_a, index)
    _, in_a, in_b = np.intersect1d(keys_a[:, 0], keys_b[:, 0], return_indices=True)
    order = np.argsort(in_a)
    if len(order) > EXAMPLES:
        order = order[np.linspace(0, len(order) - 1, EXAMPLES).astype(np.int64)]
    pairs = _pairs_at(a, places_a[in_a[order]].tolist()), _pairs_at(b, places_b[in_b[order]].tolist())
    return Overlap((a.name, b.name), found, tuple(zip(*pairs, strict=True)))


def _add(source: SourceConfig, normalizer: Normalizer, index: NearDuplicateIndex) -> tuple[Keys, Numbers]:
    keys, places = [np.empty((0, 2), np.uint64)], array("q")
    with contextlib.closing(read_pairs(source)) as pairs:
        read = enumerate(progress_bar(pairs, description=f"reading {source.name}", unit="pairs"))
        while chunk := list(itertools.islice(read, 4096)):
            sides = [(fold(normalizer.source(pair.source)), fold(normalizer.target(pair.target))) for _, pair in chunk]
            texts = [f"{english}|{persian}" for english, persian in sides if english and persian]
            index.add(texts, signatures(texts))
            keys.append(pair_keys(filter(all, sides)))
            places.extend(place for (place, _), pair in zip(chunk, sides, strict=True) if all(pair))
    return np.concatenate(keys), np.array(places)


def _found(keys: Keys, own: Numbers, other_keys: Keys, other: Numbers, index: NearDuplicateIndex) -> Found:
    same_pair = np.isin(whole_pairs(keys), whole_pairs(other_keys))
    rest = own[~same_pair]
    survivors = index.find(np.concatenate([other, rest]), SIMILAR)[rest]
    same = (same_pair, np.isin(survivors, other), *(np.isin(keys[:, side], other_keys[:, side]) for side in (0, 1)))
    return Found(len(own), *(int(mask.sum()) for mask in same))


def _pairs_at(source: SourceConfig, places: Sequence[int]) -> list[Pair]:
    with contextlib.closing(read_pairs(source)) as pairs:
        reach = itertools.islice(pairs, max(places, default=-1) + 1)
        found = {place: pair for place, pair in enumerate(reach) if place in places}
    return [found[place] for place in places]


_SIDES: Final = ("English side found there", "Persian side found there")
_ROWS: Final = ("found in the other", "nearly the same as one there", *_SIDES)


def format_overlap(overlap: Overlap) -> str:
    """Return the counts as a table, a column for each corpus, and the examples below it."""
    rows = [["pairs", *(f"{found.pairs:,}" for found in overlap.found)]]
    for label, counts in zip(_ROWS, zip(*(found[1:] for found in overlap.found), strict=True), strict=True):
        shares = zip(counts, (found.pairs for found in overlap.found), strict=True)
        rows.append([f"  {label}", *(f"{n:,} {100 * n / whole:5.1f}%" if whole else f"{n:,}" for n, whole in shares)])
    lines = [text_table(["", *(f"{letter}: {name}" for letter, name in zip("AB", overlap.names, strict=True))], rows)]
    if overlap.examples:
        lines += ["", "examples of shared English sides, with line numbers:"]
    for example in overlap.examples:
        for letter, pair in zip("AB", example, strict=True):
            lines += [f"  {letter} {pair.line:,}: {excerpt(pair.source, 200)}", f"     {excerpt(pair.target, 200)}"]
    return "\n".join(lines)
