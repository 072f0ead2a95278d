"""Subword regularization: random segmentations, of which a text and a seed give the same in every process.

SentencePiece also samples, but adds a number of the process to its seed, so that training could not resume exactly.
No piece spans two words, so each word is drawn alone.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Final

from translator.core import UNK

_SPACE: Final = "▁"
_KEPT_WORDS: Final = 2**14  # words whose lattices are kept, a few kB each


class SubwordSampler:
    """Draws segmentations with the pieces of one model."""

    def __init__(
        self,
        ids: Mapping[str, int],
        scores: Mapping[str, float],
        byte_ids: Sequence[int],
        strength: float,
        normalize: Callable[[str], str],
    ) -> None:
        """Set what the draws depend on.

        Args:
            ids: the id of each text piece.
            scores: the log-probability of each piece, or with BPE the negative number of its merge.
            byte_ids: the ids of the bytes 0 to 255; empty without byte fallback.
            strength: between 0 and 1, the exponent of unigram probabilities (smaller is more random) or the dropout
                probability of BPE merges.
            normalize: SentencePiece's function, with spaces as `▁`.
        """
        self._ids = ids
        self._scores = scores
        self._byte_ids = byte_ids
        self._strength = strength
        self._normalize = normalize
        self._longest_piece = max(map(len, ids))  # characters
        # BPE scores are merge numbers, 0, -1, -2…; a unigram score is a logarithm.
        self._is_bpe = all(score.is_integer() for score in scores.values())
        self._last_pieces = lru_cache(maxsize=_KEPT_WORDS)(self._weighed_last_pieces)

    def sample(self, text: str, seed: str) -> list[int]:
        """Return the ids of a random segmentation of `text`, without special tokens."""
        random = Random(seed)
        pieces_of = self._bpe_pieces if self._is_bpe else self._unigram_pieces
        words = self._normalize(text).split(_SPACE)[1:]  # nothing precedes the space of the first word
        ids: list[int] = []
        for word in words:
            for piece in pieces_of(_SPACE + word, random):
                # Unknown characters are spelled in bytes, or as one UNK for neighbours.
                if piece in self._ids:
                    ids.append(self._ids[piece])
                elif self._byte_ids:
                    ids += [self._byte_ids[byte] for byte in piece.encode("utf-8")]
                elif not ids or ids[-1] != UNK:
                    ids.append(UNK)
        return ids

    def _weighed_last_pieces(self, word: str) -> list[tuple[list[int], list[float]]]:
        """Return, for each end in `word`, the starts of the pieces that can end there, and the weights of these pieces.

        A weight is the share of a piece in all segmentations up to its end; an unknown character is a piece of
        probability 1. Logarithms keep long words within a float's range. This is forward filtering (Kudo 2018 §3.3).
        """
        log_sums = [0.0]  # of the probabilities of all segmentations up to an end
        last_pieces = []
        for end in range(1, len(word) + 1):
            # 1. The pieces that can end here, each after all segmentations up to its start.
            starts = []
            logarithms = []
            for start in range(max(0, end - self._longest_piece), end):
                score = self._scores.get(word[start:end])
                if score is None and start == end - 1:
                    score = 0.0  # an unknown character
                if score is not None:
                    starts.append(start)
                    logarithms.append(log_sums[start] + self._strength * score)
            # 2. Their weights, relative to the highest, and the sum for the ends after this one.
            highest = max(logarithms)
            weights = [math.exp(logarithm - highest) for logarithm in logarithms]
            log_sums.append(highest + math.log(sum(weights)))
            last_pieces.append((starts, weights))
        return last_pieces

    def _unigram_pieces(self, word: str, random: Random) -> list[str]:
        """Return the pieces of `word`, drawn from the last to the first: backward sampling (Kudo 2018 §3.3)."""
        last_pieces = self._last_pieces(word)
        pieces = []
        end = len(word)
        while end > 0:
            starts, weights = last_pieces[end - 1]
            (start,) = random.choices(starts, weights)
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _bpe_pieces(self, word: str, random: Random) -> list[str]:
        """Return the pieces of `word` by BPE-dropout (Provilkov et al. 2020 §3).

        Each round merges the pair of symbols with the highest score, but overlooks each pair with the probability
        `strength`.
        """
        symbols = list(word)
        while True:
            # Find the pair with the highest score that is not overlooked.
            best_score = -math.inf
            best_place = -1
            for place, pair in enumerate(itertools.pairwise(symbols)):
                score = self._scores.get(pair[0] + pair[1], -math.inf)
                if score > best_score and random.random() >= self._strength:
                    best_score = score
                    best_place = place
            if best_place < 0:
                return symbols
            # Merge it.
            symbols[best_place : best_place + 2] = [symbols[best_place] + symbols[best_place + 1]]
