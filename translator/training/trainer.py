"""A whole training run: `train_run` prepares the data and evaluates; `Trainer` updates, validates and saves."""

import contextlib
import logging
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from translator.checkpoint.state import find_checkpoint
from translator.config import Config, TrainingConfig
from translator.config.resuming import NO_CHANGES, Changes
from translator.corpus.held_out import write_held_out
from translator.corpus.normalizer import NORMALIZER_VERSION
from translator.corpus.report import format_report
from translator.data import DataHandler
from translator.data.batch import StepBatches
from translator.data.handler import read_ahead
from translator.data.report import preparation_report, write_preparation_report
from translator.errors import Interrupted, RunError
from translator.evaluation import Score, TranslatedPair, evaluate_run, saved_scores, search_label
from translator.model.device import choose_device
from translator.run.folder import RunFolder, describe_environment
from translator.run.logging import LOGGER, log_to_file
from translator.run.signals import StopRequest
from translator.run.storage import hold_folder
from translator.training.advice import what_would_help
from translator.training.checkpointing import TrainingProgress, TrainingState
from translator.training.count_initialization import MOST_PAIRS, initialize_from_counts
from translator.training.distributed import Distributed
from translator.training.fine_tuning import initial_checkpoint, initialize
from translator.training.monitor import Observer, show_test_scores
from translator.training.optimizer import learning_rate
from translator.training.precision import Choices, set_up
from translator.training.step import Updater
from translator.training.validation import Validator


@dataclass(frozen=True)
class TrainingOutcome:
    """The result of `train_run`."""

    run: RunFolder
    progress: TrainingProgress
    reason: str  # why training ended
    was_finished: bool  # whether an earlier call had finished the training
    main: bool  # true on rank 0
    scores: list[Score]
    samples: list[TranslatedPair]  # some translated test sentences; empty if this call did not evaluate


def train_run(config: Config, stop: StopRequest, allow_changed: bool = False) -> TrainingOutcome:
    """Train the run of `config` to its end, evaluate it, and return the outcome; resume an interrupted run.

    Every rank calls this; rank 0 writes. `allow_changed` permits resuming with settings that change the result.

    Raises:
        TranslatorError: an error in the configuration, the corpus or the run folder.
        Interrupted: a stop signal arrived; a later call resumes.
    """
    chosen = choose_device(config.run.device)  # report a missing GPU before the preparation
    run = RunFolder(Path(config.run.directory))
    if config.training.initialize_from is not None and not run.has_checkpoint:
        initial_checkpoint(config)  # report a missing checkpoint as early
    with Distributed.join(chosen) as distributed, contextlib.ExitStack() as stack:
        changes = NO_CHANGES
        if distributed.main:
            run.check(config, allow_changed)  # report a wrong folder before waiting for its lock
            saved_scores(run)  # report a damaged file of scores as early
            stack.enter_context(hold_folder(run.path))
            changes = run.check(config, allow_changed)  # an earlier process may have changed the folder
        else:
            LOGGER.setLevel(logging.ERROR)
        with distributed.first_on_each_machine():
            data = DataHandler(config).prepare()
        if distributed.main:
            stack.enter_context(log_to_file(run.log_file))
            _record_preparation(config, run, data, changes)
        distributed.barrier()
        return _train_and_evaluate(config, run, data, changes, distributed, stop)


def _train_and_evaluate(
    config: Config, run: RunFolder, data: DataHandler, changes: Changes, distributed: Distributed, stop: StopRequest
) -> TrainingOutcome:
    device = distributed.device(choose_device(config.run.device))
    choices = set_up(config, device, distributed)
    vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    updater = Updater(config, vocabularies, device, choices, distributed)
    trainer = Trainer(config, run, data, updater, distributed, stop)
    was_finished = trainer.finished is not None
    if distributed.main:
        run.write(config)  # only after the checkpoint of a resumed run has accepted settings and subword models
        run.keep_subword(data.subword_folder)
        if not was_finished:
            _record_restart(run, changes, choices, distributed.world_size)
    if not was_finished:
        trainer.train()
    reason, progress = trainer.finished or "", trainer.progress
    if not distributed.main:
        return TrainingOutcome(run, progress, reason, was_finished, False, [], [])
    if not was_finished:
        _caution_about_rate(config.training, progress)
    return TrainingOutcome(run, progress, reason, was_finished, True, *_evaluate(config, run, reason))


def _record_preparation(config: Config, run: RunFolder, data: DataHandler, changes: Changes) -> None:
    if not run.has_checkpoint:
        run.write(config)
    if not (run.has_checkpoint and run.held_out_folder.is_dir()):
        for split in ("validation", "test"):
            write_held_out(run.held_out_folder, split, data.held_out(split))
    LOGGER.info("%s\n\n%s\n", format_report(data.corpus.report), data.format_report())
    write_preparation_report(preparation_report(data, config), run.preparation_folder)
    for change in changes:
        LOGGER.info("changed since the last start of this run: %s", change)


def _record_restart(run: RunFolder, changes: Changes, choices: Choices, processes: int) -> None:
    environment = {**describe_environment(), "normalizer_version": NORMALIZER_VERSION, "choices": asdict(choices)}
    environment |= {"processes": processes, "threads": torch.get_num_threads()}
    for line in (*run.environment_changes(environment), *map(": ".join, choices.reasons.items())):
        LOGGER.info(line)
    run.note_session(environment, changes)


def _caution_about_rate(settings: TrainingConfig, progress: TrainingProgress) -> None:
    """Warn if `max_minutes` ended the run long before the end of the cosine."""
    left = learning_rate(progress.step, settings, progress.seconds) / settings.learning_rate
    over = settings.max_minutes is not None and progress.seconds >= 60 * settings.max_minutes
    if over and left >= 0.05 and settings.schedule == "cosine":
        LOGGER.warning(
            f"caution: training.max_minutes ended training at step {progress.step:,} of {settings.max_steps:,}, with "
            f"the learning rate at {left:.0%} of its peak, which costs quality. A larger training.max_minutes lets "
            "this run continue to the end of its cosine. In a new run, training.schedule_clock=minutes fits the cosine "
            "into the time"
        )


def _evaluate(config: Config, run: RunFolder, reason: str) -> tuple[list[Score], list[TranslatedPair]]:
    made = find_checkpoint(run.checkpoints_folder, "best").name, search_label(config.search)
    if scores := [score for score in saved_scores(run) if (score.checkpoint, score.search) == made]:
        return scores, []
    LOGGER.info("training is over: %s; evaluating the best checkpoint", reason)
    evaluation = evaluate_run(run)
    show_test_scores(run.tensorboard_folder, [one for found in evaluation.sets for one in found.all_scores], own=True)
    return evaluation.scores, evaluation.samples


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
        config, run, data, updater, distributed = self.config, self.run, self.data, self.updater, self.distributed
        self._settings = config.training
        if self._settings.initialization == "counts" and distributed.main and not run.has_checkpoint:
            LOGGER.info("initial weights: counting neighbours and translations in the training text")
            initialize_from_counts(updater.model, data.training_ids(MOST_PAIRS))
        if self._settings.initialize_from is not None and not run.has_checkpoint:
            for line in initialize(updater.model, data.subword, config):
                LOGGER.info(line)
        self._state = TrainingState(config, run, data, updater.model, updater.optimizer, writes=distributed.main)
        self._restore()
        self.progress = self._state.progress
        shipped = self._state.shipped_model
        self._validator = Validator(
            config, data, shipped, updater.arithmetic, updater.choices.packed, self._agree, distributed
        )
        self._observer = Observer(config, run, data, updater, distributed, self.progress)
        self._clock = time.monotonic()
        self._in_update = False
        self._stopping_together = False

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
        rank, world_size, times = self.distributed.rank, self.distributed.world_size, self._settings.accumulation_steps
        batches = read_ahead(
            lambda check: self.data.train_steps(self._state.position, times, rank, world_size, check),
            self.stop.check if world_size == 1 else lambda: None,  # several ranks stop at the same step
        )
        with self.stop.deferred(), contextlib.closing(self._state.writer), self._observer.watching():
            with self.stop.immediate():
                self.distributed.share_weights(self.updater.model)
            try:
                with contextlib.closing(batches):
                    self._loop(batches)
            except Interrupted:
                self._save_at_a_stop()
                raise
        self.stop.check()  # for a signal during the last save

    def _restore(self) -> None:
        """Resume from the last checkpoint, if any: rank 0 first, which cleans up after a killed process."""
        if not self.distributed.main:
            self.distributed.barrier()
        self._state.restore()
        if self.distributed.main:
            self.distributed.barrier()
        place = f"step {self._state.progress.step}, {self._state.position}, data {self.data.fingerprint}"
        found = set(self.distributed.gather_text(place))
        if len(found) > 1:
            raise RunError(
                f"the ranks resume from different positions ({'; '.join(sorted(found))}); all machines must have the "
                "same run folder and the same prepared text"
            )

    def _loop(self, batches: Iterator[StepBatches]) -> None:
        """Run updates, validations and saves to the end; a checkpoint of the last update is saved."""
        self._clock = time.monotonic()
        self._observer.meter.restart()
        while True:
            self._agree()  # all ranks must take the same branch
            if self._validation_due:
                self._observer.report(self._state.position)
                with torch.compiler.set_stance("force_eager"):  # compiled layers would be compiled again for validation
                    validation = self._validator.validate()
                    better = self.progress.note_validation(validation.scores, self._settings.best_metric)
                    self._observer.validated(validation, better, self._validator)
                self._save(anew=True)  # an earlier checkpoint of this step lacks the scores
            elif self.finished is not None:
                self._save()
                if self.distributed.main and self.progress.validation_losses:
                    helps = what_would_help(self.progress.validation_losses, self._observer.training_loss)
                    LOGGER.info("what would help most: %s", helps)
                return
            else:
                self._update(batches)
                if self.progress.step % self._settings.checkpoint_every == 0 and not self._validation_due:
                    self._save()

    def _update(self, batches: Iterator[StepBatches]) -> None:
        asked = time.perf_counter()
        share = next(batches)
        self._observer.meter.waited += time.perf_counter() - asked
        number, progress, state = self.progress.step + 1, self.progress, self._state
        reports = self._observer.reports_after(number)
        self._in_update = True
        result = self.updater.update(share, number, progress.seconds, with_block_norms=reports)
        if state.average is not None:
            state.average.update_parameters(state.model)
        progress.step = number
        progress.target_tokens += result.target_tokens
        state.position = share.position
        self._in_update = False
        self._observer.add(result, state.position)

    @property
    def _validation_due(self) -> bool:
        """Whether a validation of this step is due and not yet done, perhaps because of a stop."""
        step, last = self.progress.step, self.progress.finished(self._settings) is not None
        due = step > self.progress.validated_step and (last or step % self._settings.validate_every == 0)
        return due and self.data.pair_count("validation") > 0

    def _save(self, anew: bool = False) -> None:
        """Write a checkpoint of the current step if there is none, or always if `anew`."""
        self._observer.report(self._state.position)
        if anew or self.progress.step != self._state.saved_step:
            self._tick()
            self._state.save()
            self.distributed.barrier()  # a long timeout: the disk of rank 0 may be slow
            self._observer.meter.restart()

    def _save_at_a_stop(self) -> None:
        """Save, unless a second signal interrupted an update: then weights and progress may be inconsistent."""
        if self._in_update or (self.distributed.world_size > 1 and not self._stopping_together):
            said = f"stopped without saving; the same command resumes from step {max(0, self._state.saved_step)}"
        else:
            self._save()
            self._state.writer.wait()
            self.distributed.barrier()  # the launcher ends the other ranks when the first one exits
            said = f"stopped at step {self.progress.step}; the same command resumes from here"
        if self.distributed.main:
            LOGGER.info(said)

    def _agree(self) -> None:
        """Share rank 0's elapsed time; raise `Interrupted` on all ranks if any has received a stop signal."""
        self._tick()
        own_seconds = self.progress.seconds if self.distributed.main else 0.0
        stopped, self.progress.seconds = self.distributed.sum([float(self.stop.requested), own_seconds])
        if stopped:
            self._stopping_together = True
            self.stop.check()
            raise Interrupted(signal.SIGTERM)

    def _tick(self) -> None:
        now = time.monotonic()
        self.progress.seconds += now - self._clock
        self._clock = now
