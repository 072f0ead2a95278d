"""Validation during training: the loss on all pairs that fit into a row; BLEU and chrF on a translated sample.

R rows of a batch, L positions of a row
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from translator.config import Config
from translator.core.loss import TeacherForcing
from translator.core.transformer import Transformer
from translator.corpus.held_out import evenly_spread
from translator.data import DataHandler
from translator.evaluation import TranslatedPair, compute_scores
from translator.inference.engines.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.speed.blockwise_loss import blockwise_head_loss
from translator.speed.device import Precision, autocast
from translator.training.monitoring.losses import LossesBySource, Means

_WATCHED_SENTENCES: Final = 3  # that console and TensorBoard show
_WATCHED_WORDS: Final = 8  # of a source sentence; the nearest lengths are shown


@dataclass(frozen=True)
class Validation:
    """The result of one validation."""

    scores: dict[str, float]
    """`bleu` and `chrf`; `loss` and `perplexity`, if a pair fits into a row."""
    watched: list[TranslatedPair]  # a few, always the same
    loss_by_source: dict[str, float]  # of the sources with a pair that fits; empty for a single source


class Validator:
    """Validates a model on the validation split; translates a sample spread evenly over it.

    It uses greedy search, since beam search takes five times as long.
    """

    def __init__(self, config: Config, data: DataHandler, model: Transformer, precision: Precision) -> None:
        """Prepare validations of `model`, with its losses in `precision`, on its device."""
        self._data = data
        self._model = model
        self._device = model.head_weight.device
        self._precision = precision
        # 1. The loss, without label smoothing; and a greedy search, which always uses the current weights of `model`.
        # It translates each text whole, as the model reads the pairs in training.
        self._loss = TeacherForcing(model, label_smoothing=0.0, r_drop=0.0, head_loss=blockwise_head_loss)
        searcher = TorchSearcher([model], self._device)
        greedy = config.search.model_copy(update={"method": "greedy", "split_sentences": False})
        self.translator = Translator(searcher, data.subword, data.normalizer, greedy, config.batching.max_length)

        # 2. The sample to translate, evenly spread over all sources.
        pairs: list[tuple[str, str]] = []
        origins: list[str] = []
        for name in data.corpus.names("validation"):
            pairs_of_source = list(data.corpus.pairs("validation", name))
            pairs += pairs_of_source
            origins += [name] * len(pairs_of_source)
        numbers = evenly_spread(len(pairs), config.training.validation_sentences)
        self._sample = [pairs[number] for number in numbers]
        self._origins = [origins[number] for number in numbers]

        # 3. The sentences to watch: a line of a terminal holds a source and a translation of about eight words.
        distances = [abs(len(source.split()) - _WATCHED_WORDS) for source, _ in self._sample]
        nearest_first = sorted(range(len(self._sample)), key=distances.__getitem__)
        self._watched = nearest_first[:_WATCHED_SENTENCES]  # numbers in the sample

    @property
    def has_text(self) -> bool:
        """Whether there is anything to validate on; pairs that do not fit into a row are translated all the same."""
        return bool(self._sample)

    @property
    def drawn_source(self) -> str:
        """The translated sentence with a length nearest to eight words, for the attention map."""
        return self._sample[self._watched[0]][0]

    def watch(self) -> list[TranslatedPair]:
        """Return the translations of a few sentences, always the same."""
        return self._translated(self._watched)

    def validate(self, check_stop: Callable[[], None] = lambda: None) -> Validation:
        """Return loss, scores and a few translations; `check_stop` is called between batches, and may raise."""
        # 1. The losses, which are NaN for a diverged model. There are none if no pair fits into a row.
        means = self._losses(check_stop)
        scores: dict[str, float] = {}
        if means.by_source:
            scores = {"loss": means.loss, "perplexity": math.exp(min(means.loss, 700.0))}  # e^710 overflows

        # 2. The scores of the translations.
        pairs = self._translated(range(len(self._sample)), check_stop)
        references = [(pair.reference,) for pair in pairs]
        for score in compute_scores([pair.hypothesis for pair in pairs], references, metrics=("bleu", "chrf")):
            scores[score.metric] = score.score
        return Validation(
            scores=scores,
            watched=[pairs[number] for number in self._watched],
            loss_by_source=means.by_source if len(self._data.corpus.names("validation")) > 1 else {},
        )

    @torch.inference_mode()
    def _losses(self, check_stop: Callable[[], None]) -> Means:
        """Return the mean losses over all validation pairs that fit into a row."""
        self._model.eval()  # the next update sets the mode that it needs
        losses = LossesBySource(self._data.corpus, "validation")
        for batch in self._data.validation_batches():
            check_stop()
            with autocast(self._device, self._precision):
                token_losses = self._loss(batch.to(self._device)).of_tokens  # (R, L)
            losses.add(batch, token_losses)
        return losses.means()

    def _translated(self, chosen: Sequence[int], check_stop: Callable[[], None] = lambda: None) -> list[TranslatedPair]:
        """Return the pairs of the sample whose numbers are `chosen`, in this order, with translations."""
        # 1. Translate them, the longest first, so that the sentences of a batch are of similar length.
        order = sorted(chosen, key=lambda number: -len(self._sample[number][0]))
        texts: dict[int, str] = {}  # translations, by number of the pair
        for start in range(0, len(order), self.translator.searcher.batch_rows):
            check_stop()
            numbers = order[start : start + self.translator.searcher.batch_rows]
            # Not by `translate_lines`, which would warn of lost digits at each validation.
            ranked = self.translator.translations(
                [self._sample[number][0] for number in numbers],
                scored=False,
                origins=[self._origins[number] for number in numbers],
            )
            best_texts = [translations[0].text for translations in ranked]
            texts |= zip(numbers, best_texts, strict=True)

        # 2. Return them in the order that was asked for.
        return [TranslatedPair(*self._sample[number], texts[number]) for number in chosen]
