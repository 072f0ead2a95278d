"""Validation during training: the loss on all pairs that fit into a row; BLEU and chrF on a translated sample.

R rows of a batch, L positions of a row, N sentence pairs of a batch
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from translator.config import Config
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.corpus.held_out import evenly_spread
from translator.data import Batch, DataHandler
from translator.evaluation import TranslatedPair, compute_scores
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.device import Arithmetic
from translator.training.distributed import Distributed
from translator.training.monitoring.losses import LossesBySource, Means

_WATCHED: Final = 3  # sentences that console and TensorBoard show
_WATCHED_WORDS: Final = 8


@dataclass(frozen=True)
class Validation:
    """The result of one validation, the same on every rank."""

    scores: dict[str, float]
    """`loss` and `perplexity`, if a pair fits into a row; `bleu` and `chrf`, if pairs were translated."""
    watched: list[TranslatedPair]  # a few, always the same
    loss_by_source: dict[str, float]  # of the sources with a pair that fits; empty for a single source


@dataclass
class Validator:
    """Validates a model on the validation split; translates a sample spread evenly over it.

    It uses greedy search, since beam search takes five times as long. Ranks share the work: batches and lines are
    distributed in rounds. Every rank takes part in every round, so that all call `check_stop` equally often.
    """

    config: Config
    data: DataHandler
    model: Transformer  # in evaluation mode during the validation
    arithmetic: Arithmetic  # device and precision of the losses
    check_stop: Callable[[], None]  # called before each round; may communicate; must raise on all ranks or on none
    distributed: Distributed  # the ranks that share the work

    def __post_init__(self) -> None:
        config = self.config
        # 1. The loss, without label smoothing; and a greedy search with the weights of the moment.
        self._loss = TeacherForcing(self.model, label_smoothing=0.0, r_drop=0.0, head_loss=blockwise_head_loss)
        searcher = TorchSearcher([self.model], self.arithmetic.device)
        greedy = config.search.model_copy(update={"method": "greedy", "split_sentences": False})
        self.translator = Translator(
            searcher, self.data.subword, self.data.normalizer, greedy, config.batching.max_length
        )
        self._losses_by_source = LossesBySource.of_split(self.data.corpus, "validation")

        # 2. The sample to translate, evenly spread over all sources.
        pairs: list[tuple[str, str]] = []
        for name in self.data.corpus.names("validation"):
            pairs += self.data.corpus.pairs("validation", name)
        sample = evenly_spread(len(pairs), config.training.validation_sentences)
        self._sources = [pairs[number][0] for number in sample]
        self._references = [pairs[number][1] for number in sample]

        # 3. The sentences to watch: a line of a terminal holds a source and a translation of about eight words.
        by_length = sorted(
            range(len(sample)), key=lambda number: abs(len(self._sources[number].split()) - _WATCHED_WORDS)
        )
        self._watched = by_length[:_WATCHED]  # places in the sample

    @property
    def has_text(self) -> bool:
        """Whether there is anything to validate on; pairs that do not fit into a row are translated all the same."""
        return bool(self._sources)

    @property
    def drawn_source(self) -> str | None:
        """The translated sentence with a length nearest to eight words, for the attention map; None without any."""
        return self._sources[self._watched[0]] if self._watched else None

    def watch(self) -> list[TranslatedPair]:
        """Return the translations of a few sentences, always the same; raises the exceptions of `check_stop`."""
        with self._evaluating():
            return self._translated(self._watched)

    def validate(self) -> Validation:
        """Return loss, scores and a few translations; raises the exceptions of `check_stop`."""
        # 1. Loss and translations.
        with self._evaluating():
            means = self._losses()
            pairs = self._translated(range(len(self._sources)))

        # 2. Scores, and the translations to show.
        return Validation(
            scores=_losses_of(means) | _scores(pairs),
            watched=[pairs[number] for number in self._watched],
            loss_by_source=means.by_source if len(self._losses_by_source.names) > 1 else {},
        )

    @torch.inference_mode()
    def _losses(self) -> Means:
        """Return the mean losses over all validation pairs that fit into a row."""
        # 1. One entry per pair, zero on all ranks but one: so the sums are exact for any number of ranks.
        pair_count = int(self._losses_by_source.starts[-1])
        losses = np.zeros(pair_count)
        tokens = np.zeros(pair_count)
        for batch in self._batches_of_rank():
            with self.arithmetic.autocast():
                token_losses = self._loss(batch.to(self.arithmetic.device)).of_tokens  # (R, L)
            losses[batch.pairs] = batch.sum_by_sentence(token_losses.cpu())
            tokens[batch.pairs] = batch.target_lengths

        # 2. The sums over all ranks, for the pairs that fit into a row.
        losses = np.array(self.distributed.sum(losses.tolist()))
        tokens = np.array(self.distributed.sum(tokens.tolist()))
        pairs = np.flatnonzero(tokens)
        return self._losses_by_source.means(self._losses_by_source.sums(losses[pairs], tokens[pairs], pairs))

    def _batches_of_rank(self) -> Iterator[Batch]:
        """Yield the validation batches of this rank; in a round, each rank has a batch."""
        world_size = self.distributed.world_size
        for number, batch in enumerate(self.data.validation_batches()):
            if number % world_size == 0:
                self.check_stop()
            if number % world_size == self.distributed.rank:
                yield batch

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Run the block without dropout."""
        was_training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(was_training)

    def _translated(self, numbers: Sequence[int]) -> list[TranslatedPair]:
        """Return the pairs of the sample at the places `numbers`, with their translations; the ranks share the work."""
        # 1. Batch lines of similar length; the order is the same on all ranks.
        order = sorted(numbers, key=lambda number: (-len(self._sources[number]), number))
        rank = self.distributed.rank
        world_size = self.distributed.world_size
        lines_of_round = self.translator.searcher.batch_rows * world_size
        texts: dict[int, str] = {}  # by place in the sample
        for start in range(0, len(order), lines_of_round):
            self.check_stop()
            round_of_rank = order[start : start + lines_of_round][rank::world_size]
            # Without the warning of `translate_lines` at each validation that digits are lost.
            ranked = self.translator.translations([self._sources[number] for number in round_of_rank], scored=False)
            texts |= zip(round_of_rank, [translations[0].text for translations in ranked], strict=True)

        # 2. Exchange them as JSON lists of (number, text), since the keys of a JSON object are texts.
        for texts_of_rank in self.distributed.gather_text(json.dumps(list(texts.items()))):
            texts |= json.loads(texts_of_rank)
        return [TranslatedPair(self._sources[number], self._references[number], texts[number]) for number in numbers]


def _losses_of(means: Means) -> dict[str, float]:
    """Return `loss` and `perplexity`; empty if no pair fits into a row. A diverged model has a loss of NaN."""
    if not means.by_source:
        return {}
    return {"loss": means.loss, "perplexity": math.exp(min(means.loss, 700.0))}


def _scores(pairs: Sequence[TranslatedPair]) -> dict[str, float]:
    """Return `bleu` and `chrf` of the hypotheses; empty if there are no pairs."""
    if not pairs:
        return {}
    hypotheses = [pair.hypothesis for pair in pairs]
    references = [pair.reference for pair in pairs]
    scores = compute_scores(hypotheses, references, metrics=("bleu", "chrf"))
    return {score.metric: score.score for score in scores}
