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

FEWEST_OF_A_SOURCE: Final = 50  # minimum translated sentences for scores of a single source
_WATCHED: Final = 3  # sentences that console and TensorBoard show
_WATCHED_WORDS: Final = 8


@dataclass(frozen=True)
class Validation:
    """The result of one validation, the same on every rank."""

    scores: dict[str, float]
    """`loss` and `perplexity`, if a pair fits into a row; `bleu` and `chrf`, if pairs were translated."""
    watched: list[TranslatedPair]  # a few, always the same
    by_source: dict[str, dict[str, float]]
    """By source: `loss`, if a pair fits; `bleu` and `chrf`, if enough were translated. Empty for a single source."""


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
        self._corpus_sources = self._losses_by_source.sources(sample)  # index of the corpus source of each

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
            by_source=self._by_source(means, pairs),
        )

    def _by_source(self, means: Means, pairs: Sequence[TranslatedPair]) -> dict[str, dict[str, float]]:
        """Return the scores of each source, for the translated sample `pairs`."""
        by_source: dict[str, dict[str, float]] = {}
        if len(self._losses_by_source.names) < 2:
            return by_source
        for place, name in enumerate(self._losses_by_source.names):
            scores: dict[str, float] = {}
            if name in means.by_source:  # a pair of the source fits into a row
                scores["loss"] = means.by_source[name]
            numbers = np.flatnonzero(self._corpus_sources == place).tolist()
            pairs_of_source = [pairs[number] for number in numbers]
            if len(pairs_of_source) >= FEWEST_OF_A_SOURCE:
                scores |= _scores(pairs_of_source)
            if scores:
                by_source[name] = scores
        return by_source

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
        """Return the pairs of the sample at the places `numbers`, with their translations."""
        hypotheses = self._translate([self._sources[number] for number in numbers])
        pairs = []
        for number, hypothesis in zip(numbers, hypotheses, strict=True):
            pairs.append(TranslatedPair(self._sources[number], self._references[number], hypothesis))
        return pairs

    def _translate(self, lines: Sequence[str]) -> list[str]:
        """Return the translations of `lines`, which the ranks share."""
        # Batch lines of similar length; the order is the same on all ranks.
        order = sorted(range(len(lines)), key=lambda number: (-len(lines[number]), number))
        rank = self.distributed.rank
        world_size = self.distributed.world_size
        lines_of_round = self.translator.searcher.batch_rows * world_size
        texts: dict[int, str] = {}  # by the number of the line
        for start in range(0, len(order), lines_of_round):
            self.check_stop()
            numbers = order[start : start + lines_of_round][rank::world_size]
            # Without the warning of `translate_lines` at each validation that digits are lost.
            ranked = self.translator.translations([lines[number] for number in numbers], scored=False)
            texts |= zip(numbers, [translations[0].text for translations in ranked], strict=True)
        # Exchange them as JSON lists of (number, text), since the keys of a JSON object are texts.
        for texts_of_rank in self.distributed.gather_text(json.dumps(list(texts.items()))):
            texts |= json.loads(texts_of_rank)
        return [texts[number] for number in range(len(lines))]


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
