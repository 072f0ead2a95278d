"""Translations that are there already: as ids, and with what the model gives them (teacher forcing)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from translator.config import SearchConfig
from translator.corpus.normalize import Normalizer
from translator.data import collate_source
from translator.inference.batches import plan_batches
from translator.inference.pieces import LOGGER, encodable, one_line
from translator.inference.searcher import Searcher
from translator.inference.translation import Translation
from translator.search import LengthPenalty, longest_outputs
from translator.subword import SubwordModel


class TargetReader:
    """Reads Persian texts as a model sees them.

    Args:
        searcher: the engine, with the model inside.
        subword: the model that cuts the target language.
        normalizer: rules that the training text went through.
        room: ids of a source at most, EOS left out.
    """

    def __init__(self, searcher: Searcher, subword: SubwordModel, normalizer: Normalizer, room: int) -> None:
        self._searcher = searcher
        self._subword = subword
        self._normalizer = normalizer
        self._room = room

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, whole, however long."""
        return self._subword.encode([one_line(self._normalizer.target(encodable(text))) for text in texts])

    def fits(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Return whether the model can take a source and a target of these ids, EOS left out."""
        return len(source) <= self._room and len(target) < self._searcher.max_positions

    def score(self, sources: Sequence[Sequence[int]], texts: Sequence[str], search: SearchConfig) -> list[Translation]:
        """Return what the model gives each text, as `Translator.score` says.

        Args:
            sources: ids of the English texts, EOS left out.
            texts: Persian texts, one for each.
            search: by which scores are normalized, and which says how long a translation may be.
        """
        labels = self.ids(texts)
        fitting = [number for number, pair in enumerate(zip(sources, labels, strict=True)) if self.fits(*pair)]
        if left_out := len(labels) - len(fitting):
            LOGGER.warning("%d of %d pairs are too long for the model to score", left_out, len(labels))
        found = [
            Translation(one_line(text), -math.inf, -math.inf, len(label) + 1, 1, False)
            for text, label in zip(self._subword.decode_ids(labels), labels, strict=True)
        ]
        penalty = LengthPenalty.of(search)
        for batch in plan_batches([max(len(sources[number]), len(labels[number])) for number in fitting], search):
            numbers = [fitting[place] for place in batch]
            rows = [sources[number] for number in numbers]
            scored = self._searcher.score(rows, [labels[number] for number in numbers])
            limits = longest_outputs(collate_source(rows), search.max_length_ratio, self._searcher.max_positions)
            for number, hypothesis, limit in zip(numbers, scored, limits.tolist(), strict=True):
                length = len(hypothesis.tokens) + 1  # EOS
                normalized = penalty.normalized(hypothesis.score, length)
                one = Translation.of(found[number].text, replace(hypothesis, normalized_score=normalized))
                found[number] = replace(one, finished=length <= limit)
        return found
