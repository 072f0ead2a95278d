"""The training of a run: the core's loop, and what a run does around its updates."""

import contextlib
import signal
from dataclasses import replace
from typing import Final

from translator.checkpoint.state import step_folder
from translator.config import Config
from translator.core.loop import Clock, Tick, train, validation_is_due
from translator.core.transformer import Transformer
from translator.core.update import Learner, StepResult
from translator.data import DataHandler
from translator.errors import Interrupted
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest
from translator.speed.compiling import uncompiled
from translator.speed.count_initialization import MOST_PAIRS, initialize_from_counts
from translator.speed.device import Precision, memory_errors
from translator.training.checkpointing import TrainingState
from translator.training.distributed import Distributed
from translator.training.monitoring.monitor import Monitor
from translator.training.validation import Validator
from translator.training.warm_start import initialize

_SHOWN_AT: Final = (0.0, 0.1)  # shares of `training.max_steps` after which translations are shown without a validation


class _StopAskedError(Exception):
    """A stop signal has arrived during a validation; `Trainer.validate` raises it, `_train_to_limit` catches it."""


def initial_state(
    config: Config, run: RunFolder, data: DataHandler, learner: Learner, distributed: Distributed
) -> TrainingState:
    """Return the state of a run: that of its last checkpoint, or of a new run with its first weights.

    Raises:
        RunError, CheckpointError: the checkpoint does not fit.
        ConfigError: the ranks resume from different places.
    """
    if distributed.main and not run.has_checkpoint:
        _initialize_weights(config, data, learner.loss.model)  # the other ranks receive them in `Trainer.train`
    state = TrainingState(config, run, data, learner.loss.model, learner.optimizer, writes=distributed.main)

    # Rank 0 restores before the barrier, since it cleans up after a killed process; the others restore after it.
    if not distributed.main:
        distributed.barrier()
    state.restore()
    if distributed.main:
        distributed.barrier()

    # All ranks must go on from the same place.
    place = {
        "step": state.progress.step,
        "position in the text": str(state.position),
        "prepared text": data.fingerprint,
    }
    distributed.check_equal(place)
    return state


def _initialize_weights(config: Config, data: DataHandler, model: Transformer) -> None:
    """Overwrite the random weights as `training.initialization` and `training.initialize_from` say."""
    if config.training.initialization == "counts":
        LOGGER.info("counting words and their translations in the training text, for the initial weights")
        initialize_from_counts(model, *data.training_ids(MOST_PAIRS))
    if config.training.initialize_from is not None:
        for line in initialize(model, data.subword, config):
            LOGGER.info(line)


class Trainer:
    """Trains a run until a limit of its recipe; each rank has a trainer, and only rank 0 writes."""

    def __init__(
        self,
        state: TrainingState,
        learner: Learner,
        precision: Precision,
        distributed: Distributed,
        stop: StopRequest,
    ) -> None:
        """Take the state of the run, as `initial_state` returns it, and what makes its updates.

        `precision` is that of the learner, for the validation loss.
        """
        self.progress = state.progress
        self._state = state
        self._config = state.config
        self._settings = state.config.training
        self._learner = learner
        self._distributed = distributed
        self._stop = stop
        # It counts the time, and tells all ranks when one of them has to stop.
        self._clock = Clock(self.progress, distributed.exchange, stop_requested=lambda: stop.requested)
        self._validator = Validator(state.config, state.data, state.shipped_model, precision)
        self._loop_settings = self._settings.loop_settings
        if not self._validator.has_text:  # then no validation is ever due
            self._loop_settings = replace(self._loop_settings, validate_every=None)
        self._monitor = Monitor(state, distributed)

    @property
    def finished(self) -> str | None:
        """The reason why training is complete, or None."""
        if validation_is_due(self.progress, self._loop_settings):
            return None
        return self._settings.finished(self.progress)

    def train(self) -> None:
        """Train until a limit of the recipe is reached; errors leave the last good checkpoint intact.

        Raises:
            Interrupted: a stop signal arrived; the state is saved, and the same call later resumes.
            RunError: too many updates in a row were skipped, memory ran out, or another rank was lost.
        """
        with self._stop.deferred(), self._monitor.watching(), memory_errors(self._config):
            with self._stop.immediate():
                self._distributed.share_weights(self._learner.loss.model)
            if self._train_to_limit() is None:
                self._save_at_a_stop()
        self._stop.check()  # for a signal during the last save

    def _train_to_limit(self) -> str | None:
        """Return the limit that ended the training; None after a request to stop, with nothing saved yet."""
        batches = self._state.data.training_batches.steps(
            self._state.position,
            self._settings.accumulation_steps,
            self._distributed.rank,
            self._distributed.world_size,
            on_gpu=self._learner.loss.model.head_weight.is_cuda,
        )
        try:
            with contextlib.closing(batches):
                self._show_translations()
                self._monitor.restart_clock()
                # The loop calls `updated`, `validate` and `save` of this trainer.
                return train(self._learner, batches, self.progress, self._loop_settings, self, self._clock)
        except _StopAskedError:  # of `validate`
            return None
        except Interrupted:
            # A second signal interrupted an update: weights and progress may be inconsistent.
            step = max(0, self._state.saved_step)
            LOGGER.info(f"stopped without saving; the same command resumes from step {step}")
            raise

    # --- what the loop calls ---

    def updated(self, result: StepResult, tick: Tick) -> None:
        """Report an update; the moving average of the weights and the place in the data follow it."""
        if self._state.average is not None:
            self._state.average.update(self._state.model)
        self._state.position = result.step_batches.next_position
        self._monitor.add(result, tick)
        self._show_translations()

    def validate(self) -> None:
        """Validate and report on rank 0, and save; on a stop signal, raise on all ranks."""
        self._monitor.report()  # the updates before the validation, so that its time is not in their speed
        # 1. Rank 0 validates, and all ranks get its scores. If rank 0 is asked to stop meanwhile, there are no scores,
        # and all ranks stop.
        validation = None
        if self._distributed.main:
            try:
                with uncompiled():
                    validation = self._validator.validate(self._check_stop)
            except _StopAskedError:
                pass  # no exception yet: the other ranks wait for the scores, which are None
        scores = self._distributed.of_main(None if validation is None else validation.scores)
        if scores is None:
            raise _StopAskedError

        # 2. All ranks record the scores; rank 0 shows them.
        is_best = self.progress.note_validation(scores, self._settings.best_metric)
        if validation is not None:
            with uncompiled():
                self._monitor.validated(validation, is_best, self._validator)

        # 3. Save, even if this step is saved already: the checkpoint lacks the scores.
        self._save()

    def save(self) -> None:
        """Save the current step, unless it is saved."""
        self._monitor.report()
        if self.progress.step != self._state.saved_step:
            self._save()

    # --- the rest ---

    def _save(self) -> None:
        self._clock.tick()
        self._state.save()
        self._distributed.barrier()  # a long timeout: the disk of rank 0 may be slow
        self._monitor.restart_clock()

    def _check_stop(self) -> None:
        """Raise if this process has received a stop signal; called between the batches of a validation."""
        if self._stop.requested:
            raise _StopAskedError

    def _save_at_a_stop(self) -> None:
        """Save, and raise Interrupted, on all ranks."""
        self.save()
        self._distributed.barrier()  # the launcher ends the other ranks when the first one exits
        saved = step_folder(self._state.run.checkpoints_folder, self.progress.step)
        LOGGER.info(f"stopped at step {self.progress.step}, which is saved in {saved}; the same command resumes there")
        self._stop.check()
        raise Interrupted(signal.SIGTERM)  # another rank has received the signal

    def _show_translations(self) -> None:
        """Show early how the model translates a few sentences, unless a validation is about to show them."""
        is_early = self.progress.step in [int(share * self._settings.max_steps) for share in _SHOWN_AT]
        is_due = validation_is_due(self.progress, self._loop_settings)
        if self._distributed.main and is_early and not is_due and self._validator.has_text:
            with uncompiled():
                self._monitor.show_translations(self._validator.watch())
