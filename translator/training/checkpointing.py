"""The training state in checkpoints: weights, averages, moments, data position, progress. Each update sets its seed."""

from dataclasses import asdict, dataclass
from pathlib import Path

from translator.checkpoint.files import are_finite, restore_weights, save_checkpoint
from translator.checkpoint.moments import moments_of, restore_moments
from translator.checkpoint.retention import go_back_to, mark_best, newest_whole, ranked_steps, remove_old_checkpoints
from translator.checkpoint.state import CheckpointState, check_normalizer, step_folder
from translator.config import Config
from translator.config.resuming import batch_settings
from translator.core.optimizer import ModelOptimizer
from translator.core.packing import PLAN_VERSION
from translator.core.transformer import Transformer
from translator.data import DataHandler, DataPosition
from translator.errors import RunError
from translator.run.files import restore_folders, sha256_of_json, storage_errors
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.training.moving_average import MovingAverage
from translator.training.progress import TrainingProgress, ranking_score


@dataclass
class TrainingState:
    """The full training state and its checkpoints. Only rank 0 `writes`; the other ranks `restore` after it."""

    config: Config
    run: RunFolder
    data: DataHandler
    model: Transformer
    optimizer: ModelOptimizer
    writes: bool = True

    def __post_init__(self) -> None:
        self._folder = self.run.checkpoints_folder
        self.average: MovingAverage | None = None
        if self.config.training.ema_decay is not None:
            self.average = MovingAverage(self.model, self.config.training.ema_decay)  # the trainer updates it
        self.progress = TrainingProgress()
        self.position = DataPosition()
        self.saved_step = -1  # step of the last checkpoint; -1 without one

    @property
    def shipped_model(self) -> Transformer:
        """The model for validation and translation: with the averaged weights, if they are enabled."""
        return self.model if self.average is None else self.average.model

    def save(self) -> None:
        """Write a checkpoint of the current state, update the link `best`, and delete checkpoints beyond the limit.

        Raises:
            RunError: a weight is not finite; nothing is written.
            StorageError: the write failed; older checkpoints are untouched.
        """
        # All ranks have the same weights, so all raise.
        if not are_finite(self.model.parameters()):
            raise RunError(
                f"a weight is no longer finite near step {self.progress.step}; the last checkpoint is intact. Lower "
                "training.learning_rate or raise training.warmup_steps, and train into a new folder (run.directory=...)"
            )
        if self.writes:
            self._write()
        self.saved_step = self.progress.step

    def _write(self) -> None:
        """Write the checkpoint; only when it is on the disk, update the links and delete old checkpoints."""
        average = {} if self.average is None else self.average.model.state_dict()
        save_checkpoint(self._folder, self._description(), self.model.state_dict(), moments_of(self.optimizer), average)
        best_steps = ranked_steps(self._folder)
        if best_steps:
            mark_best(self._folder, best_steps[0])
        settings = self.config.training
        remove_old_checkpoints(self._folder, settings.keep_checkpoints, settings.keep_best)

    def restore(self) -> None:
        """Load the newest intact checkpoint into this state, if there is one.

        A damaged checkpoint is skipped with a warning and renamed. If the batches have changed, the epoch restarts.

        Raises:
            CheckpointError: every checkpoint is damaged, or the newest intact one does not fit the model or normalizer.
            RunError: the corpus or the subword models have changed since it was written.
        """
        if self.writes:
            with storage_errors(self._folder):
                restore_folders(self._folder)  # a kill may have left a checkpoint under a hidden name
        checkpoint = newest_whole(self._folder)
        if checkpoint is None:
            return
        state = checkpoint.state
        path = step_folder(self._folder, state.step)

        # 1. Refuse a checkpoint of other text. The most specific message comes first.
        check_normalizer(state, self.data.normalizer.rules, path)
        self._check_text(state, path)

        # 2. Load the tensors and the progress.
        restore_weights(self.model, checkpoint.model, path)
        restore_moments(self.optimizer, checkpoint.moments)
        if self.average is not None:
            # An average that the run did not have before starts from the weights.
            updates = state.average["updates"] if checkpoint.average else 0
            self.average.restore(checkpoint.average or checkpoint.model, updates)
        self.progress = TrainingProgress(**state.progress)
        self.position = DataPosition(**state.position)
        self.saved_step = self.progress.step

        # 3. Begin the epoch again if its batches have changed: a row of the old batches has no meaning in the new ones.
        has_same_data = state.data == self.data.fingerprint
        has_same_batches = has_same_data and state.batch_order == self._batch_order()
        if not has_same_batches:
            self.position = DataPosition(self.position.epoch, row=0)

        # 4. Rename the damaged checkpoints after this one, and renew the links.
        if self.writes:
            go_back_to(self._folder, state.step)
            LOGGER.info("resuming from %s", path)
            if not has_same_batches:
                LOGGER.info("the epoch restarts: its batches differ from those before that checkpoint")

    def _batch_order(self) -> str:
        """Return the fingerprint of all that determines the batches of an epoch, for the same data."""
        return sha256_of_json({"plan": PLAN_VERSION, **batch_settings(self.config)})

    def _check_text(self, state: CheckpointState, path: Path) -> None:
        """Raise RunError if corpus or subword models differ; augmentation may differ."""
        if state.tokens != self.data.token_fingerprint or state.subword != self.data.subword.sha256:
            raise RunError(
                f"the corpus or its preparation has changed since {path} was written, so the run cannot resume from "
                "it; restore the corpus files and the version of translator (see run.json), or train into another "
                "folder (run.directory=runs/OTHER)"
            )

    def _description(self) -> CheckpointState:
        """Return what a checkpoint of this moment says beside its tensors."""
        # The last validation gives the score of the checkpoint only if no update followed it.
        progress = self.progress
        score = None
        if progress.validated_step == progress.step:
            score = ranking_score(progress.last_validation, self.config.training.best_metric)
        return CheckpointState(
            step=progress.step,
            model=self.config.model,
            source_vocabulary=self.data.subword.source.vocabulary_size,
            target_vocabulary=self.data.subword.target.vocabulary_size,
            subword=self.data.subword.sha256,
            data=self.data.fingerprint,
            tokens=self.data.token_fingerprint,
            batch_order=self._batch_order(),
            normalizer=self.data.normalizer.rules.sha256,
            normalization=self.config.corpus.normalization.model_dump(mode="json"),
            position=asdict(self.position),
            progress=asdict(progress),
            score=score,
            average={} if self.average is None else {"updates": self.average.updates},
        )
