"""A test set that is named as such: all of its pairs that have text, as they were read."""

import contextlib
from collections.abc import Iterator

from translator.config import SourceConfig
from translator.corpus.filters import is_empty
from translator.corpus.normalize import Normalizer
from translator.corpus.sources import Pair, read_pairs


def read_test_set(source: SourceConfig, normalizer: Normalizer) -> Iterator[Pair]:
    """Yield the pairs that preparation counts as the test set: readable, and with text on both sides once normalized.

    Raises:
        CorpusError: the source cannot be read.
    """
    with contextlib.closing(read_pairs(source)) as pairs:
        for pair in pairs:
            if pair.defect is None and not is_empty(normalizer.source(pair.source), normalizer.target(pair.target)):
                yield pair
