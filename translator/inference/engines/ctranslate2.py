"""The search engine on CTranslate2. Imports no torch, which is slow to start."""

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from translator.config import SearchConfig
from translator.core import EOS, PAD, SOS, SPECIAL_TOKENS
from translator.core.hypothesis import Hypothesis, Rows, SearchSettings, length_penalty
from translator.errors import ConfigError
from translator.inference.engines.ctranslate2_library import library_errors, require
from translator.inference.engines.searcher import Searcher
from translator.run.workers import available_cores
from translator.search.request import SearchRequest
from translator.subword import SubwordModel, SubwordPair

SPELLING: Final = {token: spelling for spelling, token in SPECIAL_TOKENS}
_POLL_SECONDS: Final = 0.002  # between two calls of `check` while the workers search
_TOKENS_AT_ONCE: Final = 2_048  # target tokens per scored batch; each has logits over the whole vocabulary


def spellings(model: SubwordModel) -> list[str]:
    """Return the pieces of the vocabulary, in the order of their ids."""
    return model.pieces_of(range(model.vocabulary_size))


class Ctranslate2Searcher(Searcher):
    """Searches with a model written by `write_ctranslate2`; thread-safe.

    Hypotheses are rescored by teacher forcing if scores are wanted, or if a search forbids or forces tokens. On a CPU,
    each of the `workers` has one thread; 0 means one worker per core. Raises ConfigError: this machine does not support
    `compute_type`.
    """

    name = "ctranslate2"
    load_attention_engine: Callable[[], Searcher]  # called once, if the engine gives attention and it is requested

    @library_errors()
    def __init__(
        self,
        folder: Path,
        subword: SubwordPair,
        max_positions: int,
        device: str = "cpu",
        compute_type: str = "float32",
        workers: int = 0,
    ) -> None:
        library = require("ctranslate2")
        # Ask the library first, so that the message can name what is supported.
        kind, _, index = device.partition(":")
        supported = library.get_supported_compute_types(kind)
        if compute_type not in supported:
            raise ConfigError(
                f"ctranslate2 does not support {compute_type} on this machine's {kind}, only: "
                f"{', '.join(sorted(supported))}; choose another search.precision, or --engine torch"
            )
        # One worker is enough for a GPU; on a CPU, each has one thread.
        on_gpu = kind == "cuda"
        self._workers = 1 if on_gpu else (workers or available_cores())
        self._model: Any = library.Translator(
            str(folder),
            device=kind,
            device_index=int(index or 0),
            compute_type=compute_type,
            inter_threads=self._workers,
            intra_threads=0 if on_gpu else 1,  # of each worker; the library chooses if it is 0
        )
        self.arithmetic = device if compute_type == "float32" else f"{device} in {compute_type}"
        self.max_positions = max_positions
        self._source_pieces = spellings(subword.source)
        self._target_pieces = spellings(subword.target)
        self._ids = {piece: token for token, piece in enumerate(self._target_pieces)}

    def cross_attention(self, row: Sequence[int], label: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return the weights that the engine for attention computes (see `Searcher.cross_attention`)."""
        self.check_attention()
        return self._attention_engine.cross_attention(row, label)

    @cached_property
    def _attention_engine(self) -> Searcher:
        return self.load_attention_engine()

    @library_errors()
    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`); the empty hypothesis for an empty row.

        An exception of the request's `check` ends this call, but the workers finish the batch that they have begun.
        """
        if request.config.method == "sampling":
            problem = "its draws depend on the batch, not on search.seed alone"
            advice = "use --engine torch, or beam or greedy search"
            raise ConfigError(
                f"search.method is `sampling`, which the ctranslate2 engine cannot reproduce: {problem}; {advice}"
            )
        # Without `check`, the library gets all rows at once, and divides them itself. With `check`, it gets a batch at
        # a time, so that the workers have little left to do when the search is stopped.
        batches = [range(len(request.rows))] if request.check is None else self.batches(request)
        results: dict[int, list[Hypothesis]] = {}
        for batch in batches:
            results |= zip(batch, self._search_batch(request.select(batch)), strict=True)
        return [results[number] for number in range(len(request.rows))]

    def _search_batch(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each row of a batch."""
        results = [sorted(row_hypotheses, key=_rank) for row_hypotheses in self._within_limits(request)]
        # CTranslate2 renormalizes without forbidden tokens, and omits forced ones from the score. So a search that
        # forbids or forces tokens gives all hypotheses exact scores, and these decide which ones are the best.
        if not request.forbids_tokens:
            results = [row_hypotheses[: request.count] for row_hypotheses in results]
        if request.forbids_tokens or request.scored:
            results = self._rescored(request.rows, results, request.config.settings)
        return [row_hypotheses[: request.count] for row_hypotheses in results]

    def _within_limits(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """Return the hypotheses of each row, whose lengths are within the limits for its source.

        A call of CTranslate2 takes one minimum and one maximum length. So there is a call for each group of rows with
        the same two limits; rows of one length, for example, have the same limits.
        """
        # 1. Start the calls of all groups; the workers share them.
        limits = zip(
            request.shortest_outputs(self.max_positions), request.longest_outputs(self.max_positions), strict=True
        )
        groups = defaultdict[tuple[int, int], list[int]](list)  # the limits to the numbers of the rows that have them
        for number, row_limits in enumerate(limits):
            groups[row_limits].append(number)
        most_rows_per_worker = math.ceil(len(request.rows) / self._workers)
        futures: dict[int, Any] = {}  # the future result of each row, by its number
        for (shortest, longest), numbers in groups.items():
            group_futures = self._start(request.select(numbers), shortest, longest, most_rows_per_worker)
            futures |= zip(numbers, group_futures, strict=True)

        # 2. Collect the results. A call that has begun cannot be stopped, but `check` can raise out of this method.
        if request.check is not None:
            _wait(list(futures.values()), request.check)
        hypotheses = []
        for number in range(len(request.rows)):
            result = futures[number].result()
            row_hypotheses = []
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                row_hypotheses.append(self._hypothesis(pieces, score, request.config))
            hypotheses.append(row_hypotheses)
        return hypotheses

    def _rescored(
        self, rows: Rows, hypotheses: Sequence[Sequence[Hypothesis]], settings: SearchSettings
    ) -> list[list[Hypothesis]]:
        """Return the hypotheses of each row with exact scores, ranked by them."""
        # 1. Score all hypotheses together.
        sources = []
        for row, row_hypotheses in zip(rows, hypotheses, strict=True):
            sources += [row] * len(row_hypotheses)
        all_exact = iter(self._scored(sources, list(itertools.chain(*hypotheses)), settings))

        # 2. Give them back to their rows.
        results = []
        for row_hypotheses in hypotheses:
            exact = list(itertools.islice(all_exact, len(row_hypotheses)))
            results.append(sorted(exact, key=_rank))
        return results

    @library_errors()
    def score(self, rows: Rows, targets: Rows, settings: SearchSettings) -> list[Hypothesis]:
        """Return the score of each target (see `Searcher.score`)."""
        unscored = [Hypothesis(tuple(target), 0.0, 0.0, finished=True) for target in targets]
        return self._scored(rows, unscored, settings)

    def _start(self, request: SearchRequest, shortest: int, longest: int, most_rows_per_worker: int) -> Sequence[Any]:
        """Start to search all rows, for outputs of `shortest` to `longest` tokens; return the future of each result.

        A worker takes no more than `most_rows_per_worker` rows at once, so that none is without work.
        """
        config = request.config
        width = config.settings.beam_size
        # Our own search never produces PAD and SOS either.
        forbidden = [[SPELLING[PAD]], [SPELLING[SOS]]]
        if request.no_doubles:
            forbidden += [[piece, piece] for piece in self._target_pieces]
        # Three limits of a worker's batch: the setting, a fair share of all rows, and the memory for long rows.
        positions_per_row = width * max(len(row) + 1 for row in request.rows)
        most_rows = config.batch_size or self.batch_rows
        batch_size = min(most_rows, most_rows_per_worker, self.batch_positions // positions_per_row)
        futures: Sequence[Any] = self._model.translate_batch(
            _spelt(self._source_pieces, request.rows),
            _spelt(self._target_pieces, request.prefixes) if any(request.prefixes) else None,
            max_batch_size=max(1, batch_size),
            asynchronous=True,
            beam_size=width,
            patience=2,  # ends after 2 W finished hypotheses, much like our beam search (docs/export.md)
            num_hypotheses=width,
            length_penalty=config.length_penalty,
            no_repeat_ngram_size=config.no_repeat_ngram,
            disable_unk=True,
            suppress_sequences=forbidden,
            return_end_token=True,  # so that lengths include EOS, as in our search
            return_scores=True,
            max_input_length=0,  # cuts no source
            max_decoding_length=longest,
            min_decoding_length=max(0, shortest - 1),  # this limit does not count EOS
        )
        return futures

    def _hypothesis(self, pieces: Sequence[str], score: float, config: SearchConfig) -> Hypothesis:
        """Return the hypothesis of some pieces, with the score of CTranslate2."""
        finished = not pieces or pieces[-1] == SPELLING[EOS]  # an empty row gets no pieces
        tokens = tuple(self._ids[piece] for piece in (pieces[:-1] if finished else pieces))
        tokens = tokens[: self.max_positions - 1]  # leaves a position for EOS, which scoring adds
        # CTranslate2 divides the sum by length ** alpha; undo it, and divide as our own search does.
        total = score * max(1, len(pieces)) ** config.length_penalty
        return Hypothesis(
            tokens=tokens,
            score=total,
            normalized_score=total / length_penalty(len(tokens) + finished, config.settings),
            finished=finished,
        )

    def _scored(self, rows: Rows, hypotheses: Sequence[Hypothesis], settings: SearchSettings) -> list[Hypothesis]:
        """Return the hypotheses, one for each row, with exact scores by teacher forcing."""
        # Teacher forcing gives the probability of every token, also of forced ones, without renormalization.
        results = self._model.score_batch(
            _spelt(self._source_pieces, rows),
            _spelt(self._target_pieces, [hypothesis.tokens for hypothesis in hypotheses]),
            max_batch_size=_TOKENS_AT_ONCE,
            batch_type="tokens",
            max_input_length=0,  # cuts no source
        )
        scored = []
        for hypothesis, result in zip(hypotheses, results, strict=True):
            # CTranslate2 also scores EOS after a hypothesis that was cut off. That one has no EOS: drop the score.
            length = len(hypothesis.tokens) + hypothesis.finished
            token_scores = result.log_probs[:length]
            scored.append(Hypothesis.from_tokens(hypothesis.tokens, token_scores, hypothesis.finished, settings))
        return scored


def _wait(results: Sequence[Any], check: Callable[[], None]) -> None:
    """Call `check`, which may raise, until all `results` of a search have arrived."""
    for result in results:
        while not result.done():
            check()
            time.sleep(_POLL_SECONDS)
    check()


def _spelt(pieces: Sequence[str], rows: Rows) -> list[list[str]]:
    return [[pieces[token] for token in row] for row in rows]


def _rank(hypothesis: Hypothesis) -> tuple[bool, float]:
    """Return the sort key of our own search: finished hypotheses first, then by normalized score, best first."""
    return not hypothesis.finished, -hypothesis.normalized_score
