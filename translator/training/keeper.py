"""Checkpoints and resumption: saves and restores everything that the next training step depends on."""

import logging
import math
from collections.abc import Mapping

import torch
from torch import Tensor

from translator.changes import batch_order
from translator.checkpoint import (
    BackgroundWriter,
    CheckpointState,
    LoadedCheckpoint,
    check_normalizer,
    check_space,
    finish_interrupted_writes,
    mark_best,
    newest_whole,
    ranked_steps,
    remove_old_checkpoints,
    repair,
    restore_weights,
    save_checkpoint,
    snapshot,
    step_folder,
)
from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.errors import CheckpointError, RunError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.training.moving_average import MovingAverage
from translator.training.optimizer import ModelOptimizer
from translator.training.progress import TrainingProgress
from translator.training.randomness import random_numbers, random_tensors, restore_random

LOGGER = logging.getLogger("translator")

Tensors = Mapping[str, Tensor]


class Keeper:
    """Checkpoints of one run: weights, their moving average, optimizer, generators, data position, progress.

    Args:
        config: the settings of the run.
        run: where its checkpoints lie.
        data: what it trains on.
        model: the network itself, not wrapped.
        optimizer: the one that updates it.
        average: the moving average of its weights, if the run keeps one.
        writes: False on all processes of a run but one; such a keeper only reads, and must not `restore` before the
            writing one has.
        background: write in a thread of its own, one checkpoint at a time. Whoever asks for it must call `close`, or
            `wait`, before anybody reads the checkpoints and before the process ends, or the error of the last write
            is never heard.
    """

    def __init__(
        self,
        config: Config,
        run: RunFolder,
        data: DataHandler,
        model: Transformer,
        optimizer: ModelOptimizer,
        *,
        average: MovingAverage | None = None,
        writes: bool = True,
        background: bool = False,
    ) -> None:
        self._config = config
        self._folder = run.checkpoints_folder
        self._data = data
        self._model = model
        self._optimizer = optimizer
        self._average = average
        self._batch_order = batch_order(config)
        # An older checkpoint does not tell; then the settings do that were written down when it was made.
        self._batch_order_before = batch_order(run.config()) if run.config_file.is_file() else self._batch_order
        self._writes = writes
        self._writer = BackgroundWriter() if background and writes else None
        self._copies: dict[str, dict[str, Tensor]] = {}
        self._lower_is_better = config.training.best_metric == "loss"

    def save(self, progress: TrainingProgress, position: DataPosition) -> None:
        """Write a checkpoint of this moment, name the best, and delete those that are no longer kept.

        In the background, the caller waits for the write before and for a copy of all tensors, no longer.

        Raises:
            RunError: a weight is not finite; nothing is written.
            StorageError: this write or the one before it failed, because the disk is full, say; older checkpoints are
                untouched.
        """
        self.wait()
        if self._average is not None:
            self._average.swap_out()
        if not _finite(self._model):
            raise not_finite(progress.step)
        if not self._writes:
            return
        state = self._state(progress, position)
        model: Tensors = self._model.state_dict()
        training: Tensors = self._optimizer.tensors() | random_tensors()
        average: Tensors = {} if self._average is None else self._average.weights()
        if self._writer is None:
            self._write(state, model, training, average)
            return
        check_space(step_folder(self._folder, state.step), [*model.values(), *training.values(), *average.values()])
        everything = {"model": model, "training": training, "average": average}
        copies = {part: snapshot(tensors, self._copies.get(part)) for part, tensors in everything.items()}
        self._copies = copies
        self._writer.submit(lambda: self._write(state, copies["model"], copies["training"], copies["average"]))

    def wait(self) -> None:
        """Return when the last checkpoint is on the disk.

        Raises:
            StorageError: it could not be written.
        """
        if self._writer is not None:
            self._writer.wait()

    def close(self) -> None:
        """Wait, and end the thread that writes.

        Raises:
            StorageError: the last checkpoint could not be written.
        """
        if self._writer is not None:
            self._writer.close()

    def restore(self) -> tuple[TrainingProgress, DataPosition] | None:
        """Put the newest whole checkpoint back into model, optimizer, generators and moving average.

        A damaged one is passed over with a warning and set aside under another name.

        Where settings have changed that decide which batches an epoch is made of, the epoch begins again.

        Returns:
            Where training goes on; None if the run has no checkpoint yet.

        Raises:
            CheckpointError: every checkpoint is damaged; or the newest whole one does not fit the model, lacks
                something, or is of another normalizer.
            RunError: the corpus or the subword models have changed since it was written.
            StorageError: the folder cannot be written.
        """
        if self._writes:
            finish_interrupted_writes(self._folder)
        found = newest_whole(self._folder)
        if found is None:
            return None
        path, loaded = found
        state = loaded.state
        check_normalizer(state, path)  # before the data: theirs would differ too, and say less
        same_batches = state.data == self._data.fingerprint
        same_text = same_batches or self._data.token_fingerprint in (state.tokens, state.data)
        if not same_text or state.subword != self._data.subword.sha256:
            raise RunError(
                f"the corpus or its preparation has changed since {path} was written, so the run cannot go on with it; "
                "restore the corpus files, or train into another folder (run.directory=runs/OTHER)"
            )
        restore_weights(self._model, loaded.model, path)
        try:
            self._restore_training(loaded)
            progress, position = TrainingProgress(**state.progress), DataPosition(**state.position)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{path} lacks what training needs ({error!r}); delete it to go on from the checkpoint before it"
            ) from error
        same_batches &= (state.batch_order or self._batch_order_before) == self._batch_order
        if not same_batches:
            position = DataPosition(position.epoch, 0)
        if self._writes:
            repair(self._folder, state.step, lower_is_better=self._lower_is_better)
            LOGGER.info("resuming from %s", path)
            if not same_batches:
                LOGGER.info("the present epoch begins again: its batches are others than they were at that checkpoint")
            if self._average is not None and not loaded.average:
                LOGGER.info("the moving average begins with the weights of %s, which has none", path.name)
        return progress, position

    def _state(self, progress: TrainingProgress, position: DataPosition) -> CheckpointState:
        """Return all that is saved of this moment besides tensors."""
        score = progress.last_validation.get(self._config.training.best_metric, math.nan)
        scored = progress.validated_step == progress.step and not math.isnan(score)
        return CheckpointState(
            step=progress.step,
            model=self._config.model.model_dump(mode="json"),
            source_vocabulary=self._data.subword.source.vocabulary_size,
            target_vocabulary=self._data.subword.target.vocabulary_size,
            subword=self._data.subword.sha256,
            data=self._data.fingerprint,
            tokens=self._data.token_fingerprint,
            batch_order=self._batch_order,
            normalization=self._config.corpus.normalization.model_dump(mode="json"),
            position=position.state_dict(),
            progress=progress.to_json(),
            random=random_numbers(),
            score=score if scored else None,
            average={} if self._average is None else self._average.state,
        )

    def _write(self, state: CheckpointState, model: Tensors, training: Tensors, average: Tensors) -> None:
        """Write a checkpoint, then bring links and number of checkpoints up to date, in this order."""
        save_checkpoint(self._folder, state, model, training, average)
        for best in ranked_steps(self._folder, lower_is_better=self._lower_is_better)[:1]:
            mark_best(self._folder, best)
        settings = self._config.training
        remove_old_checkpoints(
            self._folder,
            settings.keep_checkpoints,
            settings.keep_best,
            lower_is_better=self._lower_is_better,
            whole=state.step,
        )

    def _restore_training(self, loaded: LoadedCheckpoint) -> None:
        """Put back optimizer, generators and moving average."""
        self._optimizer.restore(loaded.training)
        restore_random(loaded.training, loaded.state.random)
        if self._average is not None and loaded.average:
            self._average.restore(loaded.average, loaded.state.average)
        elif self._average is not None:  # switched on since
            self._average.restore(self._model.state_dict(), {"updates": 0})


def _finite(model: Transformer) -> bool:
    """Return whether every weight is finite; `aminmax` passes NaN on, and needs no mask as large as the weights."""
    bounds = [bound for weight in model.parameters() for bound in torch.aminmax(weight.detach())]
    return bool(torch.isfinite(torch.stack(bounds)).all())


def not_finite(step: int) -> RunError:
    """Return the error for a run whose loss, gradient or weights have become infinite or NaN."""
    return RunError(
        f"the loss, the gradient or a weight is no longer finite near step {step}; the last checkpoint is unharmed. "
        "Lower training.learning_rate or raise training.warmup_steps, and train into a new folder (run.directory=...)"
    )
