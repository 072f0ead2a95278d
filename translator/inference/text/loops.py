"""The search that avoids loops: sentences whose translations repeat themselves are searched again."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from translator.core.hypothesis import Hypothesis
from translator.errors import CheckpointError
from translator.inference.engines.searcher import Searcher
from translator.search.loop_detection import looping_words
from translator.search.request import SearchRequest
from translator.subword import SubwordPair

_SECOND_NGRAM: Final = 2  # in a second search, this many pieces in a row occur at most once


def find_without_loops(searcher: Searcher, subword: SubwordPair, request: SearchRequest) -> list[list[Hypothesis]]:
    """Return hypotheses as `searcher.find` does, and search again where the best of a row is a loop (`looping_words`).

    In the second search, no piece follows itself and no two pieces in a row occur twice. Its hypotheses replace those
    of the row if its best has fewer looping words. So a row whose translation is no loop keeps what the search found.
    Samples stay as they are drawn.

    Args:
        searcher: the engine.
        subword: spells the rows and their hypotheses.
        request: what to search; `avoid_loops` in its settings turns the second search on.

    Raises CheckpointError: the model's probabilities are NaN.
    """
    # 1. Search equal rows once. Without this, a line of a letter a thousand times over takes minutes: each of its
    # segments runs to the length limit.
    firsts = request.first_equals()  # for each row, the number of the first row that equals it
    distinct_numbers = list(dict.fromkeys(firsts))
    distinct_request = request.select(distinct_numbers)
    hypotheses = searcher.find(distinct_request)
    _check_scores(hypotheses)

    # 2. Find the rows whose best hypothesis is a loop.
    loops: dict[int, int] = {}  # number of a row of `distinct_request` to the number of its looping words
    if request.config.method != "sampling" and request.config.avoid_loops:
        loops = _looping_words_of_best(subword, distinct_request, hypotheses)

    # 3. Search these rows again, without repeated pieces, and take what has fewer looping words.
    if loops:
        # The setting is 0 if it is off. A smaller length than ours forbids more, so it stays.
        no_repeat_ngram = min(request.config.no_repeat_ngram or _SECOND_NGRAM, _SECOND_NGRAM)
        without_ngrams = request.config.model_copy(update={"no_repeat_ngram": no_repeat_ngram})
        second_request = replace(distinct_request.select(list(loops)), config=without_ngrams, no_doubles=True)
        second_hypotheses = searcher.find(second_request)
        second_loops = _looping_words_of_best(subword, second_request, second_hypotheses)
        # A row has the number `second_number` in `second_request`, and `number` in `distinct_request`.
        for second_number, number in enumerate(loops):
            if second_loops.get(second_number, 0) < loops[number]:
                hypotheses[number] = second_hypotheses[second_number]

    # 4. Give equal rows the same hypotheses.
    results = dict(zip(distinct_numbers, hypotheses, strict=True))
    return [results[first] for first in firsts]


def _check_scores(hypotheses: Sequence[Sequence[Hypothesis]]) -> None:
    """Raise CheckpointError if a model with NaN probabilities has found the `hypotheses` of each row."""
    # NaN probabilities give no hypotheses, or some with NaN scores.
    for row_hypotheses in hypotheses:
        if not row_hypotheses or math.isnan(row_hypotheses[0].score):
            raise CheckpointError(
                "the model's probabilities are not numbers (NaN): its training has diverged; use an earlier checkpoint"
            )


def _looping_words_of_best(
    subword: SubwordPair, request: SearchRequest, hypotheses: Sequence[Sequence[Hypothesis]]
) -> dict[int, int]:
    """Return the number of looping words of each row, by its number, whose best hypothesis is a loop."""
    best_texts = subword.target.decode_ids([row_hypotheses[0].tokens for row_hypotheses in hypotheses])
    loops = {}
    for number, source in enumerate(subword.source.decode_ids(request.rows)):
        word_count = looping_words(source, best_texts[number])
        if word_count > 0:
            loops[number] = word_count
    return loops
