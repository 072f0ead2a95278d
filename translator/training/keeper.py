"""Saves and restores everything that the next training step depends on."""

import logging

import torch

from translator.checkpoint import (
    CheckpointState,
    check_normalizer,
    find_checkpoint,
    load_checkpoint,
    mark_best,
    remove_old_checkpoints,
    restore_weights,
    save_checkpoint,
    step_folder,
    steps_saved,
)
from translator.config import Config
from translator.data import DataHandler, DataPosition
from translator.errors import CheckpointError, RunError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.storage import restore_folders
from translator.training.optimizer import optimizer_tensors, restore_optimizer
from translator.training.progress import TrainingProgress
from translator.training.randomness import random_numbers, random_tensors, restore_random

LOGGER = logging.getLogger("translator")


class Keeper:
    """Checkpoints of one run: weights, optimizer, generators, data position, progress."""

    def __init__(
        self, config: Config, run: RunFolder, data: DataHandler, model: Transformer, optimizer: torch.optim.Optimizer
    ) -> None:
        self._config = config
        self._folder = run.checkpoints_folder
        self._data = data
        self._model = model
        self._optimizer = optimizer

    def save(self, progress: TrainingProgress, position: DataPosition) -> None:
        """Write a checkpoint of this moment, name it best if it is, and delete those that are no longer kept.

        Raises:
            RunError: a weight is not finite; nothing is written.
            StorageError: the disk is full or the folder cannot be written; older checkpoints are untouched.
        """
        if not all(bool(torch.isfinite(weight).all()) for weight in self._model.parameters()):
            raise not_finite(progress.step)
        state = CheckpointState(
            step=progress.step,
            model=self._config.model.model_dump(mode="json"),
            source_vocabulary=self._data.subword.source.vocabulary_size,
            target_vocabulary=self._data.subword.target.vocabulary_size,
            subword=self._data.subword.sha256,
            data=self._data.fingerprint,
            normalization=self._config.corpus.normalization.model_dump(mode="json"),
            position=position.state_dict(),
            progress=progress.to_json(),
            random=random_numbers(),
        )
        training = optimizer_tensors(self._optimizer) | random_tensors()
        save_checkpoint(self._folder, state, self._model.state_dict(), training)
        if progress.best_step == progress.step:
            mark_best(self._folder, progress.step)
        remove_old_checkpoints(self._folder, self._config.training.keep_checkpoints)

    def restore(self) -> tuple[TrainingProgress, DataPosition] | None:
        """Put the last checkpoint back into model, optimizer and generators; None if the run has none yet.

        Raises:
            CheckpointError: the checkpoint is damaged, does not fit the model, or is of another normalizer.
            RunError: the corpus or the subword models have changed since it was written.
        """
        restore_folders(self._folder)
        if not steps_saved(self._folder):
            return None
        path = find_checkpoint(self._folder, "last")
        loaded = load_checkpoint(path)
        state = loaded.state
        check_normalizer(state, path)  # before the data: theirs would differ too, and say less
        if state.data != self._data.fingerprint or state.subword != self._data.subword.sha256:
            raise RunError(
                f"the corpus or its preparation has changed since {path} was written, so the run cannot go on with it; "
                "restore the corpus files, or train into another folder (run.directory=runs/OTHER)"
            )
        restore_weights(self._model, loaded.model, path)
        try:
            restore_optimizer(self._optimizer, loaded.training)
            restore_random(loaded.training, state.random)
            progress, position = TrainingProgress(**state.progress), DataPosition(**state.position)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{path} lacks what training needs ({error!r}); delete it to go on from the checkpoint before it"
            ) from error
        if progress.best_step is not None and step_folder(self._folder, progress.best_step).is_dir():
            mark_best(self._folder, progress.best_step)  # a kill may have come between saving and naming
        LOGGER.info("resuming from %s", path)
        return progress, position


def not_finite(step: int) -> RunError:
    """Return the error for a run whose loss, gradient or weights have become infinite or NaN."""
    return RunError(
        f"the loss, the gradient or a weight is no longer finite near step {step}; the last checkpoint is unharmed. "
        "Lower training.learning_rate or raise training.warmup_steps, and train into a new folder (run.directory=...)"
    )
