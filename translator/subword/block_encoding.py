"""Prepared text as ids, block by block: the work of a process that encodes a part of a corpus.

Worker processes import this file, so it stands above the rooms that need PyTorch, which takes seconds to import.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from translator.config import NormalizationConfig
from translator.config.corpus_section import Languages
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.rules import NormalizerRules
from translator.subword.model import SubwordModel
from translator.subword.source_text import training_pair


class FlatRows(NamedTuple):
    """The ids of N sentences, one after the other, without special tokens."""

    ids: NDArray[np.int32]  # (T,)
    lengths: NDArray[np.int64]  # (N,)

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> "FlatRows":
        """Return `rows` of ids, one after the other."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32, int(lengths.sum()))
        return cls(ids=ids, lengths=lengths)

    def between(self, start: int, end: int) -> "FlatRows":
        """Return the sentences from number `start` to the one before `end`."""
        start_of_ids = self.lengths[:start].sum()
        end_of_ids = self.lengths[:end].sum()
        return FlatRows(ids=self.ids[start_of_ids:end_of_ids], lengths=self.lengths[start:end])


class BlockEncoder:
    """Encodes blocks of pairs, in a worker process."""

    def __init__(
        self,
        source_model: SubwordModel,
        target_model: SubwordModel,
        normalization: NormalizationConfig,
        languages: Languages,
        rules: NormalizerRules,
        threads: int,
    ) -> None:
        """Take the models, what the normalizer is made of, and the threads of SentencePiece."""
        self._source_model = source_model
        self._target_model = target_model
        self._placeholders = list(source_model.placeholders)
        self._normalizer = Normalizer(normalization, languages, rules)
        self._threads = threads

    def __call__(self, block: tuple[list[tuple[str, str]], bool]) -> tuple[FlatRows, FlatRows]:
        """Return the ids of the sources and the targets of `block`: its pairs, and whether they are normalized already.

        If they are not, they are normalized first. Parts to copy become placeholders, if the models have some.
        """
        pairs, is_normalized = block
        sources: list[str] = []
        targets: list[str] = []
        for source, target in pairs:
            if not is_normalized:
                source = self._normalizer.source(source)
                target = self._normalizer.target(target)
            source, target = training_pair(source, target, self._placeholders)
            sources.append(source)
            targets.append(target)
        return (
            FlatRows.of(self._source_model.encode(sources, self._threads)),
            FlatRows.of(self._target_model.encode(targets, self._threads)),
        )
