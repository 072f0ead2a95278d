"""The overlap of two corpora: how many pairs, and sides, of each are in the other."""

import contextlib
import itertools
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from translator.config import SourceConfig
from translator.corpus.duplicates import Keys, Numbers, pair_keys, whole_pairs
from translator.corpus.folding import fold
from translator.corpus.lines import Pair
from translator.corpus.near_duplicates import NearDuplicateIndex, signatures
from translator.corpus.normalizer import Normalizer
from translator.corpus.reading import read_pairs
from translator.run.files import storage_errors
from translator.run.logging import progress_bar
from translator.run.text import excerpt, text_table

SIMILAR: Final = 0.9  # smallest Jaccard similarity of near-duplicates in two corpora
EXAMPLES: Final = 5
_PAIRS_AT_ONCE: Final = 4096
_SHOWN_CHARACTERS: Final = 200


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


class _Indexed(NamedTuple):
    """The N pairs of a corpus with text on both sides."""

    keys: Keys  # (N, 2)
    places: Numbers  # (N,) of the pairs in the corpus
    numbers: Numbers  # (N,) of the pairs in the index of near-duplicates


def find_overlap(a: SourceConfig, b: SourceConfig, normalizer: Normalizer) -> Overlap:
    """Return the overlap of two corpora, normalized and folded; raises CorpusError if one cannot be read."""
    with contextlib.ExitStack() as stack:
        with storage_errors("a temporary folder"):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        index = stack.enter_context(NearDuplicateIndex(Path(folder)))
        pairs_of_a = _add(a, normalizer, index)
        pairs_of_b = _add(b, normalizer, index)
        found_in_b = _count_found(pairs_of_a, pairs_of_b, index)
        found_in_a = _count_found(pairs_of_b, pairs_of_a, index)
    return Overlap(
        names=(a.name, b.name),
        found=(found_in_b, found_in_a),
        examples=_examples(a, pairs_of_a, b, pairs_of_b),
    )


def _add(source: SourceConfig, normalizer: Normalizer, index: NearDuplicateIndex) -> _Indexed:
    """Add the pairs of a corpus to `index`."""
    keys = [np.empty((0, 2), np.uint64)]
    places = array("q")
    first_number = len(index)
    with contextlib.closing(read_pairs(source)) as pairs:
        numbered = enumerate(progress_bar(pairs, description=f"reading {source.name}", unit="pairs"))
        while chunk := list(itertools.islice(numbered, _PAIRS_AT_ONCE)):
            folded: list[tuple[str, str]] = []
            for place, pair in chunk:
                english, persian = fold(normalizer.source(pair.source)), fold(normalizer.target(pair.target))
                if english and persian:
                    folded.append((english, persian))
                    places.append(place)
            texts = [f"{english}|{persian}" for english, persian in folded]
            index.add(texts, signatures(texts))
            keys.append(pair_keys(folded))
    return _Indexed(
        keys=np.concatenate(keys),
        places=np.array(places),
        numbers=np.arange(first_number, len(index)),
    )


def _count_found(corpus: _Indexed, other_corpus: _Indexed, index: NearDuplicateIndex) -> Found:
    """Return how many pairs of `corpus` are in the other one."""
    is_same_pair = np.isin(whole_pairs(corpus.keys), whole_pairs(other_corpus.keys))
    # The other corpus comes first in the search, so its pairs survive.
    remaining = corpus.numbers[~is_same_pair]
    survivors = index.find(np.concatenate([other_corpus.numbers, remaining]), SIMILAR)[remaining]
    return Found(
        pairs=len(corpus.numbers),
        same_pair=int(is_same_pair.sum()),
        similar_pair=int(np.isin(survivors, other_corpus.numbers).sum()),
        same_source=int(np.isin(corpus.keys[:, 0], other_corpus.keys[:, 0]).sum()),
        same_target=int(np.isin(corpus.keys[:, 1], other_corpus.keys[:, 1]).sum()),
    )


def _examples(
    a: SourceConfig, pairs_of_a: _Indexed, b: SourceConfig, pairs_of_b: _Indexed
) -> tuple[tuple[Pair, Pair], ...]:
    """Return pairs of both corpora with the same English side, spread over corpus A."""
    _, shared_in_a, shared_in_b = np.intersect1d(pairs_of_a.keys[:, 0], pairs_of_b.keys[:, 0], return_indices=True)
    chosen = np.argsort(shared_in_a)  # in the order of corpus A
    if len(chosen) > EXAMPLES:
        chosen = chosen[np.linspace(0, len(chosen) - 1, EXAMPLES).astype(np.int64)]
    examples_of_a = _pairs_at(a, pairs_of_a.places[shared_in_a[chosen]].tolist())
    examples_of_b = _pairs_at(b, pairs_of_b.places[shared_in_b[chosen]].tolist())
    return tuple(zip(examples_of_a, examples_of_b, strict=True))


def _pairs_at(source: SourceConfig, places: Sequence[int]) -> list[Pair]:
    """Return the pairs at these places of a corpus, counted from 0, in the order of `places`."""
    last = max(places, default=-1)
    pair_at = {}
    with contextlib.closing(read_pairs(source)) as pairs:
        for place, pair in enumerate(itertools.islice(pairs, last + 1)):
            if place in places:
                pair_at[place] = pair
    return [pair_at[place] for place in places]


def format_overlap(overlap: Overlap) -> str:
    """Return the counts as a table, a column for each corpus, and the examples below it."""
    first, second = overlap.found
    rows = [
        ["pairs", f"{first.pairs:,}", f"{second.pairs:,}"],
        _row("found in the other", first.pairs, first.same_pair, second.pairs, second.same_pair),
        _row("nearly the same as one there", first.pairs, first.similar_pair, second.pairs, second.similar_pair),
        _row("English side found there", first.pairs, first.same_source, second.pairs, second.same_source),
        _row("Persian side found there", first.pairs, first.same_target, second.pairs, second.same_target),
    ]
    header = ["", f"A: {overlap.names[0]}", f"B: {overlap.names[1]}"]
    lines = [text_table(header, rows)]
    if overlap.examples:
        lines += ["", "examples of shared English sides, with line numbers:"]
    for pair_of_a, pair_of_b in overlap.examples:
        for letter, pair in (("A", pair_of_a), ("B", pair_of_b)):
            lines.append(f"  {letter} {pair.line:,}: {excerpt(pair.source, _SHOWN_CHARACTERS)}")
            lines.append(f"     {excerpt(pair.target, _SHOWN_CHARACTERS)}")
    return "\n".join(lines)


def _row(label: str, first_pairs: int, first_count: int, second_pairs: int, second_count: int) -> list[str]:
    return [f"  {label}", _with_share(first_count, first_pairs), _with_share(second_count, second_pairs)]


def _with_share(count: int, pairs: int) -> str:
    return f"{count:,} {100 * count / pairs:5.1f}%" if pairs else f"{count:,}"
