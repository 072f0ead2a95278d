"""A whole training run: `train_run` prepares the data and evaluates; `Trainer` updates, validates, saves, and ends."""

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
from translator.corpus import NORMALIZER_VERSION, format_report
from translator.corpus.held_out import write_held_out
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
    was_finished: bool  # whether there was nothing left to train
    main: bool  # true on rank 0
    scores: list[Score]
    samples: list[TranslatedPair]  # a few translated test sentences; empty when nothing was evaluated now


def train_run(config: Config, stop: StopRequest, allow_changed: bool = False) -> TrainingOutcome:
    """Train the run of `config` to its end and evaluate it; resume where an earlier call was stopped.

    Each rank calls this, and rank 0 writes. `allow_changed` resumes with settings that change the result.

    Raises:
        TranslatorError: a mistake in the configuration, the corpus or the run folder.
        Interrupted: a stop signal arrived; a later call resumes.
    """
    chosen = choose_device(config.run.device)  # a missing GPU is reported before the preparation
    run = RunFolder(Path(config.run.directory))
    if config.training.initialize_from is not None and not run.has_checkpoint:
        initial_checkpoint(config)  # and so is a missing checkpoint
    with Distributed.join(chosen) as distributed, contextlib.ExitStack() as stack:
        changes = NO_CHANGES
        if distributed.main:
            run.check(config, allow_changed)  # a wrong folder is reported before another process in it
            saved_scores(run)  # and so is a damaged file of scores
            stack.enter_context(hold_folder(run.path))
            changes = run.check(config, allow_changed)  # the process before may have changed the folder
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
        run.write(config)  # settings and subword models of a resumed run, once its checkpoint has accepted them
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
    """Warn if the minutes were over long before the end of the cosine."""
    left = learning_rate(progress.step, settings, progress.seconds) / settings.learning_rate
    over = settings.max_minutes is not None and progress.seconds >= 60 * settings.max_minutes
    if over and left >= 0.05 and settings.schedule == "cosine":
        LOGGER.warning(
            f"caution: training.max_minutes were over at step {progress.step:,} of {settings.max_steps:,}, with the "
            f"learning rate still at {left:.0%} of its peak, which costs quality; with a larger training.max_minutes "
            "this run continues to the end of its cosine, and with training.schedule_clock=minutes a new one ends it "
            "in time"
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
    """Trains the model of one run, from its beginning or from its last checkpoint; each rank has a trainer."""

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
        """Why there is nothing left to do, or None."""
        return None if self._validation_due else self.progress.finished(self._settings)

    def train(self) -> None:
        """Train to the end that the configuration sets; no error touches the last good checkpoint.

        Raises:
            Interrupted: a stop signal arrived; everything is saved, and the same call later resumes.
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
        self.stop.check()  # a signal that came with the last save

    def _restore(self) -> None:
        """Resume from the last checkpoint, if there is one: rank 0 first, which repairs what a kill has left."""
        if not self.distributed.main:
            self.distributed.barrier()
        self._state.restore()
        if self.distributed.main:
            self.distributed.barrier()
        place = f"step {self._state.progress.step}, {self._state.position}, data {self.data.fingerprint}"
        found = set(self.distributed.gather_text(place))
        if len(found) > 1:
            raise RunError(
                f"the ranks do not resume from the same place ({'; '.join(sorted(found))}); all machines must have the "
                "same run folder and the same prepared text"
            )

    def _loop(self, batches: Iterator[StepBatches]) -> None:
        """Make updates to the end; every way out leaves a checkpoint of the last one."""
        self._clock = time.monotonic()
        self._observer.meter.restart()
        while True:
            self._agree()  # so that all ranks take the same branch
            if self._validation_due:
                self._observer.report(self._state.position)
                validation = self._validator.validate()
                better = self.progress.note_validation(validation.scores, self._settings.best_metric)
                self._observer.validated(validation, better, self._validator.translator, self._validator.drawn_source)
                self._save(anew=True)  # a checkpoint from before the validation does not know its result
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
        """Whether this step is to be validated and has not been yet: a stop may have come in between."""
        step, last = self.progress.step, self.progress.finished(self._settings) is not None
        due = step > self.progress.validated_step and (last or step % self._settings.validate_every == 0)
        return due and self.data.pair_count("validation") > 0

    def _save(self, anew: bool = False) -> None:
        """Write a checkpoint of the present step unless there is one, or `anew`."""
        self._observer.report(self._state.position)
        if anew or self.progress.step != self._state.saved_step:
            self._tick()
            self._state.save()
            self.distributed.barrier()  # other ranks wait for a slow disk as long as it takes
            self._observer.meter.restart()

    def _save_at_a_stop(self) -> None:
        """Save, unless a second signal came within an update, when weights and progress may disagree."""
        if self._in_update or (self.distributed.world_size > 1 and not self._stopping_together):
            said = f"stopped at once; the same command resumes from step {max(0, self._state.saved_step)}"
        else:
            self._save()
            self._state.writer.wait()
            self.distributed.barrier()  # the launcher ends the other ranks when the first one leaves
            said = f"stopped at step {self.progress.step}; the same command resumes from here"
        if self.distributed.main:
            LOGGER.info(said)

    def _agree(self) -> None:
        """Take the time of rank 0 on all ranks; raise `Interrupted` on all if a stop signal has reached any."""
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
