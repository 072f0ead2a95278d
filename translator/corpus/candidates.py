"""The first pass over a source: read, normalize, filter, take keys, and set the good pairs aside on disk."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from translator.config import SourceConfig
from translator.corpus.filters import EMPTY, PairFilter
from translator.corpus.normalize import Normalizer
from translator.corpus.overlap import PairKeys, keys_from_bytes, text_key
from translator.corpus.sources import Pair, read_pairs
from translator.progress import progress_bar


@dataclass(frozen=True)
class Candidates:
    """The pairs of one source that passed the filters."""

    source: SourceConfig
    read: int
    dropped: Counter[str]
    """Pairs dropped so far, by rule."""
    keys: PairKeys
    """Of the pairs that are left."""
    normalized: tuple[Path, Path]
    """The pairs that are left, English and Persian, a line each."""
    raw: tuple[Path, Path]
    """The same pairs as read."""


@contextlib.contextmanager
def reading(source: SourceConfig, purpose: str) -> Iterator[Iterator[Pair]]:
    """Yield the pairs of `source` behind a progress bar, and close the files at the end."""
    pairs = read_pairs(source)
    try:
        yield iter(progress_bar(pairs, description=f"{purpose} {source.name}", total=source.max_pairs, unit="pairs"))
    finally:
        pairs.close()


def collect_candidates(
    source: SourceConfig, normalizer: Normalizer, pair_filter: PairFilter, folder: Path
) -> Candidates:
    """Stream `source` once, writing its good pairs, normalized and raw, to `folder`; memory: 16 bytes a pair.

    A source that is named as validation or test set is taken as it is, but for empty pairs: a filter must not change
    what a score means.

    Raises:
        CorpusError: the source cannot be read.
        StorageError: the disk is full.
    """
    use_filters = source.use in ("auto", "train")
    read = 0
    dropped: Counter[str] = Counter()
    source_keys, target_keys = bytearray(), bytearray()
    normalize_source, normalize_target, broken_rule = normalizer.source, normalizer.target, pair_filter.broken_rule
    normalized = (folder / "normalized.en", folder / "normalized.fa")
    raw = (folder / "raw.en", folder / "raw.fa")
    with contextlib.ExitStack() as stack:
        english, persian, raw_english, raw_persian = (
            stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in (*normalized, *raw)
        )
        for _, raw_source, raw_target in stack.enter_context(reading(source, "cleaning")):
            read += 1
            source_text, target_text = normalize_source(raw_source), normalize_target(raw_target)
            rule = broken_rule(source_text, target_text)
            if rule is not None and (use_filters or rule == EMPTY):
                dropped[rule] += 1
                continue
            source_keys += text_key(source_text)
            target_keys += text_key(target_text)
            english.write(source_text + "\n")
            persian.write(target_text + "\n")
            raw_english.write(raw_source + "\n")
            raw_persian.write(raw_target + "\n")
    return Candidates(source, read, dropped, keys_from_bytes(source_keys, target_keys), normalized, raw)


def collect_keys(source: SourceConfig, normalizer: Normalizer) -> PairKeys:
    """Return the keys of all pairs of `source`, a test set to be kept out of training.

    Raises:
        CorpusError: the source cannot be read.
    """
    source_keys, target_keys = bytearray(), bytearray()
    with reading(source, "reading") as pairs:
        for _, source_text, target_text in pairs:
            source_keys += text_key(normalizer.source(source_text))
            target_keys += text_key(normalizer.target(target_text))
    return keys_from_bytes(source_keys, target_keys)
