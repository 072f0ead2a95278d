"""Validation during training: the loss on all validation pairs; BLEU and chrF on a translated sample."""

import itertools
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from translator.config import Config
from translator.corpus.held_out import evenly_spread
from translator.data import DataHandler
from translator.evaluation import TranslatedPair, compute_scores
from translator.inference.torch_searcher import TorchSearcher, search_rounding
from translator.inference.translator import Translator
from translator.model import Transformer
from translator.model.device import Arithmetic
from translator.special_tokens import PAD
from translator.training.distributed import Distributed
from translator.training.loss import Losses, TeacherForcing
from translator.training.meter import Breakdown, Means

FEWEST_OF_A_SOURCE: Final = 50  # minimum translated sentences for scores of a single source
LINES_AT_ONCE: Final = 64  # lines that each rank translates between two checks for a stop signal
_WORDS_TO_DRAW: Final = 8


@dataclass(frozen=True)
class Validation:
    """The result of one validation, the same on every rank."""

    scores: dict[str, float]  # `loss`, `perplexity`, and, if pairs were translated, `bleu` and `chrf`
    samples: list[TranslatedPair]
    by_source: dict[str, dict[str, float]]
    """`loss` of each source and, if enough pairs were translated, `bleu` and `chrf`; empty for a single source."""
    loss_by_length: dict[str, float]


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
    packed: bool  # whether the losses are computed on real tokens only
    check_stop: Callable[[], None]  # called before each round; may communicate; must raise on all ranks or on none
    distributed: Distributed  # the ranks that share the work

    def __post_init__(self) -> None:
        config, data, device = self.config, self.data, self.arithmetic.device
        self._loss = TeacherForcing(self.model, label_smoothing=0.0, r_drop=0.0, packed=self.packed)
        searcher = TorchSearcher([self.model], device, search_rounding(device, config.training))
        greedy = config.search.model_copy(update={"method": "greedy"})
        self.translator = Translator(searcher, data.subword, data.normalizer, greedy, config.batching.max_length)
        self._breakdown = Breakdown.of_split(data.corpus, "validation")
        pairs = [pair for name in data.corpus.names("validation") for pair in data.corpus.pairs("validation", name)]
        chosen = evenly_spread(len(pairs), config.training.validation_sentences)
        self._sources = [pairs[number][0] for number in chosen]
        self._references = [pairs[number][1] for number in chosen]
        self._corpus_sources = self._breakdown.sources(chosen)  # corpus source of each translated pair

    @property
    def drawn_source(self) -> str | None:
        """The translated sentence with a length nearest to eight words, for the attention map; None without any."""
        return min(self._sources, key=lambda source: abs(len(source.split()) - _WORDS_TO_DRAW), default=None)

    def validate(self) -> Validation:
        """Return loss, scores and sample translations; raises the exceptions of `check_stop`."""
        was_training = self.model.training
        self._loss.eval()
        try:
            means = self._losses()
            hypotheses = self._translate(self._sources)
        finally:
            self._loss.train(was_training)
        pairs = [TranslatedPair(*texts) for texts in zip(self._sources, self._references, hypotheses, strict=True)]
        scores = {"loss": means.loss, "perplexity": math.exp(min(means.loss, 700.0))} | _scores(pairs)
        by_source = {name: {"loss": loss} for name, loss in means.by_source.items()} if len(means.by_source) > 1 else {}
        for place, name in enumerate(self._breakdown.names):
            own = [pairs[number] for number in np.flatnonzero(self._corpus_sources == place)]
            if name in by_source and len(own) >= FEWEST_OF_A_SOURCE:
                by_source[name] |= _scores(own)
        shown = self.config.training.sample_translations
        every = max(1, len(pairs) // max(1, shown))
        return Validation(scores, pairs[::every][:shown], by_source, means.by_length)

    @torch.inference_mode()
    def _losses(self) -> Means:
        count = int(self._breakdown.starts[-1])
        # One entry per pair, zero on all ranks but one: so the sums are exact for any number of ranks.
        losses, tokens = np.zeros(count), np.zeros(count)
        batches = self.data.validation_batches()
        rank, world_size = self.distributed.rank, self.distributed.world_size
        while dealt := list(itertools.islice(batches, world_size)):
            self.check_stop()
            for batch in dealt[rank : rank + 1]:
                on_device, numbers = batch.to(self.arithmetic.device), batch.indices.numpy()
                with self.arithmetic.autocast():
                    found: Losses = self._loss(on_device.source, on_device.target_input, on_device.labels)
                losses[numbers] = found.of_sentences.cpu().double().numpy()
                tokens[numbers] = (batch.labels != PAD).sum(dim=1).numpy()
        summed = np.array(self.distributed.sum([*losses.tolist(), *tokens.tolist()])).reshape(2, count)
        seen = np.flatnonzero(summed[1])
        return self._breakdown.means(self._breakdown.sums(summed[0][seen], summed[1][seen], seen))

    def _translate(self, lines: list[str]) -> list[str]:
        # Batch lines of similar length; the order is the same on all ranks.
        order = sorted(range(len(lines)), key=lambda number: (-len(lines[number]), number))
        mine: dict[int, str] = {}
        rank, world_size = self.distributed.rank, self.distributed.world_size
        for start in range(0, len(order), LINES_AT_ONCE * world_size):
            self.check_stop()
            own = order[start : start + LINES_AT_ONCE * world_size][rank::world_size]
            mine |= zip(own, self.translator.translate_lines([lines[number] for number in own]), strict=True)
        gathered = self.distributed.gather_text(json.dumps(list(mine.items())))
        texts = dict(itertools.chain.from_iterable(json.loads(text) for text in gathered))
        return [texts[number] for number in range(len(lines))]


def _scores(pairs: Iterable[TranslatedPair]) -> dict[str, float]:
    texts = [(pair.hypothesis, pair.reference) for pair in pairs]
    if not texts:
        return {}
    outputs, references = zip(*texts, strict=True)
    return {score.metric: score.score for score in compute_scores(outputs, references, metrics=("bleu", "chrf"))}
