"""What two corpora have in common: pairs, sides and near-duplicates, counted on keys, so that memory stays small."""

import contextlib
import itertools
import re
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from translator.config import SourceConfig
from translator.corpus.duplicates import PairKeys, Shelf, SignedTexts, folded_key, keys_from_bytes, whole_pairs
from translator.corpus.normalize import Normalizer, fold
from translator.corpus.sources import Pair, read_pairs
from translator.errors import InputError
from translator.progress import progress_bar
from translator.shipped import present_path
from translator.storage import storage_errors
from translator.text_table import excerpt, text_table

SIMILAR: Final = 0.9
"""Smallest Jaccard similarity of two pairs that are nearly the same."""
EXAMPLES: Final = 5

_SHOWN: Final = 200
"""Characters of a text."""
_AT_A_TIME: Final = 4096
"""Pairs that are set aside at a time."""


@dataclass(frozen=True)
class Found:
    """How many pairs of one corpus are found in the other; texts are the same if `fold` makes them equal."""

    pairs: int
    """With text on both sides; the others are left out."""
    same_pair: int
    """Both sides stand in the other corpus, as one pair."""
    similar_pair: int
    """Not that, but a pair of the other corpus is a near-duplicate."""
    same_source: int
    """The English side stands in the other corpus, whatever its translation there."""
    same_target: int
    """The Persian side stands in the other corpus."""


@dataclass(frozen=True)
class Example:
    """An English side that two corpora share: the first pair with it in each, as read."""

    a: Pair
    b: Pair


@dataclass(frozen=True)
class CorpusComparison:
    """What two corpora, A and B, have in common."""

    names: tuple[str, str]
    found: tuple[Found, Found]
    """Of the pairs of A in B, and of the pairs of B in A."""
    examples: tuple[Example, ...]
    """At most `EXAMPLES`, from all over A, in its order."""


@dataclass(frozen=True)
class _Corpus:
    """What is kept of a corpus of N pairs with text on both sides."""

    keys: PairKeys
    positions: "array[int]"
    """(N,) places among all pairs that were read."""


def corpus_argument(text: str) -> SourceConfig:
    """Return the corpus that an argument of a command means: the path of a corpus, or `ENGLISH:PERSIAN`, two files.

    Raises:
        InputError: there is no such file or folder.
    """
    if _exists(text):
        return SourceConfig(name=_name(text), path=text)
    halves = [(text[: colon.start()], text[colon.end() :]) for colon in re.finditer(":", text)]
    for english, persian in halves:
        if _exists(english) and _exists(persian):
            return SourceConfig(name=_name(english), source_path=english, target_path=persian)
    missing = [half for half in halves[0] if not _exists(half)] if len(halves) == 1 else [text]
    raise InputError(
        f"`{text}` is no corpus: {' and '.join(f'`{path}`' for path in missing)} cannot be found; give a zip, a TSV "
        "(English, tab, Persian) or a folder of these, or two files as ENGLISH:PERSIAN"
    )


def _exists(path: str) -> bool:
    with contextlib.suppress(OSError, ValueError):  # too long for the file system, or with a NUL
        return path != "" and present_path(path).exists()
    return False


def _name(path: str) -> str:
    """Return the name of a file or folder without endings, in the letters that a name may have."""
    stem = Path(path).resolve().name.split(".")[0]
    return re.sub(r"[^\w-]+", "_", stem).lstrip("-")[:60] or "corpus"


def compare_corpora(a: SourceConfig, b: SourceConfig, normalizer: Normalizer) -> CorpusComparison:
    """Return what `a` and `b` have in common, after normalization and folding.

    Both are read twice. Keys stay in memory; texts and signatures go to temporary files meanwhile.

    Raises:
        CorpusError: one of them cannot be read.
        StorageError: there is no room for temporary files.
    """
    with contextlib.ExitStack() as stack:
        with storage_errors("a temporary folder"):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
        shelf = stack.enter_context(Shelf(Path(folder)))
        corpora = _shelve(a, normalizer, shelf), _shelve(b, normalizer, shelf)
        found = _found(*corpora, shelf, a_is_first=True), _found(*corpora[::-1], shelf, a_is_first=False)
    _, *places = np.intersect1d(corpora[0].keys.source, corpora[1].keys.source, return_indices=True)
    order = np.argsort(places[0])
    if len(order) > EXAMPLES:
        order = order[np.linspace(0, len(order) - 1, EXAMPLES).astype(np.int64)]
    pairs = [
        _pairs_at(source, [corpus.positions[place] for place in found_at[order].tolist()])
        for source, corpus, found_at in zip((a, b), corpora, places, strict=True)
    ]
    return CorpusComparison((a.name, b.name), found, tuple(map(Example, *pairs)))


def _shelve(source: SourceConfig, normalizer: Normalizer, shelf: Shelf) -> _Corpus:
    keys = bytearray(), bytearray()
    positions = array("q")
    with contextlib.closing(read_pairs(source)) as pairs:
        folded = _folded(pairs, normalizer, f"reading {source.name}")
        while chunk := list(itertools.islice(folded, _AT_A_TIME)):
            shelf.put(SignedTexts.of([f"{english}|{persian}" for _, english, persian in chunk]))
            for position, english, persian in chunk:
                positions.append(position)
                keys[0].extend(folded_key(english))
                keys[1].extend(folded_key(persian))
    return _Corpus(keys_from_bytes(*keys), positions)


def _folded(pairs: Iterator[Pair], normalizer: Normalizer, description: str) -> Iterator[tuple[int, str, str]]:
    """Yield the place and the folded sides of each pair that has text on both."""
    for position, pair in enumerate(progress_bar(pairs, description=description, unit="pairs")):
        english, persian = fold(normalizer.source(pair.source)), fold(normalizer.target(pair.target))
        if english and persian:
            yield position, english, persian


def _found(corpus: _Corpus, other: _Corpus, shelf: Shelf, *, a_is_first: bool) -> Found:
    """Count the pairs of `corpus` that are found in `other`."""
    keys, theirs = corpus.keys, other.keys
    counts = len(keys.source), len(theirs.source)
    same_pair = np.isin(whole_pairs(keys), whole_pairs(theirs))
    own_start, their_start = (0, counts[0]) if a_is_first else (counts[1], 0)
    own = own_start + np.flatnonzero(~same_pair)
    survivors = shelf.near_duplicates(np.concatenate([their_start + np.arange(counts[1]), own]), SIMILAR)[own]
    in_other = (survivors >= their_start) & (survivors < their_start + counts[1])
    return Found(
        pairs=counts[0],
        same_pair=int(np.count_nonzero(same_pair)),
        similar_pair=int(np.count_nonzero(in_other)),
        same_source=int(np.count_nonzero(np.isin(keys.source, theirs.source))),
        same_target=int(np.count_nonzero(np.isin(keys.target, theirs.target))),
    )


def _pairs_at(source: SourceConfig, positions: Sequence[int]) -> list[Pair]:
    """Return the pairs at some places of a corpus, in the order of `positions`; reads no further than the last."""
    found: dict[int, Pair] = {}
    with contextlib.closing(read_pairs(source)) as pairs:
        for position, pair in enumerate(itertools.islice(pairs, max(positions, default=-1) + 1)):
            if position in positions:
                found[position] = pair
    return [found[position] for position in positions]


def format_comparison(comparison: CorpusComparison) -> str:
    """Return the counts as a table, a column for each corpus, and the examples below it."""
    names = [f"{letter}: {name}" for letter, name in zip("AB", comparison.names, strict=True)]
    labels = {
        "same_pair": "found in the other",
        "similar_pair": "nearly the same as one there",
        "same_source": "English side found there",
        "same_target": "Persian side found there",
    }
    rows = [["pairs", *(f"{found.pairs:,}" for found in comparison.found)]]
    for field, label in labels.items():
        rows.append([f"  {label}", *(_share(getattr(found, field), found.pairs) for found in comparison.found)])
    lines = [text_table(["", *names], rows)]
    if comparison.examples:
        lines += ["", "English sides that both have, with their lines:"]
    for example in comparison.examples:
        for letter, pair in zip("AB", (example.a, example.b), strict=True):
            lines.append(f"  {letter} {pair.line:,}: {excerpt(pair.source, _SHOWN)}")
            lines.append(f"     {excerpt(pair.target, _SHOWN)}")
    return "\n".join(lines)


def _share(count: int, whole: int) -> str:
    return f"{count:,} {100 * count / whole:5.1f}%" if whole else f"{count:,}"
