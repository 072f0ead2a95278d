"""What is seen of a run while it trains: measured at every step, told at every report, to bar, log and TensorBoard."""

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.inference import Translator
from translator.log import RECORD
from translator.progress import end_within, progress_bar
from translator.run_folder import RunFolder
from translator.training.breakdown import Breakdown, Sources
from translator.training.engine import Engine
from translator.training.guard import Guard
from translator.training.meter import Meter
from translator.training.monitor import Monitor
from translator.training.norms import BlockNorms
from translator.training.progress import TrainingProgress
from translator.training.ranks import Ranks
from translator.training.spikes import LossSpikes
from translator.training.step import StepResult
from translator.training.validation import Validation

if TYPE_CHECKING:
    from tqdm import tqdm

LOGGER = logging.getLogger("translator")


class Observer:
    """Watches one sitting of a run; open it with `watching`.

    Every process has one and calls it at the same steps, since some numbers are sums over all; the first one tells.

    Args:
        config: the recipe.
        run: its folder.
        data: what it trains on.
        engine: what trains.
        ranks: the processes that train together.
        progress: of the run; counts of what was seen are kept in it.
    """

    def __init__(
        self,
        config: Config,
        run: RunFolder,
        data: DataHandler,
        engine: Engine,
        ranks: Ranks,
        progress: TrainingProgress,
    ) -> None:
        self._config = config
        self._run = run
        self._data = data
        self._engine = engine
        self._ranks = ranks
        self._progress = progress
        sources = Sources.of_split(data.corpus, "train")
        self._meter = Meter(Breakdown(sources), engine.speed(), ranks.sum)
        self._norms = BlockNorms(engine.model)
        self._guard = Guard(run.path, config.training.max_skipped_updates, config.run.seed, sources, ranks)
        self._guard.restore(progress.skipped_updates)
        self._spikes = LossSpikes(**progress.loss_spikes)
        self._last: StepResult | None = None
        self._unreported = False
        self._monitor: Monitor
        self._bar: tqdm[object]

    @contextlib.contextmanager
    def watching(self) -> Iterator[Self]:
        """Show progress and write TensorBoard's files inside the block."""
        step, total = self._progress.step, self._config.training.max_steps
        main = self._ranks.main
        with (
            Monitor(self._run.tensorboard_folder if main else None, first_step=step + 1) as self._monitor,
            progress_bar(description="training", total=total, initial=step, unit="step", silent=not main) as self._bar,
        ):
            self._monitor.mixture(self._data.mixture, step)
            try:
                yield self
            finally:
                self._monitor.hparams(self._config.model_dump(mode="json"), self._progress.last_validation)

    def clock_starts(self) -> None:
        """Let the bar know how long training may go on; its time is counted from now on."""
        if (minutes := self._config.training.max_minutes) is not None:
            end_within(self._bar, 60 * minutes - self._progress.seconds)

    def waited(self, seconds: float) -> None:
        """Take in that so much time was spent on waiting for a batch."""
        self._meter.waited(seconds)

    def restart(self) -> None:
        """Leave the time since the last report out of the rates of the next: it went into a save or a validation.

        Steps are lost to the rates by that only if they were not reported before; `norms_for` lets reports come first.
        """
        self._meter.restart()

    def norms_for(self, step: int) -> BlockNorms | None:
        """Return what is to measure the gradients of a step that ends in a report."""
        every = self._config.training
        due = any(step % count == 0 for count in (every.log_every, every.checkpoint_every, every.validate_every))
        return self._norms if due or step == every.max_steps else None

    def add(self, result: StepResult, position: DataPosition) -> None:
        """Take in the step that was just taken; `position` is that of the data after it.

        Raises:
            RunError: too many updates in a row were skipped.
        """
        step = self._progress.step
        self._last = result
        self._unreported = True
        self._meter.add(step, result)
        self._guard.watch(step, result)
        self._bar.update()
        if result.block_norms is not None:
            self.report(position)

    def report_the_rest(self, position: DataPosition) -> None:
        """Tell of the steps since the last report, if there are any.

        Raises:
            RunError: as `add`.
        """
        if self._unreported:
            self.report(position)

    def report(self, position: DataPosition) -> None:
        """Tell of the steps since the last report.

        Raises:
            RunError: as `add`.
        """
        self.settle()
        self._unreported = False
        assert self._last is not None, "there is a step to tell of"
        step = self._progress.step
        report = self._meter.read(
            {
                "learning_rate": self._last.learning_rate,
                "tokens_seen": self._progress.target_tokens,
                "epoch": position.epoch,
                "skipped_updates_in_all": self._guard.skipped,
                "halved_batches": self._ranks.sum([self._engine.gradients.halving.halved])[0],
            }
        )
        if self._engine.learner.compiled is not None:
            report.speed["compilations"] = self._engine.learner.compiled.compilations
        spikes = self._spikes.find(report.steps)
        self._progress.loss_spikes = self._spikes.state_dict()
        if not self._ranks.main:
            return
        self._monitor.report(report)
        self._monitor.spikes(spikes)
        if self._last.block_norms is not None:
            gradients, weights = self._last.block_norms, self._norms.weights()
            self._monitor.norms(self._norms.named(gradients), self._norms.named(weights), step)
        for line in (report.line, *(spike.line for spike in spikes)):
            RECORD.info(line)
        self._bar.set_postfix_str(report.short)

    def settle(self) -> None:
        """Read what is still on its way from a GPU; to be called before a checkpoint.

        Raises:
            RunError: as `add`.
        """
        self._guard.settle()
        self._progress.skipped_updates = self._guard.state_dict()

    def validated(self, validation: Validation, better: bool, translator: Translator, source: str | None) -> None:
        """Tell of a validation at the present step; `source` is the sentence whose attention is drawn."""
        if not self._ranks.main:
            return
        step = self._progress.step
        self._monitor.validation(validation, step)
        if source is not None:
            self._monitor.attention(translator, source, step)
        shown = "  ".join(
            f"{name} {value:{'.2f' if value < 1e6 else '.3g'}}" for name, value in validation.scores.items()
        )
        LOGGER.info("step %d: validation %s%s", step, shown, "  (best so far)" if better else "")
