"""Monitoring of a run: what is measured and reported after which update."""

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from tqdm import tqdm

from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.evaluation import TranslatedPair
from translator.model.device import matrix_rate
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, RECORD, end_within, progress_bar
from translator.run.text import excerpt
from translator.training.advice import how_it_goes
from translator.training.attention_picture import attention_figure
from translator.training.block_norms import block_norms
from translator.training.breakdown import Breakdown
from translator.training.distributed import Distributed
from translator.training.event_file import EventFile
from translator.training.flops import StepFlops
from translator.training.health import SkippedUpdates
from translator.training.meter import Meter, Report
from translator.training.progress import TrainingProgress
from translator.training.step_result import StepResult
from translator.training.update import Updater
from translator.training.validation import Validation, Validator

_MAX_TEXT: Final = 75  # characters of a sentence on the console
_WORTH_MEASURING: Final = 200  # minimum updates of a run for which the machine's matrix rate is measured


@dataclass
class Observer:
    """Measures every update, and reports to progress bar, log and TensorBoard; use it inside `watching`.

    All ranks call their observers at the same steps, since some numbers are sums over ranks; rank 0 writes.
    """

    config: Config
    run: RunFolder
    data: DataHandler
    updater: Updater
    distributed: Distributed
    progress: TrainingProgress

    def __post_init__(self) -> None:
        device = self.updater.device
        breakdown = Breakdown.of_split(self.data.corpus, "train")
        self.meter = Meter(breakdown, sum_over_ranks=self.distributed.sum)
        if self.config.training.max_steps >= _WORTH_MEASURING:
            self.meter.flops = StepFlops(self.config.model, len(self.updater.model.head_weight))
            self.meter.peak_rate = matrix_rate(device, self.updater.arithmetic.precision)
        self._skipped = SkippedUpdates(
            run_folder=self.run.path,
            limit=self.config.training.max_skipped_updates,
            breakdown=breakdown,
            distributed=self.distributed,
            counts=self.progress.skipped_updates,
        )
        self._last: StepResult | None = None  # of the latest update, until it is reported
        self.training_loss = math.nan  # of the last report
        self._bar: tqdm[object]
        self._events: EventFile  # of rank 0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and write an event file inside the block."""
        settings = self.config.training
        self._bar = progress_bar(
            description="training",
            unit="step",
            total=settings.max_steps,
            initial=self.progress.step,
            silent=not self.distributed.main,
        )
        if settings.max_minutes is not None:
            end_within(self._bar, 60 * settings.max_minutes - self.progress.seconds)
        with self._bar:
            if not self.distributed.main:
                yield
                return
            self._events = EventFile(self.run.tensorboard_folder, self.progress.step)
            self._events.add_mixture(self.data.mixture, self.progress.step)
            try:
                yield
            finally:
                self._events.close(self.config, self.progress.last_validation)

    def reports_after(self, step: int) -> bool:
        """Return whether a report is due after update number `step`."""
        settings = self.config.training
        intervals = (settings.log_every, settings.checkpoint_every, settings.validate_every)
        return step == settings.max_steps or any(step % interval == 0 for interval in intervals)

    def add(self, result: StepResult, position: DataPosition) -> None:
        """Add the latest update, and report if a report is due; `position` is the data position after it."""
        self._last = result
        self.meter.add(self.progress.step, result)
        self._bar.update()
        if self.reports_after(self.progress.step):
            self.report(position)

    def report(self, position: DataPosition) -> None:
        """Report the updates since the last report, if any; raise RunError if too many in a row were skipped."""
        if self._last is None:
            return
        last = self._last
        self._last = None
        # 1. On all ranks: the numbers that are sums over ranks, and the checks that may end the run.
        report = self.meter.read(
            {
                "learning_rate": last.learning_rate,
                "tokens_seen": self.progress.target_tokens,
                "minutes": self.progress.seconds / 60,
                "epoch": position.epoch,
            }
        )
        self._skipped.check(report.steps)
        self.training_loss = report.curves["loss"]["train"]
        spikes = self.progress.loss_spikes.find(report.steps)
        if not self.distributed.main:
            return
        # 2. On rank 0: extra curves, then log, event file and bar.
        self._add_curves(report, last)
        RECORD.info(report.line)
        self._events.add_curves(report.curves, self.progress.step)
        for spike in spikes:
            RECORD.info(spike.line)
            self._events.add_loss_spike(spike)
        self._bar.set_postfix_str(f"loss {self.training_loss:.3f}")

    def _add_curves(self, report: Report, last: StepResult) -> None:
        """Add the numbers of rank 0 to `report`: skipped updates of the whole run, loss scale, norms of the blocks."""
        train = report.curves["train"]
        train["skipped_updates_in_all"] = self._skipped.counts.skipped
        if self.updater.choices.precision == "fp16":
            train["loss_scale"] = float(self.updater.optimizer.scale)
        if last.block_norms is not None:
            report.curves["train_gradient_norm"] = _fetched(last.block_norms)
            report.curves["train_weight_norm"] = _fetched(block_norms(self.updater.model, gradients=False))

    def validated(self, validation: Validation, better: bool, validator: Validator) -> None:
        """Report a validation at the current step, with an attention map of `validator`'s model."""
        if not self.distributed.main:
            return
        step = self.progress.step
        # 1. The event file.
        curves = {"validation_by_length": validation.loss_by_length}
        for name, scores in validation.by_source.items():
            curves[f"validation_by_source/{name}"] = scores
        self._events.add_validation(validation.scores, step)
        self._events.add_curves(curves, step)
        self._events.add_translations(validation.samples, step)
        if validator.drawn_source is not None:
            attention_map = validator.translator.attention(validator.drawn_source)
            self._events.add_attention(attention_figure(*attention_map), step)
        # 2. The log.
        remark = "  (best)" if better else ""
        LOGGER.info("step %d: validation %s%s", step, _format_scores(validation.scores), remark)
        losses = self.progress.validation_losses
        course = how_it_goes(losses) if losses else None
        if course is not None and self.progress.finished(self.config.training) is None:
            LOGGER.info("step %d: %s", step, course)
        self.show_translations(validation.watched)

    def show_translations(self, pairs: Sequence[TranslatedPair]) -> None:
        """Log how the model translates `pairs` now."""
        if not self.distributed.main:
            return
        lines = [f"step {self.progress.step}: the model translates"]
        for pair in pairs:
            lines.append(f"  {excerpt(pair.source, _MAX_TEXT)}")
            lines.append(f"  → {excerpt(pair.hypothesis, _MAX_TEXT)}")
        LOGGER.info("%s", "\n".join(lines))


def _fetched(values: Mapping[str, Tensor]) -> dict[str, float]:
    """Return values () of the device as numbers, with one transfer."""
    return dict(zip(values, torch.stack(list(values.values())).tolist(), strict=True))


def _format_scores(scores: Mapping[str, float]) -> str:
    """Return scores with two decimals; a huge perplexity with three digits."""
    texts = []
    for name, value in scores.items():
        digits = ".2f" if value < 1e6 else ".3g"
        texts.append(f"{name} {value:{digits}}")
    return "  ".join(texts)
