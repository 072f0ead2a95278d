"""Scores of given translations, by teacher forcing."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from translator.config import SearchConfig
from translator.core.hypothesis import length_penalty
from translator.inference.searcher import Searcher
from translator.inference.translation import Translation
from translator.search.output_lengths import output_limits


class PairIds(NamedTuple):
    """The ids of a source and of its translation, as the model sees them."""

    source: list[int]  # without EOS
    target: list[int]  # without SOS and EOS
    copied: dict[str, str]  # placeholder to the part of both sides that it replaces


def unscored(text: str, pair: PairIds) -> Translation:
    """Return the translation of a pair that no model has scored; `text` is its target, on one line."""
    return Translation(
        text=text,
        score=-math.inf,
        normalized_score=-math.inf,
        tokens=len(pair.target) + 1,
        pieces=1,
        finished=False,
    )


def score_batch(
    searcher: Searcher, search: SearchConfig, pairs: Sequence[PairIds], translations: Sequence[Translation]
) -> list[Translation]:
    """Return the translations of `pairs` with their scores.

    Args:
        searcher: the engine.
        search: gives the length penalty, and the length limit beyond which a target is not `finished`.
        pairs: the ids of both sides, which fit into the model.
        translations: one for each pair, without scores.
    """
    # Teacher forcing: the model reads each given translation and says how likely each of its tokens is.
    rows = [pair.source for pair in pairs]
    hypotheses = searcher.score(rows, [pair.target for pair in pairs])
    source_lengths = [len(row) + 1 for row in rows]  # with EOS
    # A search could not have found a target beyond its length limit.
    limits = output_limits(source_lengths, search, searcher.max_positions).longest
    scored = []
    for translation, hypothesis, limit in zip(translations, hypotheses, limits, strict=True):
        scored_translation = replace(
            translation,
            score=hypothesis.score,
            normalized_score=hypothesis.score / length_penalty(translation.tokens, search.settings),
            finished=translation.tokens <= limit,
        )
        scored.append(scored_translation)
    return scored
