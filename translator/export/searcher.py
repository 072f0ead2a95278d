"""The engine that searches with CTranslate2, on a model that was exported for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from translator.config import SearchConfig
from translator.data import collate_source
from translator.errors import ConfigError, InputError
from translator.export.libraries import require
from translator.search import Hypothesis, LengthPenalty, check_count, longest_outputs
from translator.search.lengths import room_for_prefixes, shortest_outputs
from translator.special_tokens import EOS, PAD, SOS, SPECIAL_TOKENS
from translator.subword import SubwordPair
from translator.workers import available_cores

_SPELLING: Final = {token: spelling for spelling, token in SPECIAL_TOKENS}
_CPU: Final = torch.device("cpu")
_END: Final = _SPELLING[EOS]
_TOKENS_AT_ONCE: Final = 2_048
"""Target tokens of a batch that is scored, since each takes logits for the whole vocabulary."""


@dataclass(frozen=True)
class _Found:
    """One hypothesis as CTranslate2 tells it."""

    tokens: tuple[int, ...]
    """Without EOS."""
    finished: bool
    score: float
    """Sum of the log-probabilities of its tokens, near enough to choose by."""

    @property
    def length(self) -> int:
        """Tokens, EOS included."""
        return len(self.tokens) + self.finished


class Ctranslate2Searcher:
    """Searches with CTranslate2; any number of threads may use one.

    What is found is what CTranslate2 finds: a beam ends when as many hypotheses have ended as it is wide, where our own
    goes on until nothing can beat the best. Scores are exact all the same: each hypothesis is scored once more by
    teacher forcing, since CTranslate2 leaves forbidden tokens out of the distribution and forced ones out of the sum.

    Args:
        folder: what `write_ctranslate2` has written.
        subword: the models of its languages.
        max_positions: longest sequence that the model knows.
        device: `cpu`, `cuda` or `cuda:N`.
        compute_type: of CTranslate2, such as `float32` or `int8`.
        workers: sentences are shared among so many, with a thread each on a CPU; 0 takes one for each core.

    Raises:
        InputError: CTranslate2 is not installed.
        ConfigError: it cannot compute so on this machine.
    """

    name = "ctranslate2"

    def __init__(
        self,
        folder: Path,
        subword: SubwordPair,
        max_positions: int,
        *,
        device: torch.device = _CPU,
        compute_type: str = "float32",
        workers: int = 0,
    ) -> None:
        library = require("ctranslate2")
        supported = library.get_supported_compute_types(device.type)
        if compute_type not in supported:
            raise ConfigError(
                f"ctranslate2 cannot compute in {compute_type} on this machine's {device.type}, only in: "
                f"{', '.join(sorted(supported))}; choose another search.precision, or --engine torch"
            )
        on_gpu = device.type == "cuda"
        self._workers = 1 if on_gpu else workers or available_cores()
        self._model: Any = library.Translator(
            str(folder),
            device=device.type,
            device_index=device.index or 0,
            compute_type=compute_type,
            inter_threads=self._workers,
            intra_threads=0 if on_gpu else 1,
        )
        self._source = subword.source.pieces_of(range(subword.source.vocabulary_size))
        self._target = subword.target.pieces_of(range(subword.target.vocabulary_size))
        self._ids = {piece: token for token, piece in enumerate(self._target)}
        self._max_positions = max_positions

    @property
    def max_positions(self) -> int:
        """Longest sequence of either side that the model knows, its special token included."""
        return self._max_positions

    def find(
        self,
        rows: Sequence[Sequence[int]],
        config: SearchConfig,
        count: int = 1,
        prefixes: Sequence[Sequence[int]] | None = None,
        check: Callable[[], None] | None = None,
    ) -> list[list[Hypothesis]]:
        """Return hypotheses for each row (see `Searcher.find`); of a row without a token the empty one."""
        self._check(rows, config, count)
        if not rows:
            return []
        source = collate_source(rows)
        limits = longest_outputs(source, config.max_length_ratio, self._max_positions)
        if prefixes is not None:
            limits = room_for_prefixes(limits, prefixes, self._max_positions)
        shortest = shortest_outputs(source, config.min_length_ratio, limits).tolist()
        penalty = LengthPenalty.of(config)
        found = self._search(rows, limits.tolist(), shortest, config, prefixes)
        best = [_ranked(of_row, penalty)[:count] for of_row in found]
        flat = [(number, one) for number, of_row in enumerate(best) for one in of_row]
        scored = self._scored([rows[number] for number, _ in flat], [one for _, one in flat], penalty)
        hypotheses: list[list[Hypothesis]] = [[] for _ in rows]
        for (number, _), hypothesis in zip(flat, scored, strict=True):
            hypotheses[number].append(hypothesis)
        return [sorted(of_row, key=lambda one: (not one.finished, -one.normalized_score)) for of_row in hypotheses]

    def score(self, rows: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Hypothesis]:
        """Return what the model gives each target (see `Searcher.score`)."""
        longest = max((len(side) + 1 for sides in (rows, targets) for side in sides), default=0)
        self._check_length(longest)
        return self._scored(
            rows, [_Found(tuple(target), True, 0.0) for target in targets], LengthPenalty.of(SearchConfig())
        )

    def _check(self, rows: Sequence[Sequence[int]], config: SearchConfig, count: int) -> None:
        """Refuse what CTranslate2 cannot do."""
        check_count(config, count)
        if config.method == "sampling":
            raise ConfigError(
                "search.method is `sampling`, which the engine ctranslate2 cannot repeat: what it draws hangs on the "
                "sentences that stand together, not on search.seed alone; take --engine torch, or beam or greedy search"
            )
        self._check_length(max((len(row) + 1 for row in rows), default=0))

    def _check_length(self, longest: int) -> None:
        if longest > self._max_positions:
            raise InputError(
                f"a sequence of {longest} tokens is longer than the {self._max_positions} positions that this model "
                "knows; split the sentence, or train with a larger model.max_positions"
            )

    def _search(
        self,
        rows: Sequence[Sequence[int]],
        limits: Sequence[int],
        shortest: Sequence[int],
        config: SearchConfig,
        prefixes: Sequence[Sequence[int]] | None,
    ) -> list[list[_Found]]:
        """Return what is found for each row, within its own limits.

        CTranslate2 has one longest length for a whole call: rows are searched together up to that of the longest, and
        those of which something went beyond its own are searched once more by themselves.
        """
        found: list[list[_Found]] = [[] for _ in rows]
        for minimum in sorted(set(shortest)):
            numbers = [number for number, own in enumerate(shortest) if own == minimum]
            self._run(numbers, max(limits[number] for number in numbers), minimum, rows, config, prefixes, found)
        beyond = [number for number, own in enumerate(limits) if any(one.length > own for one in found[number])]
        for limit, minimum in sorted({(limits[number], shortest[number]) for number in beyond}):
            numbers = [number for number in beyond if (limits[number], shortest[number]) == (limit, minimum)]
            self._run(numbers, limit, minimum, rows, config, prefixes, found)
        return found

    def _run(
        self,
        numbers: Sequence[int],
        limit: int,
        shortest: int,
        rows: Sequence[Sequence[int]],
        config: SearchConfig,
        prefixes: Sequence[Sequence[int]] | None,
        found: list[list[_Found]],
    ) -> None:
        """Search the rows of `numbers` together and put what is found into `found`."""
        width = config.beam_size if config.method == "beam" else 1
        results = self._model.translate_batch(
            [self._pieces(rows[number]) for number in numbers],
            None if prefixes is None else [[self._target[token] for token in prefixes[number]] for number in numbers],
            max_batch_size=-(-len(numbers) // self._workers),
            beam_size=width,
            num_hypotheses=width,
            length_penalty=config.length_penalty,
            no_repeat_ngram_size=config.no_repeat_ngram,
            disable_unk=True,
            suppress_sequences=[[_SPELLING[PAD]], [_SPELLING[SOS]]],
            return_end_token=True,  # and so it counts in lengths, as it does with us
            return_scores=True,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=max(0, shortest - 1),
        )
        for number, result in zip(numbers, results, strict=True):
            found[number] = []
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                finished = not pieces or pieces[-1] == _END  # it has nothing to say to an empty row
                tokens = tuple(self._ids[piece] for piece in (pieces[:-1] if pieces and finished else pieces))
                found[number].append(_Found(tokens, finished, score * max(1, len(pieces)) ** config.length_penalty))

    def _scored(
        self, rows: Sequence[Sequence[int]], found: Sequence[_Found], penalty: LengthPenalty
    ) -> list[Hypothesis]:
        """Return each hypothesis with the log-probabilities of its tokens."""
        results = self._model.score_batch(
            [self._pieces(row) for row in rows],
            [[self._target[token] for token in one.tokens] for one in found],
            max_batch_size=_TOKENS_AT_ONCE,
            batch_type="tokens",
            max_input_length=0,
        )
        return [
            Hypothesis.from_tokens(one.tokens, result.log_probs[: one.length], one.finished, penalty)
            for one, result in zip(found, results, strict=True)
        ]

    def _pieces(self, row: Sequence[int]) -> list[str]:
        return [self._source[token] for token in row]


def _ranked(found: Sequence[_Found], penalty: LengthPenalty) -> list[_Found]:
    """Return hypotheses best first, as our own search ranks them: those that finished before all others."""
    return sorted(found, key=lambda one: (not one.finished, -penalty.normalized(one.score, float(one.length))))
