"""The health of a run: updates that were skipped because a number was not finite, and spikes of the loss.

N sentences of a batch
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import Field, with_config
from torch import Tensor

from translator.data.batch import Numbers
from translator.errors import RunError
from translator.run.logging import LOGGER
from translator.run.records import STRICT, WholeNumber
from translator.run.storage import write_json
from translator.training.breakdown import Breakdown
from translator.training.distributed import Distributed
from translator.training.meter import StepLoss
from translator.training.step_result import StepResult

STOPPED_BATCH: Final = "stopped-batch.json"  # file in the run folder with the last skipped update

_MEMORY: Final = 0.98  # decay of the running mean of the loss, which covers about fifty updates
_FIRST_STEPS: Final = 100  # updates at the start of a run, in which no spikes are reported
_DEVIATIONS: Final = 6.0  # a spike exceeds the running mean by this many standard deviations
_RATIO: Final = 1.2  # and by this factor
_NAMED_PAIRS: Final = 5  # hardest pairs in the message about a spike


@with_config(STRICT)
@dataclass
class SkippedCounts:
    """Numbers of skipped updates."""

    skipped: WholeNumber = 0  # in the whole run
    in_a_row: WholeNumber = 0  # until now


@dataclass
class SkippedUpdates:
    """Counts updates skipped because loss or gradient is not finite; ends the run after too many in a row."""

    run_folder: Path  # where the last skipped update is written for inspection
    limit: int  # `training.max_skipped_updates`
    breakdown: Breakdown  # of the training split
    distributed: Distributed  # all ranks call `check` with the same steps
    counts: SkippedCounts

    def check(self, steps: Iterable[StepLoss]) -> None:
        """Count the skipped updates among the next `steps`; raise RunError if there are too many in a row."""
        for step in steps:
            if not math.isnan(step.loss):
                self.counts.in_a_row = 0
                continue
            self.counts.skipped += 1
            self.counts.in_a_row += 1
            if self.counts.in_a_row == 1 and self.distributed.main:
                LOGGER.warning(
                    f"step {step.step}: loss or gradient is not finite, so this update is skipped ("
                    f"{self.counts.skipped} in all; training.max_skipped_updates={self.limit} in a row stop the run)"
                )
            if self.counts.in_a_row >= self.limit:
                self._stop(step)

    def _stop(self, step: StepLoss) -> None:
        """Write the update's sentences to a file and end the run, on all ranks together."""
        file = self.run_folder / STOPPED_BATCH
        sentences_of_ranks = self.distributed.gather_text(json.dumps(self._sentences(step.result)))
        if self.distributed.main:
            sentences = []
            for text in sentences_of_ranks:
                sentences += json.loads(text)
            norm = str(step.result.gradient_norm.item())  # JSON has no NaN
            write_json(file, {"step": step.step, "gradient_norm": norm, "sentences": sentences})
        in_a_row = self.counts.in_a_row
        raise RunError(
            f"{in_a_row} updates in a row (steps {step.step - in_a_row + 1} to {step.step}) were skipped because the "
            "loss or the gradient was not finite (training.max_skipped_updates); the sentences of the last are in "
            f"{file}. Check them for errors; or lower training.learning_rate, raise training.warmup_steps, or set "
            "training.precision=float32. The last checkpoint is intact, but these settings need a new folder "
            "(run.directory=...)"
        )

    def _sentences(self, result: StepResult) -> list[dict[str, Any]]:
        """Return the pairs of this rank, with their place in the corpus, loss and ids, as JSON values."""
        sentences = []
        for batch, token_losses in zip(result.batches, result.token_losses, strict=True):
            columns = zip(
                batch.pairs.tolist(),
                self.breakdown.sources(batch.pairs).tolist(),
                batch.sum_by_sentence(token_losses.cpu()).tolist(),
                _cut_sentences(batch.source, batch.source_sentence, batch.source_lengths),
                _cut_sentences(batch.labels, batch.target_sentence, batch.target_lengths),
                strict=True,
            )
            for pair, source, loss, source_ids, label_ids in columns:
                sentence = {
                    "pair": pair,
                    "corpus_source": self.breakdown.names[source],
                    "line_in_train": pair - int(self.breakdown.starts[source]) + 1,
                    "loss": str(loss),  # JSON has no NaN
                    "source": source_ids,
                    "labels": label_ids,
                }
                sentences.append(sentence)
        return sentences


def _cut_sentences(ids: Tensor, sentence: Tensor, lengths: Numbers) -> list[list[int]]:
    """Return the ids of each of N sentences, EOS included, row after row.

    Args:
        ids: (R, L) of one side of a batch.
        sentence: (R, L) number of the sentence in its row, from 1; 0 at PAD.
        lengths: (N,) tokens of each sentence.
    """
    tokens = ids[sentence > 0].numpy()  # of all sentences, one after the other
    ends = np.cumsum(lengths)
    return [tokens[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]


class LossSpike(NamedTuple):
    """An update whose loss is far above those before it."""

    step: int
    loss: float
    line: str  # for the log, with the hardest pairs of this rank


@with_config(STRICT)
@dataclass
class LossSpikes:
    """Finds updates whose loss is far above the previous ones, by exponential mean and variance of the token loss."""

    mean: float = 0.0
    variance: Annotated[float, Field(ge=0)] = 0.0
    steps: WholeNumber = 0

    def find(self, steps: Iterable[StepLoss]) -> list[LossSpike]:
        """Add the next steps; return the spikes among them."""
        spikes = []
        for step in steps:
            if not math.isfinite(step.loss):
                continue
            limit = max(self.mean + _DEVIATIONS * math.sqrt(self.variance), _RATIO * self.mean)
            is_spike = self.steps >= _FIRST_STEPS and step.loss > limit
            if is_spike:
                spikes.append(LossSpike(step.step, step.loss, self._describe(step)))
            # A spike enters the mean with the limit as its loss, so that it does not mask the next one.
            self._add(limit if is_spike else step.loss)
        return spikes

    def _add(self, loss: float) -> None:
        """Update mean and variance."""
        self.steps += 1
        weight = max(1.0 - _MEMORY, 1.0 / self.steps)  # equal weights for the first steps
        difference = loss - self.mean
        self.mean += weight * difference
        self.variance = (1.0 - weight) * (self.variance + weight * difference * difference)

    def _describe(self, step: StepLoss) -> str:
        """Return a line on the spike at `step`, with the pairs of the largest losses per token."""
        costs: list[tuple[float, int]] = []  # loss per token and number of each pair
        for batch, token_losses in zip(step.result.batches, step.result.token_losses, strict=True):
            losses = batch.sum_by_sentence(token_losses.cpu()) / batch.target_lengths
            costs += zip(losses.tolist(), batch.pairs.tolist(), strict=True)
        hardest = sorted(costs, reverse=True)[:_NAMED_PAIRS]
        pairs = ", ".join(f"{pair} ({loss:.2f})" for loss, pair in hardest)
        return (
            f"loss spike at step {step.step:,}: {step.loss:.3f} after {self.mean:.3f}; hardest training pairs: {pairs}"
        )
