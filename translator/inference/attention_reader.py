"""Makes maps and word alignments of the decoder's cross-attention."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from translator.errors import InputError
from translator.inference.attention import Alignment, AttentionMap
from translator.inference.searcher import AttentiveSearcher, Searcher
from translator.search import Hypothesis
from translator.special_tokens import EOS
from translator.subword import SubwordModel, SubwordPair

WORD_MARK: Final = "▁"
"""What SentencePiece puts before the first piece of a word."""


class Look(NamedTuple):
    """What attention tells of one hypothesis."""

    map: AttentionMap
    alignment: Alignment


class AttentionReader:
    """Asks an engine where its model looked.

    Args:
        searcher: the engine.
        subword: the models of its two languages.

    Raises:
        InputError: the engine does not tell.
    """

    def __init__(self, searcher: Searcher, subword: SubwordPair) -> None:
        if not isinstance(searcher, AttentiveSearcher):
            raise InputError(
                f"the engine {searcher.name} does not tell where its model looks, which attention and alignment are "
                "made from; take the engine torch"
            )
        self._searcher = searcher
        self._subword = subword

    def read(self, row: Sequence[int], hypotheses: Sequence[Hypothesis]) -> list[Look]:
        """Return what is told of each hypothesis of one source.

        Args:
            row: source ids without EOS.
            hypotheses: its translations.
        """
        source, target = self._subword.source, self._subword.target
        source_pieces = source.pieces_of([*row, EOS])
        labels = [[*one.tokens, *([EOS] if one.finished else [])] for one in hypotheses]
        found = []
        for hypothesis, label, weights in zip(  # (T, S)
            hypotheses, labels, self._searcher.cross_attention([row] * len(labels), labels), strict=True
        ):
            looked = AttentionMap(source_pieces, target.pieces_of(label), weights)
            found.append(Look(looked, align_words(row, hypothesis.tokens, weights, source, target)))
        return found


def align_words(
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    weights: npt.NDArray[np.float32],
    source: SubwordModel,
    target: SubwordModel,
) -> Alignment:
    """Return for each target word the source word that it looked at most, all pieces of both together.

    What goes to EOS counts for no word. Where the source has no word there are no pairs.

    Args:
        source_ids: source ids without EOS.
        target_ids: target ids without SOS and EOS.
        weights: (T, S) cross-attention, T at least the target ids, S at least the source ids.
        source: model of the source language.
        target: model of the target language.
    """
    of_source, of_target = word_spans(source.pieces_of(source_ids)), word_spans(target.pieces_of(target_ids))
    pairs: list[tuple[int, int]] = []
    if of_source:
        starts = [start for start, _ in of_source]
        by_word = np.add.reduceat(weights[:, : len(source_ids)], starts, axis=1)  # (T, words of the source)
        pairs = [
            (int(by_word[start:end].sum(axis=0).argmax()), number) for number, (start, end) in enumerate(of_target)
        ]
    return Alignment(_spelled(source, source_ids, of_source), _spelled(target, target_ids, of_target), tuple(pairs))


def word_spans(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each word begins and ends in `pieces`; a word mark that stands alone belongs to what follows it."""
    starts = [
        place
        for place, piece in enumerate(pieces)
        if place == 0 or (piece.startswith(WORD_MARK) and pieces[place - 1] != WORD_MARK)
    ]
    return list(pairwise([*starts, len(pieces)])) if starts else []


def _spelled(model: SubwordModel, ids: Sequence[int], words: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(text.strip() for text in model.decode_ids([ids[start:end] for start, end in words]))
