"""The training loop: updates, validations and saves, until a limit of the configuration is reached."""

import contextlib
import signal
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.checkpoint.state import step_folder
from translator.config import Config
from translator.data import DataHandler
from translator.data.batch import StepBatches
from translator.data.machine_folder import MachineFolder
from translator.data.training_batches import EPOCH_FOLDER
from translator.errors import Interrupted, RunError
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.signals import StopRequest
from translator.run.work_folders import work_folder
from translator.training.advice import what_would_help
from translator.training.checkpointing import TrainingState
from translator.training.compiling import uncompiled
from translator.training.count_initialization import MOST_PAIRS, initialize_from_counts
from translator.training.distributed import Distributed
from translator.training.monitor import Observer
from translator.training.update import Updater, memory_errors
from translator.training.validation import Validator
from translator.training.warm_start import initialize

_QUIET_WAIT: Final = 0.05  # seconds that a rank waits for its batches before it tells the others


@dataclass
class Trainer:
    """Trains the model of one run, from the start or from its last checkpoint; each rank has a trainer."""

    config: Config
    run: RunFolder
    data: DataHandler
    updater: Updater
    distributed: Distributed
    stop: StopRequest

    def __post_init__(self) -> None:
        self._settings = self.config.training
        if not self.run.has_checkpoint:
            self._initialize_weights()
        self._state = TrainingState(
            self.config,
            self.run,
            self.data,
            self.updater.model,
            self.updater.optimizer,
            writes=self.distributed.main,
        )
        self._restore()
        self.progress = self._state.progress
        self._validator = Validator(
            self.config,
            self.data,
            self._state.shipped_model,
            self.updater.arithmetic,
            check_stop=self._check_stop,
            distributed=self.distributed,
        )
        self._observer = Observer(self.config, self.run, self.data, self.updater, self.distributed, self.progress)
        self._clock = time.monotonic()  # time up to which `progress.seconds` counts, the same on all ranks
        self._wait_began = time.perf_counter()  # the last wait for batches
        self._early = not self._tenth_is_over  # whether the watched sentences are still to be shown at a tenth
        self._in_update = False
        self._stopping_together = False  # whether all ranks have been told of a stop signal

    @property
    def finished(self) -> str | None:
        """The reason why training is complete, or None."""
        return None if self._validation_due else self.progress.finished(self._settings)

    def train(self) -> None:
        """Train until a limit of the configuration is reached; errors leave the last good checkpoint intact.

        Raises:
            Interrupted: a stop signal arrived; the state is saved, and the same call later resumes.
            RunError: too many updates in a row were skipped, memory ran out, or another rank was lost.
        """
        self.progress.starts += 1
        with self.stop.deferred(), contextlib.closing(self._state.writer), self._observer.watching():
            with self.stop.immediate():
                self.distributed.share_weights(self.updater.model)
            try:
                with self._machine_folder() as machine, contextlib.closing(self._batches(machine)) as batches:
                    self._loop(batches)
            except Interrupted:
                self._save_at_a_stop()
                raise
        self.stop.check()  # for a signal during the last save

    # --- the start ---

    @contextlib.contextmanager
    def _machine_folder(self) -> Iterator[MachineFolder]:
        """Yield a folder that all ranks of this machine share; local rank 0 makes and deletes it."""
        with contextlib.ExitStack() as stack:
            target = Path(self.config.corpus.prepared_directory).absolute() / EPOCH_FOLDER

            def make() -> str:
                return str(stack.enter_context(work_folder(target)))

            path = self.distributed.once_on_each_machine(make)
            yield MachineFolder(Path(path), self.distributed.local_rank, self.distributed.local_world_size)

    def _batches(self, machine: MachineFolder) -> Generator[StepBatches, None, None]:
        """Return the batches of this rank from the current position on."""
        training_batches = self.data.training_batches
        on_gpu = self.updater.device.type == "cuda"
        steps_from = training_batches.pinned_steps if on_gpu else training_batches.steps
        return steps_from(
            self._state.position,
            self._settings.accumulation_steps,
            self.distributed.rank,
            self.distributed.world_size,
            machine,
            check=self._check_while_waiting,
        )

    def _initialize_weights(self) -> None:
        """Overwrite the random weights as `training.initialization` and `training.initialize_from` say."""
        # Counting takes long; the other ranks receive the weights of rank 0.
        if self._settings.initialization == "counts" and self.distributed.main:
            LOGGER.info("counting words and their translations in the training text, for the initial weights")
            initialize_from_counts(self.updater.model, self.data.training_ids(MOST_PAIRS))
        if self._settings.initialize_from is not None:
            for line in initialize(self.updater.model, self.data.subword, self.config, self.data.normalizer.rules):
                LOGGER.info(line)

    def _restore(self) -> None:
        """Resume from the last checkpoint, if any: rank 0 first, which cleans up after a killed process."""
        # Rank 0 restores before the barrier, the others after it.
        if not self.distributed.main:
            self.distributed.barrier()
        self._state.restore()
        if self.distributed.main:
            self.distributed.barrier()
        place = f"step {self._state.progress.step}, {self._state.position}, data {self.data.fingerprint}"
        places = set(self.distributed.gather_text(place))
        if len(places) > 1:
            raise RunError(
                f"the ranks resume from different positions ({'; '.join(sorted(places))}); all machines must have the "
                "same run folder and the same prepared text"
            )

    # --- the loop ---

    def _loop(self, batches: Iterator[StepBatches]) -> None:
        """Run updates, validations and saves to the end; a checkpoint of the last update is saved."""
        self._clock = time.monotonic()
        if self.progress.step == 0:
            self._show_translations()
        self._observer.meter.restart()
        while True:
            step = self._next_step(batches)
            if self._validation_due:
                self._validate()
            elif self.finished is not None:
                self._save()
                self._advise()
                return
            else:
                assert step is not None, "an update follows"
                self._update(step)
                if self.progress.step % self._settings.checkpoint_every == 0 and not self._validation_due:
                    self._save()
                if self._early and self._tenth_is_over:
                    self._early = False
                    self._show_translations()

    def _next_step(self, batches: Iterator[StepBatches]) -> StepBatches | None:
        """Return the batches of the next update, or None if a validation or the end comes first.

        It returns on all ranks at the same time, and all then take the same branch.

        Raises Interrupted: any rank has received a stop signal; on all ranks.
        """
        # 1. Wait for the batches of this rank.
        step = None
        if not self._validation_due and self.finished is None:
            self._wait_began = time.perf_counter()
            step = next(batches)
            self._observer.meter.waited += time.perf_counter() - self._wait_began
        # 2. Wait for the other ranks. All keep exchanging, so a lost or silent rank is noticed however long this takes.
        while self._agree(waiting=False):
            pass
        return step

    def _check_while_waiting(self) -> None:
        """Agree with the other ranks, all of which wait until this one has its batches."""
        # Most waits are too short to tell the others.
        if self.stop.requested or time.perf_counter() - self._wait_began > _QUIET_WAIT:
            self._agree(waiting=True)

    def _update(self, step: StepBatches) -> None:
        """Make the next update."""
        # 1. Update the weights, their moving average, and the progress: no part without the others.
        number = self.progress.step + 1
        reports = self._observer.reports_after(number)
        self._in_update = True
        result = self.updater.update(step, number, self.progress.seconds, with_block_norms=reports)
        if self._state.average is not None:
            self._state.average.update(self._state.model)
        self.progress.step = number
        self.progress.target_tokens += result.target_tokens
        self._state.position = step.position
        self._in_update = False
        # 2. Report it.
        self._observer.add(result, self._state.position)

    @property
    def _validation_due(self) -> bool:
        """Whether a validation of this step is due and not yet done, perhaps because of a stop."""
        step = self.progress.step
        if step <= self.progress.validated_step or not self._validator.has_text:
            return False
        return step % self._settings.validate_every == 0 or self.progress.finished(self._settings) is not None

    @property
    def _tenth_is_over(self) -> bool:
        """Whether a tenth of the updates is done, or of the time; the same on all ranks."""
        minutes = self._settings.max_minutes
        in_time = minutes is not None and self.progress.seconds >= 6 * minutes
        return in_time or self.progress.step >= self._settings.max_steps // 10

    def _show_translations(self) -> None:
        """Show how the model translates a few sentences now, unless a validation is about to show them."""
        if self._validator.has_text and not self._validation_due:
            with uncompiled(), memory_errors(self.config):
                self._observer.show_translations(self._validator.watch())

    def _validate(self) -> None:
        """Validate, report and save."""
        self._observer.report(self._state.position)
        with uncompiled(), memory_errors(self.config):
            validation = self._validator.validate()
            better = self.progress.note_validation(validation.scores, self._settings.best_metric)
            self._observer.validated(validation, better, self._validator)
        self._save(anew=True)  # an earlier checkpoint of this step lacks the scores

    def _advise(self) -> None:
        """Log what would most improve the next model, if the losses tell."""
        losses = self.progress.validation_losses
        if not (self.distributed.main and losses):
            return
        rate_decays = self._settings.schedule == "cosine"
        advice = what_would_help(losses, self._observer.training_loss, rate_decays=rate_decays)
        if advice is not None:
            LOGGER.info("what would help most: %s", advice)

    # --- saves and stops ---

    def _save(self, anew: bool = False) -> None:
        """Write a checkpoint of the current step if there is none, or always if `anew`."""
        self._observer.report(self._state.position)
        if anew or self.progress.step != self._state.saved_step:
            self._count_time()
            self._state.save()
            self.distributed.barrier()  # a long timeout: the disk of rank 0 may be slow
            self._observer.meter.restart()

    def _save_at_a_stop(self) -> None:
        """Save, unless a second signal interrupted an update: then weights and progress may be inconsistent."""
        ranks_differ = self.distributed.world_size > 1 and not self._stopping_together
        if self._in_update or ranks_differ:
            saved_step = max(0, self._state.saved_step)
            message = f"stopped without saving; the same command resumes from step {saved_step}"
        else:
            self._save()
            self._state.writer.wait()
            self.distributed.barrier()  # the launcher ends the other ranks when the first one exits
            saved = step_folder(self.run.checkpoints_folder, self.progress.step)
            message = f"stopped at step {self.progress.step}, which is saved in {saved}; the same command resumes there"
        if self.distributed.main:
            LOGGER.info(message)

    def _agree(self, waiting: bool = False) -> bool:
        """Return whether any rank is `waiting` for its batches; count the time.

        Raises:
            Interrupted: any rank has received a stop signal; on all ranks.
            LostProcessError: another rank was killed, or does not answer.
        """
        waiting_ranks, stop_requests = self._count_time(float(waiting), float(self.stop.requested))
        if stop_requests > 0:
            self._stopping_together = True
            self.stop.check()
            raise Interrupted(signal.SIGTERM)
        return waiting_ranks > 0

    def _check_stop(self) -> None:
        """Raise `Interrupted` on all ranks if any has received a stop signal; while no rank waits for batches."""
        self._agree()

    def _count_time(self, *values: float) -> list[float]:
        """Add the time since the last call, by rank 0's clock, to that of the run; return the sums over all ranks."""
        now = time.monotonic()
        seconds = self.progress.seconds + now - self._clock
        self._clock = now
        self.progress.seconds, *sums = self.distributed.sum([seconds if self.distributed.main else 0.0, *values])
        return sums
