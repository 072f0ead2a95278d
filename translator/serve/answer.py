"""A translation as the API tells it."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from translator.inference import AttentionMap, Translation
from translator.inference.attention_reader import word_spans
from translator.special_tokens import EOS, SPECIAL_TOKENS

LEAST_SHARE: Final = 0.01
"""Of a word's attention, below which a source word is left out."""
_END: Final = SPECIAL_TOKENS[EOS][0]


def answer(translation: Translation) -> dict[str, Any]:
    """Return a translation for JSON; with attention, its alignment also has `weights` (see `word_weights`)."""
    record = translation.to_json()
    if translation.alignment is not None and translation.attention is not None:
        record["alignment"]["weights"] = word_weights(translation.attention)
    return record


def word_weights(maps: Sequence[AttentionMap]) -> list[list[list[float]]]:
    """Return for each target word the source words that it looked at: `[number, share]` each, in their order.

    The share of a source word is that of all its pieces together, on average over the pieces of the target word. What
    went to the end of the sentence is missing, and shares below `LEAST_SHARE` are left out.

    Args:
        maps: of the pieces of a text; words are counted through all of them, from 0.
    """
    found: list[list[list[float]]] = []
    words_before = 0
    for one in maps:
        source, target = _words(one.source), _words(one.target)
        for start, end in target:
            looked = one.weights[start:end].mean(axis=0)  # (S,)
            shares = [float(np.sum(looked[first:last])) for first, last in source]
            found.append(
                [
                    [words_before + number, round(share, 3)]
                    for number, share in enumerate(shares)
                    if share >= LEAST_SHARE
                ]
            )
        words_before += len(source)
    return found


def _words(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each word begins and ends; the end of the sentence is no word."""
    return word_spans(pieces[:-1] if pieces[-1:] == [_END] else pieces)
