"""What a model is worth in the middle of training: loss on all validation pairs, BLEU and chrF on some of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from translator.config import TrainingConfig
from translator.data import DataHandler
from translator.device import Arithmetic
from translator.evaluation import TranslatedPair, compute_scores
from translator.inference import Translator
from translator.model import Transformer
from translator.training.loss import label_smoothed_loss


@dataclass(frozen=True)
class Validation:
    """The result of one validation."""

    scores: dict[str, float]
    """`loss`, `perplexity`, and, where pairs were translated, `bleu` and `chrf`."""
    samples: list[TranslatedPair]


class Validator:
    """Validates a model on the validation split; the pairs to be translated are spread evenly over it."""

    def __init__(
        self,
        data: DataHandler,
        translator: Translator,
        config: TrainingConfig,
        arithmetic: Arithmetic,
        check_stop: Callable[[], None],
    ) -> None:
        self._data = data
        self._translator = translator
        self._config = config
        self._arithmetic = arithmetic
        self._check_stop = check_stop
        pairs = [
            pair
            for name in data.corpus.names("validation")
            for pair in zip(
                data.corpus.lines("validation", name, "en"), data.corpus.lines("validation", name, "fa"), strict=True
            )
        ]
        count = min(config.validation_sentences, len(pairs))
        self._pairs = [pairs[i] for i in np.linspace(0, len(pairs) - 1, count).round().astype(int)] if count else []

    @property
    def first_source(self) -> str | None:
        """The sentence whose attention is drawn."""
        return self._pairs[0][0] if self._pairs else None

    def validate(self, model: Transformer) -> Validation:
        """Return loss, scores and samples; the model is left in training mode.

        Raises:
            Interrupted: a stop signal came in between.
        """
        model.eval()
        try:
            loss = self._loss(model)
            scores = {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}
            samples = []
            if self._pairs:
                sources = [source for source, _ in self._pairs]
                references = [reference for _, reference in self._pairs]
                hypotheses = self._translator.translate_lines(sources, between_batches=self._check_stop)
                for score in compute_scores(hypotheses, references, metrics=("bleu", "chrf")):
                    scores[score.metric] = score.score
                every = max(1, len(sources) // max(1, self._config.sample_translations))
                shown = range(0, len(sources), every)[: self._config.sample_translations]
                samples = [TranslatedPair(sources[i], references[i], hypotheses[i]) for i in shown]
            return Validation(scores, samples)
        finally:
            model.train()

    @torch.inference_mode()
    def _loss(self, model: Transformer) -> float:
        """Return the mean negative log-likelihood of a target token, in nats, without label smoothing."""
        total, tokens = 0.0, 0
        for batch in self._data.validation_batches():
            self._check_stop()
            batch = batch.to(self._arithmetic.device)
            with self._arithmetic.autocast():
                logits = model(batch.source, batch.target_input)
                loss = label_smoothed_loss(logits, batch.labels, 0.0)
            total += loss.negative_log_likelihood.item()
            tokens += batch.target_tokens
        return total / tokens if tokens else math.nan
