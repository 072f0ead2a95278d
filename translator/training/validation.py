"""What a model is worth in the middle of training: loss on all validation pairs, BLEU and chrF on some of them."""

import contextlib
import itertools
import json
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import torch
from torch import Tensor

from translator.config import TrainingConfig
from translator.corpus.test_set import evenly_spread
from translator.data import Batch, DataHandler
from translator.device import Arithmetic
from translator.evaluation import TranslatedPair, compute_scores
from translator.inference import Translator
from translator.special_tokens import PAD
from translator.training.breakdown import Breakdown, Means, Sources
from translator.training.ranks import Ranks
from translator.training.teacher_forcing import Losses, TeacherForcing

FEWEST_OF_A_SOURCE: Final = 50
"""Translated sentences that a source must have for scores of its own: those of fewer would mostly be noise."""
_WORDS_TO_DRAW: Final = 8
LINES_AT_ONCE: Final = 64
"""Lines that each rank translates between two looks at the stop signal."""


@dataclass(frozen=True)
class Validation:
    """The result of one validation, the same on every rank."""

    scores: dict[str, float]
    """`loss`, `perplexity`, and, where pairs were translated, `bleu` and `chrf`."""
    samples: list[TranslatedPair]
    by_source: dict[str, dict[str, float]] = field(default_factory=dict)
    """For each source `loss` and, where enough pairs were translated, `bleu` and `chrf`; empty if there is but one."""
    loss_by_length: dict[str, float] = field(default_factory=dict)
    """Loss for each length bucket of the target."""


def sentence_to_draw(sources: Sequence[str]) -> str | None:
    """Return the first of the sentences that are nearest to eight words: there is something to see, and to be read."""
    return min(sources, key=lambda source: abs(len(source.split()) - _WORDS_TO_DRAW), default=None)


class Validator:
    """Validates a model on the validation split; the pairs to be translated are spread evenly over it.

    Several ranks share the work: batches and lines are dealt out in turn, in rounds, and every rank takes part in the
    same number of rounds, with nothing to do in the last one perhaps. So all call `check_stop` equally often.

    Args:
        check_stop: called before each round, on every rank at the same places; it may therefore ask the other ranks,
            and must raise on all of them or on none.
        ranks: who shares the work.
    """

    def __init__(
        self,
        data: DataHandler,
        translator: Translator,
        config: TrainingConfig,
        arithmetic: Arithmetic,
        check_stop: Callable[[], None],
        ranks: Ranks,
    ) -> None:
        self._data = data
        self._translator = translator
        self._config = config
        self._arithmetic = arithmetic
        self._check_stop = check_stop
        self._ranks = ranks
        self._breakdown = Breakdown(Sources.of_split(data.corpus, "validation"))
        pairs = [
            pair
            for name in data.corpus.names("validation")
            for pair in zip(
                data.corpus.lines("validation", name, "en"), data.corpus.lines("validation", name, "fa"), strict=True
            )
        ]
        chosen = np.array(evenly_spread(len(pairs), config.validation_sentences), np.int64)
        self._pairs = [pairs[number] for number in chosen]
        self._source_of_pair = self._breakdown.sources.parts(chosen)

    @property
    def drawn_source(self) -> str | None:
        """The sentence whose attention is drawn, None if none is translated."""
        return sentence_to_draw([source for source, _ in self._pairs])

    def validate(self, learner: TeacherForcing, weights: AbstractContextManager[object] | None = None) -> Validation:
        """Return loss, scores and samples; the model is left in training mode.

        Args:
            learner: of the translator's own model, not wrapped for several processes.
            weights: held open meanwhile, to put averaged weights into the model and take them out again.

        Raises:
            Interrupted: a stop signal came in between.
        """
        learner.eval()
        try:
            with weights or contextlib.nullcontext():
                means = self._losses(learner)
                hypotheses = self._translate([source for source, _ in self._pairs])
            return self._judged(means, hypotheses)
        finally:
            learner.train()

    def _judged(self, means: Means, hypotheses: list[str]) -> Validation:
        """Return losses and scores together."""
        names = self._breakdown.sources.names
        scores = {"loss": means.loss, "perplexity": math.exp(min(means.loss, 700.0))}
        by_source = {name: {"loss": loss} for name, loss in means.by_source.items()}
        samples: list[TranslatedPair] = []
        if self._pairs:
            everything = range(len(self._pairs))
            scores |= self._scores(hypotheses, everything)
            for part, name in enumerate(names):
                own = np.flatnonzero(self._source_of_pair == part).tolist()
                if len(names) > 1 and len(own) >= FEWEST_OF_A_SOURCE:
                    by_source.setdefault(name, {}).update(self._scores(hypotheses, own))
            every = max(1, len(self._pairs) // max(1, self._config.sample_translations))
            shown = everything[::every][: self._config.sample_translations]
            samples = [TranslatedPair(self._pairs[n][0], self._pairs[n][1], hypotheses[n]) for n in shown]
        return Validation(scores, samples, by_source if len(names) > 1 else {}, means.by_length)

    def _scores(self, hypotheses: Sequence[str], numbers: Sequence[int]) -> dict[str, float]:
        """Return BLEU and chrF of some of the pairs."""
        outputs = [hypotheses[number] for number in numbers]
        references = [self._pairs[number][1] for number in numbers]
        return {score.metric: score.score for score in compute_scores(outputs, references, metrics=("bleu", "chrf"))}

    def _losses(self, learner: TeacherForcing) -> Means:
        """Return the mean losses, each batch computed by one rank."""
        count = int(self._breakdown.sources.starts[-1])
        # One place for each pair, and nothing but zeros where another rank was at work: so the sums over the ranks are
        # exact, and what is made of them does not depend on their number.
        losses, tokens = np.zeros(count), np.zeros(count)
        batches = self._data.validation_batches()
        while dealt := list(itertools.islice(batches, self._ranks.world)):
            self._check_stop()
            for batch in dealt[self._ranks.rank : self._ranks.rank + 1]:
                numbers = batch.indices.numpy()
                losses[numbers] = self._sentence_losses(learner, batch).double().cpu().numpy()
                tokens[numbers] = (batch.labels != PAD).sum(dim=1).numpy()
        summed = np.array(self._ranks.sum([*losses.tolist(), *tokens.tolist()])).reshape(2, count)
        seen = np.flatnonzero(summed[1])
        return self._breakdown.means(self._breakdown.sums(summed[0][seen], summed[1][seen], seen))

    @torch.inference_mode()
    def _sentence_losses(self, learner: TeacherForcing, batch: Batch) -> Tensor:
        """Return (B,) float32 the negative log-likelihood of each sentence in nats, without label smoothing."""
        batch = batch.to(self._arithmetic.device)
        with self._arithmetic.autocast():
            losses: Losses = learner(batch.source, batch.target_input, batch.labels)
        return losses.of_sentences

    def _translate(self, lines: list[str]) -> list[str]:
        """Return the translation of each line, each made by one rank."""
        # Lines of like length go together; all ranks deal out the same order.
        order = sorted(range(len(lines)), key=lambda number: (-len(lines[number]), number))
        mine: dict[int, str] = {}
        world = self._ranks.world
        for start in range(0, len(order), LINES_AT_ONCE * world):
            self._check_stop()
            own = order[start : start + LINES_AT_ONCE * world][self._ranks.rank :: world]
            if own:
                mine |= zip(own, self._translator.translate_lines([lines[number] for number in own]), strict=True)
        texts = [""] * len(lines)
        for gathered in self._ranks.gather_text(json.dumps(list(mine.items()))):
            for number, text in json.loads(gathered):
                texts[number] = text
        return texts
