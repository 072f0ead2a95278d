"""The training loop: steps, the log, validation, checkpoints, and a clean end whatever ends it."""

import contextlib
import itertools
import logging
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from translator.config import Config
from translator.data import Batch, DataHandler, DataPosition
from translator.device import Arithmetic, choose_device, use_threads
from translator.errors import Interrupted
from translator.inference import Translator
from translator.model import Transformer
from translator.progress import progress_bar
from translator.run_folder import RunFolder
from translator.signals import StopRequest
from translator.training.keeper import Keeper, not_finite
from translator.training.meter import Meter
from translator.training.monitor import Monitor
from translator.training.optimizer import build_optimizer
from translator.training.progress import TrainingProgress
from translator.training.randomness import seed_everything
from translator.training.schedule import learning_rate
from translator.training.step import StepResult, take_step
from translator.training.validation import Validator

if TYPE_CHECKING:
    from tqdm import tqdm

LOGGER = logging.getLogger("translator")


class Trainer:
    """Trains the model of one run, from its beginning or from its last checkpoint."""

    def __init__(self, config: Config, run: RunFolder, data: DataHandler, stop: StopRequest) -> None:
        torch.set_float32_matmul_precision(config.training.matmul_precision)
        use_threads(config.run.threads)
        seed_everything(config.run.seed)
        self._config = config
        self._settings = config.training
        self._run = run
        self._data = data
        self._stop = stop
        self._device = choose_device(config.run.device)
        self._arithmetic = Arithmetic.choose(self._device, config.training.precision)
        subword = data.subword
        model = Transformer(config.model, subword.source.vocabulary_size, subword.target.vocabulary_size)
        self.model = model.to(self._device)
        self._optimizer = build_optimizer(self.model, config.training)
        self._keeper = Keeper(config, run, data, self.model, self._optimizer)
        # Greedy: validation compares checkpoints, and beam search would cost five times as much.
        greedy = config.search.model_copy(update={"method": "greedy"})
        self._translator = Translator(
            self.model, subword, data.normalizer, greedy, config.batching.max_length, self._device
        )
        self._validator = Validator(data, self._translator, config.training, self._arithmetic, stop.check)
        self.progress = TrainingProgress()
        self._position = DataPosition()
        restored = self._keeper.restore()
        if restored is not None:
            self.progress, self._position = restored
        self._saved_step = self.progress.step if restored is not None else -1
        self._clock = time.monotonic()
        self._in_step = False

    @property
    def finished(self) -> str | None:
        """Why there is nothing left to do, or None."""
        return None if self._validation_due else self.progress.finished(self._settings)

    @property
    def _validation_due(self) -> bool:
        """Whether this step is to be validated and has not been yet: a stop may have come in between."""
        step, last = self.progress.step, self.progress.finished(self._settings) is not None
        due = step > self.progress.validated_step and (last or step % self._settings.validate_every == 0)
        return due and self._data.pair_count("validation") > 0

    def train(self) -> TrainingProgress:
        """Train to the end that the configuration sets.

        Raises:
            Interrupted: SIGINT or SIGTERM arrived; everything is saved, and the same call later goes on.
            RunError: the loss is no longer finite; the last good checkpoint is untouched.
        """
        self.progress.sittings += 1
        self._describe()
        with Monitor(self._run.tensorboard_folder, first_step=self.progress.step + 1) as monitor, self._stop.deferred():
            total, done = self._settings.max_steps, self.progress.step
            bar: tqdm[object] = progress_bar(description="training", total=total, initial=done, unit="step")
            try:
                with bar:
                    self._loop(monitor, bar)
            except Interrupted:
                if self._in_step:  # a second signal tore the step apart: weights and progress no longer agree
                    LOGGER.info("stopped at once; the same command goes on from step %d", max(0, self._saved_step))
                else:
                    self._save()
                    LOGGER.info("stopped at step %d; the same command goes on from here", self.progress.step)
                raise
            finally:
                monitor.hparams(self._config.model_dump(mode="json"), self.progress.last_validation)
        self._stop.check()  # a signal that came with the last save
        return self.progress

    def _loop(self, monitor: Monitor, bar: "tqdm[object]") -> None:
        """Take steps until the end is reached; every way out leaves a checkpoint of the last step behind."""
        with contextlib.closing(self._data.train_batches(self._position, self._stop.check)) as batches:
            self._take_steps(batches, monitor, bar)

    def _take_steps(self, batches: Iterator[tuple[Batch, DataPosition]], monitor: Monitor, bar: "tqdm[object]") -> None:
        meter = Meter(self._device)
        self._clock = time.monotonic()
        every = self._settings
        self.model.train()
        while True:
            if self._validation_due:
                self._validate(monitor)
                self._saved_step = -1  # a checkpoint saved before the validation does not know its result
                self._save()
                meter.restart()
            if self.finished is not None:
                self._save()
                return
            self._stop.check()
            meter.add(self._step(batches))
            bar.update()
            self._tick()
            step, saves = self.progress.step, self.progress.step % every.checkpoint_every == 0
            if step % every.log_every == 0 or saves or self._validation_due or self.finished is not None:
                self._log(meter, monitor, bar)
            if saves and not self._validation_due:  # a validation saves when it is done
                self._save()
                meter.restart()

    def _step(self, batches: Iterator[tuple[Batch, DataPosition]]) -> StepResult:
        """Take one update over the next batches."""
        taken = list(itertools.islice(batches, self._settings.accumulation_steps))
        step = self.progress.step + 1
        self._in_step = True
        result = take_step(
            self.model, [batch for batch, _ in taken], self._optimizer, step, self._settings, self._arithmetic
        )
        self.progress.step = step
        self.progress.target_tokens += result.target_tokens
        self._position = taken[-1][1]
        self._in_step = False
        return result

    def _log(self, meter: Meter, monitor: Monitor, bar: "tqdm[object]") -> None:
        """Report the steps since the last report.

        Raises:
            RunError: a loss or gradient among them was not finite, so the weights are spoilt and must not be saved.
        """
        numbers = meter.read()
        if not (math.isfinite(numbers["loss"]) and math.isfinite(numbers["gradient_norm"])):
            raise not_finite(self.progress.step)
        numbers["learning_rate"] = learning_rate(self.progress.step, self._settings)
        monitor.scalars("train", numbers, self.progress.step)
        bar.set_postfix(loss=f"{numbers['loss']:.3f}", tokens_per_s=f"{numbers['tokens_per_second']:.0f}")

    def _validate(self, monitor: Monitor) -> None:
        """Validate at the present step and report."""
        step = self.progress.step
        validation = self._validator.validate(self.model)
        better = self.progress.note_validation(validation.scores, self._settings.best_metric)
        monitor.scalars("validation", validation.scores, step)
        monitor.translations(validation.samples, step)
        if self._validator.first_source is not None:
            monitor.attention(self._translator, self._validator.first_source, step)
        shown = "  ".join(f"{name} {value:.2f}" for name, value in validation.scores.items())
        LOGGER.info("step %d: validation %s%s", step, shown, "  (best so far)" if better else "")

    def _tick(self) -> None:
        """Add the time since the last call to the time that the run has taken."""
        now = time.monotonic()
        self.progress.seconds += now - self._clock
        self._clock = now

    def _save(self) -> None:
        """Write a checkpoint of the present step unless there is one."""
        if self.progress.step != self._saved_step:
            self._tick()
            self._keeper.save(self.progress, self._position)
            self._saved_step = self.progress.step

    def _describe(self) -> None:
        """Say what is about to be trained, on what, and how."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        LOGGER.info(
            "model: %.1fM weights; data: %d training pairs; on %s in %s, %d threads",
            parameters / 1e6,
            self._data.pair_count("train"),
            self._device,
            self._arithmetic.precision,
            torch.get_num_threads(),
        )
