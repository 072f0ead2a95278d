"""Subword regularization: one random segmentation of each text, the same wherever and whenever it is drawn again.

SentencePiece samples too, but its generators are salted anew in each process: the same seed gives other pieces after
a restart, and training could not be resumed exactly. So the drawing is done here, with pieces and scores of the model.
No piece goes beyond a word, so words are cut independently. Each word has 16 segmentations, drawn as the method says
by a generator of its own when they are first needed; which of them a word gets in its place is what the seed decides.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from translator.special_tokens import UNK

_SPACE: Final = "▁"
_VARIANT_BITS: Final = 4
"""2 to the power of this is the number of a word's segmentations."""
_WORDS_KEPT: Final = 2**17
"""Words whose segmentations are kept: the first that come, the frequent ones among them; memory stays bounded."""
_LONGEST_WORD: Final = 32
"""Characters; what is longer is cut there first, so that the weights of its segmentations stay within a float."""

Pieces = Mapping[str, tuple[int, float]]
"""The id and the score of each piece that is text."""


class SubwordSampler:
    """Draws segmentations with the pieces of one model, at one strength.

    Args:
        pieces: those made of text.
        byte_ids: the ids of the bytes 0 to 255; empty without byte fallback.
        strength: the exponent of unigram probabilities, or the dropout probability of merges.
    """

    def __init__(self, pieces: Pieces, byte_ids: Sequence[int], strength: float) -> None:
        self._pieces = pieces
        self._byte_ids = byte_ids
        self._strength = strength
        self._longest = max(map(len, pieces))
        # BPE numbers its merges, 0, -1, -2…; a unigram score is a logarithm.
        self._is_bpe = all(score.is_integer() for _, score in pieces.values())
        self._weights = {piece: math.exp(strength * score) for piece, (_, score) in pieces.items() if not self._is_bpe}
        self._drawn: dict[str, list[tuple[int, ...] | None]] = {}

    def sample(self, texts: Sequence[str], seed: int) -> list[list[int]]:
        """Return the ids of a random segmentation of each text; texts are as SentencePiece normalizes them."""
        split = [text.split(_SPACE)[1:] for text in texts]
        generator = np.random.PCG64(np.random.SeedSequence(seed))
        # The raw bits of a generator are the same in every version of NumPy.
        choices = iter((generator.random_raw(sum(map(len, split))) >> (64 - _VARIANT_BITS)).tolist())
        drawn = self._drawn
        rows: list[list[int]] = []
        for words in split:
            row: list[int] = []
            for word, choice in zip(words, choices):  # noqa: B905  # the choices go on with the next text
                known = drawn.get(word)
                row += (known[choice] if known else None) or self._draw(word, choice)
            rows.append(row)
        return rows

    def _draw(self, word: str, variant: int) -> tuple[int, ...]:
        """Return a segmentation of `word`, and keep it while there is room."""
        ids = self.segmentation(word, variant)
        if word in self._drawn or len(self._drawn) < _WORDS_KEPT:
            self._drawn.setdefault(word, [None] * 2**_VARIANT_BITS)[variant] = ids
        return ids

    def segmentation(self, word: str, variant: int) -> tuple[int, ...]:
        """Return the ids of a segmentation of `word`, which stands after a space, drawn by its own text and `variant`.

        See Kudo 2018 §3 for unigram models, Provilkov et al. 2020 §3 for BPE.
        """
        draw = random.Random(f"{variant} {word}").random
        marked = _SPACE + word
        cut = self._merged if self._is_bpe else self._backward_sampled
        ids: list[int] = []
        for start in range(0, len(marked), _LONGEST_WORD):
            for piece in cut(marked[start : start + _LONGEST_WORD], draw):
                ids += self._ids_of(piece, ids)
        return tuple(ids)

    def _ids_of(self, piece: str, before: Sequence[int]) -> Sequence[int]:
        """Return the id of a piece, or those of its bytes; neighbouring unknown characters are one UNK."""
        if piece in self._pieces:
            return (self._pieces[piece][0],)
        if self._byte_ids:
            return [self._byte_ids[byte] for byte in piece.encode("utf-8")]
        return () if before and before[-1] == UNK else (UNK,)

    def _backward_sampled(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Draw a segmentation with probability in proportion to the product of its weights: sums forward, back by lot.

        An unknown character is a piece of weight 1: it stands in every segmentation.
        """
        weights = self._weights
        sums = [1.0]
        ways: list[list[tuple[float, int]]] = [[]]
        """For each place, what comes in from which place before."""
        for end in range(1, len(word) + 1):
            incoming = []
            total = 0.0
            for start in range(max(0, end - self._longest), end):
                weight = weights.get(word[start:end])
                if weight is not None:
                    incoming.append((sums[start] * weight, start))
                    total += incoming[-1][0]
            if word[end - 1] not in weights:
                incoming.append((sums[end - 1], end - 1))
                total += sums[end - 1]
            sums.append(total)
            ways.append(incoming)
        found = []
        end = len(word)
        while end:
            left = draw() * sums[end]
            start = 0
            for weight, start in ways[end]:  # noqa: B007  # the last one stands if rounding leaves a rest
                left -= weight
                if left < 0:
                    break
            found.append(word[start:end])
            end = start
        return found[::-1]

    def _merged(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Merge the best pair again and again, where each pair is left out of each comparison by lot, until none is."""
        pieces = self._pieces
        symbols = list(word)
        while True:
            best, place = -math.inf, -1
            for number in range(len(symbols) - 1):
                known = pieces.get(symbols[number] + symbols[number + 1])
                if known is not None and known[1] > best and draw() >= self._strength:
                    best, place = known[1], number
            if place < 0:
                return symbols
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
