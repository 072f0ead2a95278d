"""Sentences on which a model is tried: named in a recipe, given on the command line, or held out of the corpus."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from pydantic import ValidationError

from translator.config import SourceConfig
from translator.corpus.comparison import corpus_argument
from translator.corpus.filters import is_empty
from translator.corpus.normalize import Normalizer
from translator.corpus.prepare import PreparedCorpus
from translator.corpus.sources import Pair, read_pairs
from translator.corpus.split import Split
from translator.errors import CorpusError, InputError
from translator.shipped import present_path

VALIDATION: Final = "validation"
"""The name of the sentences on which training validates."""


@dataclass(frozen=True)
class HeldOutSet:
    """Sentences with one or more references each, as read."""

    name: str
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    """For each sentence; all sentences have equally many."""
    origins: tuple[str, ...]
    """For each sentence the source of the corpus that it was held out of, or the name of the set."""


def read_test_set(source: SourceConfig, normalizer: Normalizer) -> Iterator[Pair]:
    """Yield the pairs that preparation counts as the test set: readable, and with text on both sides once normalized.

    Raises:
        CorpusError: the source cannot be read.
    """
    with contextlib.closing(read_pairs(source)) as pairs:
        for pair in pairs:
            if pair.defect is None and not is_empty(normalizer.source(pair.source), normalizer.target(pair.target)):
                yield pair


def held_out_argument(text: str) -> tuple[SourceConfig, ...]:
    """Return the corpora that `text` means, one for each reference, all with the same English side and name.

    It is a corpus in any layout, `ENGLISH:PERSIAN` or `ENGLISH:PERSIAN:PERSIAN...`, perhaps with `NAME=` before it.

    Raises:
        InputError: a file or folder is not there, or the name cannot be one.
    """
    name, place = None, text
    named = re.match("([^=/:]+)=(.+)", text, re.DOTALL)
    if named is not None and not _exists(text):
        name, place = named[1], named[2]
    files = place.split(":")
    if len(files) > 2 and not _exists(place) and all(map(_exists, files)):
        found = [corpus_argument(f"{files[0]}:{file}") for file in files[1:]]
    else:
        found = [corpus_argument(place)]
    try:
        return tuple(SourceConfig.model_validate({**one.model_dump(), "name": name or one.name}) for one in found)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f"`{name}` cannot be the name of a test set ({reason}); give NAME=PATH") from error


def read_held_out(corpora: Sequence[SourceConfig], normalizer: Normalizer) -> HeldOutSet:
    """Return the sentences of a test set that have text on every side once normalized; the texts are as read.

    Args:
        corpora: one for each reference, all with the same English side.
        normalizer: by which a side without text is told.

    Raises:
        CorpusError: a file cannot be read, its sides are of unequal length, or no sentence has text on every side.
    """
    name = corpora[0].name
    sources: list[str] = []
    references: list[tuple[str, ...]] = []
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(contextlib.closing(read_pairs(corpus))) for corpus in corpora]
        for pairs in zip(*readers, strict=True):
            source = normalizer.source(pairs[0].source)
            if all(pair.defect is None and not is_empty(source, normalizer.target(pair.target)) for pair in pairs):
                sources.append(pairs[0].source)
                references.append(tuple(pair.target for pair in pairs))
    if not sources:
        raise CorpusError(f"test set `{name}`: not one line has text on every side; check that these are the files")
    return HeldOutSet(name, tuple(sources), tuple(references), (name,) * len(sources))


def held_out_of_corpus(corpus: PreparedCorpus, split: Split) -> list[HeldOutSet]:
    """Return what each source of a prepared corpus has in `split`, under the name of the source.

    Raises:
        StorageError: the prepared text is damaged.
    """
    found = []
    for name in corpus.names(split):
        sources = tuple(corpus.lines(split, name, "en"))
        references = tuple((text,) for text in corpus.lines(split, name, "fa"))
        found.append(HeldOutSet(name, sources, references, (name,) * len(sources)))
    return found


def validation_sample(corpus: PreparedCorpus, count: int) -> HeldOutSet | None:
    """Return the sentences that training translates at each validation; None if there is no validation split.

    Args:
        corpus: the prepared corpus.
        count: the setting `training.validation_sentences`.

    Raises:
        StorageError: the prepared text is damaged.
    """
    parts = held_out_of_corpus(corpus, "validation")
    rows = [row for part in parts for row in zip(part.sources, part.references, part.origins, strict=True)]
    chosen = [rows[number] for number in evenly_spread(len(rows), count)]
    return HeldOutSet(VALIDATION, *map(tuple, zip(*chosen, strict=True))) if chosen else None


def evenly_spread(total: int, count: int) -> list[int]:
    """Return the numbers of `count` of `total` things, evenly spread over them; all if there are no more."""
    count = min(count, total)
    numbers: list[int] = np.linspace(0, total - 1, count).round().astype(np.int64).tolist() if count else []
    return numbers


def _exists(path: str) -> bool:
    with contextlib.suppress(OSError, ValueError):  # too long for the file system, or with a NUL
        return path != "" and present_path(path).exists()
    return False
