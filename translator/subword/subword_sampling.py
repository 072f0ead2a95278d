"""Subword regularization: random segmentations (Kudo 2018; Provilkov et al. 2020), reproducible in every process.

SentencePiece also samples, but seeds its generators differently in each process, so that training could not resume
exactly. Here segmentations are drawn from the pieces and scores of the model. No piece spans two words, so words are
independent. For speed, each word has 16 candidate segmentations per seed; a hash of the seed and of the sentence's
place chooses among them. Each seed draws different candidates.
"""

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from translator.core import UNK

_SPACE: Final = "▁"
_CANDIDATES: Final = 16  # segmentations of a word per seed; a power of two, so that bytes choose uniformly
_MAX_CACHED_WORDS: Final = 2**17  # maximum number of words with cached candidates; bounds memory
_LONGEST_WORD: Final = 32  # characters; longer words are split first, to keep weights within a float's range


class ScoredPiece(NamedTuple):
    """A text piece of a model."""

    token: int  # its id
    score: float  # its log-probability, or with BPE the negative number of its merge


class SubwordSampler:
    """Draws segmentations with the pieces of one model; a pure function of its arguments, text and place."""

    def __init__(
        self,
        pieces: Mapping[str, ScoredPiece],
        byte_ids: Sequence[int],
        strength: float,
        seed: str,
        normalize: Callable[[str], str],
    ) -> None:
        """Set what the draws depend on.

        Args:
            pieces: all text pieces.
            byte_ids: the ids of the bytes 0 to 255; empty without byte fallback.
            strength: between 0 and 1, the exponent of unigram probabilities (smaller is more random) or the dropout
                probability of BPE merges.
            seed: different seeds draw different segmentations.
            normalize: SentencePiece's function, with spaces as `▁`.
        """
        assert 0 < strength < 1
        self._pieces = pieces
        self._byte_ids = byte_ids
        self._strength = strength
        self._seed = seed
        self._normalize = normalize
        self._longest_piece = max(map(len, pieces))  # characters
        # BPE scores are merge numbers, 0, -1, -2…; a unigram score is a logarithm.
        self._is_bpe = all(piece.score.is_integer() for piece in pieces.values())
        self._weights: dict[str, float] = {}
        if not self._is_bpe:
            self._weights = {spelling: math.exp(strength * piece.score) for spelling, piece in pieces.items()}
        self._candidates: dict[str, list[tuple[int, ...] | None]] = {}

    def sample(self, texts: Sequence[str], places: Sequence[str]) -> list[list[int]]:
        """Return the ids of a random segmentation of each text, without special tokens; `places` identify the texts."""
        rows: list[list[int]] = []
        for text, place in zip(texts, places, strict=True):
            words = self._normalize(text).split(_SPACE)[1:]
            choices = hashlib.shake_128(f"{self._seed} {place}".encode()).digest(len(words))
            row: list[int] = []
            for word, choice in zip(words, choices, strict=True):
                number = choice % _CANDIDATES
                candidates = self._candidates.get(word)
                row += (candidates[number] if candidates else None) or self._draw(word, number)
            rows.append(row)
        return rows

    def _draw(self, word: str, number: int) -> tuple[int, ...]:
        """Return the ids of the candidate `number` of a word, and cache it."""
        draw = random.Random(f"{self._seed} {number} {word}").random
        segment = self._merged if self._is_bpe else self._backward_sampled

        # 1. Draw pieces. The parts of a very long word are independent.
        marked_word = _SPACE + word
        pieces: list[str] = []
        for start in range(0, len(marked_word), _LONGEST_WORD):
            pieces += segment(marked_word[start : start + _LONGEST_WORD], draw)

        # 2. Spell unknown characters in bytes, or as one UNK for neighbours.
        ids: list[int] = []
        for piece in pieces:
            if piece in self._pieces:
                ids.append(self._pieces[piece].token)
            elif self._byte_ids:
                ids += [self._byte_ids[byte] for byte in piece.encode("utf-8")]
            elif not ids or ids[-1] != UNK:
                ids.append(UNK)

        # 3. Cache them, if there is room.
        candidate = tuple(ids)
        if word in self._candidates or len(self._candidates) < _MAX_CACHED_WORDS:
            self._candidates.setdefault(word, [None] * _CANDIDATES)[number] = candidate
        return candidate

    def _backward_sampled(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Return a segmentation drawn in proportion to the product of its pieces' weights.

        Forward filtering and backward sampling (Kudo 2018 §3.3). An unknown character is a piece of weight 1.
        """
        weights = self._weights

        # 1. Forward: the summed weight of all segmentations of the first `end` characters, and its parts by the start
        # of the last piece.
        sums = [1.0]
        last_pieces: list[list[tuple[float, int]]] = [[]]  # for each end, (weight, start)
        for end in range(1, len(word) + 1):
            parts: list[tuple[float, int]] = []
            for start in range(max(0, end - self._longest_piece), end):
                weight = weights.get(word[start:end])
                if weight is not None:
                    parts.append((sums[start] * weight, start))
            if word[end - 1] not in weights:
                parts.append((sums[end - 1], end - 1))
            sums.append(sum(weight for weight, _ in parts))
            last_pieces.append(parts)

        # 2. Backward: draw the last piece, then the one before it, and so on.
        pieces = []
        end = len(word)
        while end > 0:
            remainder = draw() * sums[end]
            start = 0
            for weight, start in last_pieces[end]:  # noqa: B007  # rounding may leave a remainder: then the last one
                remainder -= weight
                if remainder < 0:
                    break
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _merged(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Return the pieces after BPE merges, best first; each round drops each pair with probability `strength`.

        BPE-dropout (Provilkov et al. 2020 §3).
        """
        symbols = list(word)
        while True:
            # Find the pair with the highest score that is not dropped.
            best_score = -math.inf
            best_place = -1
            for place, pair in enumerate(itertools.pairwise(symbols)):
                piece = self._pieces.get(pair[0] + pair[1])
                if piece is not None and piece.score > best_score and draw() >= self._strength:
                    best_score = piece.score
                    best_place = place
            if best_place < 0:
                return symbols
            symbols[best_place : best_place + 2] = [symbols[best_place] + symbols[best_place + 1]]
