"""Subword regularization: random segmentations (Kudo 2018; Provilkov et al. 2020), reproducible in every process.

SentencePiece also samples, but seeds its generators differently in each process, so that training could not resume
exactly. Here segmentations are drawn from the pieces and scores of the model. No piece spans two words, so words are
independent. For speed, each word has 16 candidate segmentations per seed; a hash of the seed and of the sentence's
place chooses among them. Each seed draws different candidates.
"""

import hashlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from translator.special_tokens import UNK

_SPACE: Final = "▁"
_CANDIDATES: Final = 16  # segmentations of a word per seed; a power of two, so that bytes choose uniformly
_WORDS_KEPT: Final = 2**17  # maximum number of words with cached candidates; bounds memory
_LONGEST_WORD: Final = 32  # characters; longer words are split first, to keep weights within a float's range


class SubwordSampler:
    """Draws segmentations with the pieces of one model; a pure function of its arguments, text and place.

    `pieces` has id and score of each text piece; `byte_ids` has the ids of the bytes 0 to 255, or is empty. `strength`,
    between 0 and 1, is the exponent of unigram probabilities (smaller is more random) or the dropout probability of BPE
    merges. `normalize` is SentencePiece's function, with spaces as `▁`.
    """

    def __init__(
        self,
        pieces: Mapping[str, tuple[int, float]],
        byte_ids: Sequence[int],
        strength: float,
        seed: str,
        normalize: Callable[[str], str],
    ) -> None:
        assert 0 < strength < 1
        self._pieces = pieces
        self._byte_ids = byte_ids
        self._strength = strength
        self._seed = seed
        self._normalize = normalize
        self._longest = max(map(len, pieces))
        # BPE scores are merge numbers, 0, -1, -2…; a unigram score is a logarithm.
        self._is_bpe = all(score.is_integer() for _, score in pieces.values())
        self._weights = {piece: math.exp(strength * score) for piece, (_, score) in pieces.items() if not self._is_bpe}
        self._candidates: dict[str, list[tuple[int, ...] | None]] = {}

    def sample(self, texts: Sequence[str], places: Sequence[str]) -> list[list[int]]:
        """Return the ids of a random segmentation of each text, without special tokens; `places` identify the texts."""
        rows: list[list[int]] = []
        for text, place in zip(texts, places, strict=True):
            words = self._normalize(text).split(_SPACE)[1:]
            choices = hashlib.shake_128(f"{self._seed} {place}".encode()).digest(len(words))
            row: list[int] = []
            for word, choice in zip(words, choices, strict=True):
                known = self._candidates.get(word)
                row += (known[choice % _CANDIDATES] if known else None) or self._draw(word, choice % _CANDIDATES)
            rows.append(row)
        return rows

    def _draw(self, word: str, number: int) -> tuple[int, ...]:
        draw = random.Random(f"{self._seed} {number} {word}").random
        marked = _SPACE + word
        cut = self._merged if self._is_bpe else self._backward_sampled
        ids: list[int] = []
        for start in range(0, len(marked), _LONGEST_WORD):
            for piece in cut(marked[start : start + _LONGEST_WORD], draw):
                if piece in self._pieces:
                    ids.append(self._pieces[piece][0])
                elif self._byte_ids:
                    ids += [self._byte_ids[byte] for byte in piece.encode("utf-8")]
                elif not ids or ids[-1] != UNK:  # adjacent unknown characters form one UNK
                    ids.append(UNK)
        found = tuple(ids)
        if word in self._candidates or len(self._candidates) < _WORDS_KEPT:
            self._candidates.setdefault(word, [None] * _CANDIDATES)[number] = found
        return found

    def _backward_sampled(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Return a segmentation drawn by weight, from forward sums; an unknown character is a piece of weight 1."""
        weights = self._weights
        sums = [1.0]
        ways: list[list[tuple[float, int]]] = [[]]  # for each end, the mass from each start
        for end in range(1, len(word) + 1):
            incoming = [
                (sums[start] * weight, start)
                for start in range(max(0, end - self._longest), end)
                if (weight := weights.get(word[start:end])) is not None
            ]
            if word[end - 1] not in weights:
                incoming.append((sums[end - 1], end - 1))
            sums.append(sum(mass for mass, _ in incoming))
            ways.append(incoming)
        found = []
        end = len(word)
        while end:
            left = draw() * sums[end]
            start = 0
            for mass, start in ways[end]:  # noqa: B007  # rounding may leave a remainder: then the last one
                left -= mass
                if left < 0:
                    break
            found.append(word[start:end])
            end = start
        return found[::-1]

    def _merged(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Return the pieces after BPE merges, best first; each round drops each pair with probability `strength`."""
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
