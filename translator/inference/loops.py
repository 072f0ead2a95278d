"""The search that avoids loops: sentences whose translations repeat themselves are searched again."""

import math
from typing import Final

from translator.config import SearchConfig
from translator.core.hypothesis import Hypothesis, Rows
from translator.errors import CheckpointError
from translator.inference.searcher import Check, Searcher
from translator.search.loop_detection import looping_words, repeats_itself
from translator.subword import SubwordPair

_FORBIDDEN_PIECES: Final = 2  # in a second search, so many pieces in a row occur at most once


def find_without_loops(
    searcher: Searcher,
    subword: SubwordPair,
    rows: Rows,
    config: SearchConfig,
    count: int = 1,
    prefixes: Rows | None = None,
    check: Check | None = None,
    *,
    scored: bool = True,
) -> list[list[Hypothesis]]:
    """Return hypotheses as `searcher.find` does, and search again where the best of a row is a loop (`looping_words`).

    In the second search, no piece follows itself and no two pieces in a row occur twice. Its hypotheses replace those
    of the row if its best has fewer looping words. So a row whose translation is no loop keeps what the search found.
    Samples stay as they are drawn.

    Args:
        searcher: the engine.
        subword: spells the rows and their hypotheses.
        rows: source ids without EOS.
        config: the search settings; `avoid_loops` turns the second search on.
        count: number of hypotheses per row.
        prefixes: for each row, the target ids that begin its hypotheses.
        check: called during each search (see `Searcher.find`); an exception it raises ends the search.
        scored: False if only the tokens are needed; an engine may then skip exact scores.

    Raises CheckpointError: the model's probabilities are NaN.
    """
    hypotheses = searcher.find(rows, config, count, prefixes, check, scored=scored)
    # NaN probabilities give no hypotheses, or some with NaN scores.
    for row_hypotheses in hypotheses:
        if not row_hypotheses or math.isnan(row_hypotheses[0].score):
            raise CheckpointError(
                "the model's probabilities are not numbers (NaN): its training has diverged; use an earlier checkpoint"
            )
    if config.method == "sampling" or not config.avoid_loops:
        return hypotheses

    # 1. Find the rows whose best hypothesis is a loop.
    best_texts = subword.target.decode_ids([row_hypotheses[0].tokens for row_hypotheses in hypotheses])
    repetitive_rows = [number for number, text in enumerate(best_texts) if repeats_itself(text)]
    source_texts = subword.source.decode_ids([rows[number] for number in repetitive_rows])
    sources = dict(zip(repetitive_rows, source_texts, strict=True))
    loops: dict[int, int] = {}  # number of a row to the number of its looping words
    for number, source in sources.items():
        word_count = looping_words(source, best_texts[number])
        if word_count > 0:
            loops[number] = word_count
    if not loops:
        return hypotheses

    # 2. Search these again, without repeated pieces.
    no_repeat_ngram = min(config.no_repeat_ngram or _FORBIDDEN_PIECES, _FORBIDDEN_PIECES)
    without_ngrams = config.model_copy(update={"no_repeat_ngram": no_repeat_ngram})
    loop_rows = [rows[number] for number in loops]
    loop_prefixes = None if prefixes is None else [prefixes[number] for number in loops]
    second_hypotheses = searcher.find(
        loop_rows, without_ngrams, count, loop_prefixes, check, scored=scored, no_doubles=True
    )

    # 3. Take what has fewer looping words.
    second_texts = subword.target.decode_ids([row_hypotheses[0].tokens for row_hypotheses in second_hypotheses])
    for number, row_hypotheses, text in zip(loops, second_hypotheses, second_texts, strict=True):
        if looping_words(sources[number], text) < loops[number]:
            hypotheses[number] = row_hypotheses
    return hypotheses
