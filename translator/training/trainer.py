"""The training loop: steps, validation, checkpoints, and a clean end whatever ends it."""

import contextlib
import logging
import signal
import time
from collections.abc import Generator, Iterator

from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.data.read_ahead import read_ahead
from translator.errors import Interrupted, RunError
from translator.inference import TorchSearcher, Translator
from translator.inference.torch_searcher import search_rounding
from translator.run_folder import RunFolder
from translator.signals import StopRequest
from translator.training.engine import Engine
from translator.training.keeper import Keeper
from translator.training.moving_average import MovingAverage
from translator.training.observer import Observer
from translator.training.prefetch import PlacedStep, prefetch
from translator.training.progress import TrainingProgress
from translator.training.ranks import Ranks
from translator.training.validation import Validator
from translator.training.warm_start import initialize

LOGGER = logging.getLogger("translator")


class Trainer:
    """Trains the model of one run, from its beginning or from its last checkpoint.

    Args:
        config: the recipe.
        run: its folder.
        data: its batches.
        engine: the model and what trains it.
        ranks: the processes that train together; all make a trainer and call `train`.
        stop: tells of stop signals.
    """

    def __init__(
        self, config: Config, run: RunFolder, data: DataHandler, engine: Engine, ranks: Ranks, stop: StopRequest
    ) -> None:
        self._config = config
        self._settings = config.training
        self._data = data
        self._engine = engine
        self._ranks = ranks
        self._stop = stop
        if config.training.initialize_from is not None and not run.has_checkpoint:
            for line in initialize(engine.model, data.subword, config):
                LOGGER.info(line)
        decay = config.training.ema_decay
        self._average = None if decay is None else MovingAverage(engine.model, decay)
        self._keeper = Keeper(
            config,
            run,
            data,
            engine.model,
            engine.optimizer,
            average=self._average,
            writes=ranks.main,
            background=config.training.save_in_background,
        )
        self.progress = TrainingProgress()
        self._position = DataPosition()
        self._saved_step = -1
        self._restore()
        # Greedy: validation compares checkpoints, and beam search would cost five times as much.
        greedy = config.search.model_copy(update={"method": "greedy"})
        device = engine.arithmetic.device
        searcher = TorchSearcher([engine.model], device, search_rounding(device, config.training))
        self._translator = Translator(searcher, data.subword, data.normalizer, greedy, config.batching.max_length)
        self._validator = Validator(data, self._translator, config.training, engine.arithmetic, self._agree, ranks)
        self._observer = Observer(config, run, data, engine, ranks, self.progress)
        self._clock = time.monotonic()
        self._in_step = False
        self._stopping_together = False

    def _restore(self) -> None:
        """Go on from the last checkpoint, if there is one."""
        if not self._ranks.main:
            self._ranks.barrier()  # the first process mends what a kill has left
        restored = self._keeper.restore()
        if self._ranks.main:
            self._ranks.barrier()
        if restored is not None:
            self.progress, self._position = restored
        found = self._ranks.gather_text(f"step {self.progress.step}, {self._position}, data {self._data.fingerprint}")
        if len(set(found)) > 1:
            everybody = "; ".join(f"process {rank}: {text}" for rank, text in enumerate(found))
            raise RunError(
                f"the processes do not go on from the same place ({everybody}); the run folder and the prepared text "
                "must be the same for all machines"
            )
        if restored is None:
            return
        self._saved_step = self.progress.step
        if self._settings.initialize_from is not None and self._ranks.main:
            LOGGER.info("training.initialize_from is ignored: the run goes on from its own checkpoint")

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
            Interrupted: SIGINT, SIGTERM or SIGHUP arrived; everything is saved, and the same call later goes on.
            RunError: too many updates in a row were skipped, or another process was lost; the last good checkpoint is
                untouched.
            StorageError: a checkpoint could not be written; the last good one is untouched.
        """
        self.progress.sittings += 1
        with self._stop.deferred(), contextlib.closing(self._keeper), self._observer.watching():
            with self._stop.immediate():
                self._engine.connect()
                self._engine.rehearse()
            try:
                with contextlib.closing(self._steps()) as steps:
                    self._loop(steps)
            except Interrupted:
                self._save_at_a_stop()
                raise
        self._stop.check()  # a signal that came with the last save
        return self.progress

    def _steps(self) -> Generator[PlacedStep, None, None]:
        """Yield this process's part of each step, read and put on the device ahead of its use."""
        rank, world = self._ranks.rank, self._ranks.world
        ahead = read_ahead(
            lambda check: self._data.train_steps(self._position, self._settings.accumulation_steps, rank, world, check),
            self._stop.check if world == 1 else lambda: None,  # several processes stop at the same step
        )
        return prefetch(ahead, self._engine.placing)

    def _loop(self, steps: Iterator[PlacedStep]) -> None:
        """Take steps until the end is reached; every way out leaves a checkpoint of the last step behind."""
        self._clock = time.monotonic()
        self._observer.clock_starts()
        self._observer.restart()
        self._engine.learner.train()
        while True:
            self._agree()  # whatever is decided until the next time is decided alike by all processes
            if self._validation_due:
                self._validate()
                self._save(anew=True)  # a checkpoint saved before the validation does not know its result
            elif self.finished is not None:
                self._observer.report_the_rest(self._position)
                self._save()
                return
            else:
                self._step(steps)
                if self._saves_after(self.progress.step):
                    self._save()

    def _saves_after(self, step: int) -> bool:
        """Whether a checkpoint is due, and none comes anyway with the validation of the step."""
        every = self._settings
        validates = step % every.validate_every == 0 or step >= every.max_steps
        return step % every.checkpoint_every == 0 and not (validates and self._data.pair_count("validation"))

    def _step(self, steps: Iterator[PlacedStep]) -> None:
        """Take one update."""
        asked = time.perf_counter()
        placed = next(steps)
        self._observer.waited(time.perf_counter() - asked)
        number = self.progress.step + 1
        self._in_step = True
        result = self._engine.step(placed, number, self.progress.seconds, self._observer.norms_for(number))
        if self._average is not None:
            self._average.update()
        self.progress.step = number
        self.progress.target_tokens += result.target_tokens
        self._position = placed.step.position
        self._in_step = False
        self._observer.add(result, self._position)

    def _validate(self) -> None:
        """Validate at the present step and report."""
        averaged = None if self._average is None else self._average.swapped_in()
        validation = self._validator.validate(self._engine.learner, averaged)
        better = self.progress.note_validation(validation.scores, self._settings.best_metric)
        self._observer.validated(validation, better, self._translator, self._validator.drawn_source)
        self._observer.restart()

    def _save(self, anew: bool = False) -> None:
        """Write a checkpoint of the present step unless there is one, or `anew`."""
        if anew or self.progress.step != self._saved_step:
            self._observer.settle()
            self._tick()
            self._keeper.save(self.progress, self._position)
            self._saved_step = self.progress.step
            self._ranks.barrier()  # a slow disk is no lost process
            self._observer.restart()

    def _save_at_a_stop(self) -> None:
        """Save, unless a second signal tore a step apart, so that weights and progress no longer agree."""
        if self._in_step or (self._ranks.world > 1 and not self._stopping_together):
            if self._ranks.main:
                LOGGER.info("stopped at once; the same command goes on from step %d", max(0, self._saved_step))
            return
        if self.progress.step != self._saved_step:
            self._observer.report_the_rest(self._position)
            self._save()
        self._keeper.wait()
        self._ranks.barrier()  # the launcher ends those that are left when the first one leaves
        if self._ranks.main:
            LOGGER.info("stopped at step %d; the same command goes on from here", self.progress.step)

    def _agree(self) -> None:
        """Take the time of the first process on all, and raise on all if a stop signal has reached any.

        Raises:
            Interrupted: it has.
        """
        self._tick()
        own_seconds = self.progress.seconds if self._ranks.main else 0.0
        stopped, self.progress.seconds = self._ranks.sum([float(self._stop.requested), own_seconds])
        if stopped:
            self._stopping_together = True
            self._stop.check()
            raise Interrupted(signal.SIGTERM)

    def _tick(self) -> None:
        """Add the time since the last call to the time that the run has taken; `_agree` comes before it decides."""
        now = time.monotonic()
        self.progress.seconds += now - self._clock
        self._clock = now
