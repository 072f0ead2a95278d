"""Prepared text as ids, block by block: the work of a process that encodes a part of a corpus.

Worker processes import this file, so it stands above the rooms that need PyTorch, which takes seconds to import.
"""

from typing import NamedTuple

from translator.config import NormalizationConfig
from translator.config.corpus_section import Languages
from translator.corpus.normalizer import Normalizer
from translator.corpus.normalizer_rules import NormalizerRules
from translator.corpus.prepared_corpus import TextBlock
from translator.subword.flat_rows import FlatRows
from translator.subword.model import SubwordModel
from translator.subword.source_text import training_pair


class PairBlock(NamedTuple):
    """Consecutive pairs of one source, for the process that encodes them."""

    source: TextBlock
    target: TextBlock
    is_normalized: bool


class EncodedBlock(NamedTuple):
    """The ids of both sides of a block of pairs."""

    source: FlatRows
    target: FlatRows


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

    def __call__(self, block: PairBlock) -> EncodedBlock:
        """Return the ids of the pairs of `block`: normalized, and with placeholders if the models have some."""
        sources = block.source.lines()
        targets = block.target.lines()
        if not block.is_normalized:
            sources = [self._normalizer.source(source) for source in sources]
            targets = [self._normalizer.target(target) for target in targets]
        for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
            sources[number], targets[number] = training_pair(source, target, self._placeholders)
        return EncodedBlock(
            source=FlatRows.of(self._source_model.encode(sources, self._threads)),
            target=FlatRows.of(self._target_model.encode(targets, self._threads)),
        )
