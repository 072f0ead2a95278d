"""The training state in checkpoints: weights, averages, moments, data position, progress. Each update sets its seed."""

import math
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor

from translator.checkpoint.files import check_space, restore_weights, save_checkpoint
from translator.checkpoint.manager import (
    BackgroundWriter,
    mark_best,
    newest_whole,
    ranked_steps,
    remove_old_checkpoints,
    repair,
    snapshot,
)
from translator.checkpoint.state import CheckpointState, check_normalizer, step_folder
from translator.config import Config, TrainingConfig
from translator.config.resuming import batch_order
from translator.data import DataHandler, DataPosition
from translator.errors import CheckpointError, RunError
from translator.model import Transformer
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.storage import restore_folders, storage_errors
from translator.training.meter import LossSpikes
from translator.training.optimizer import ModelOptimizer, moving_average


@dataclass
class TrainingProgress:
    """The counters and scores of a run, saved in every checkpoint."""

    step: int = 0
    target_tokens: int = 0
    seconds: float = 0.0  # of training and validation, over all restarts
    starts: int = 0  # number of starts and restarts
    validated_step: int = 0  # step of the last validation
    best_score: float | None = None
    best_step: int | None = None
    validations_without_gain: int = 0
    last_validation: dict[str, float] = field(default_factory=dict)
    validation_losses: list[list[float]] = field(default_factory=list)  # update and loss of each validation
    best_metric: str = ""  # the metric of `best_score`
    skipped_updates: dict[str, int] = field(default_factory=lambda: {"skipped": 0, "in_a_row": 0})
    loss_spikes: LossSpikes = field(default_factory=LossSpikes)

    def note_validation(self, scores: dict[str, float], metric: str) -> bool:
        """Record the scores of a validation at the current step; return whether `metric` is the best so far."""
        score = scores[metric]
        if metric != self.best_metric:  # scores of another metric cannot be compared
            self.best_metric, self.best_score, self.best_step, self.validations_without_gain = metric, None, None, 0
        sign = -1.0 if metric == "loss" else 1.0
        better = not math.isnan(score) and (self.best_score is None or sign * score > sign * self.best_score)
        self.validations_without_gain += 1
        if better:
            self.best_score, self.best_step, self.validations_without_gain = score, self.step, 0
        self.validated_step, self.last_validation = self.step, scores
        if math.isfinite(scores["loss"]):
            self.validation_losses.append([self.step, scores["loss"]])
        return better

    def finished(self, config: TrainingConfig) -> str | None:
        """Return why training has ended, with the setting that would let it continue, or None."""
        return config.finished(self.step, self.seconds, self.validations_without_gain)


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
        decay = self.config.training.ema_decay
        self.average = None if decay is None else moving_average(self.model, decay)  # the trainer updates it
        shipped = self.model if self.average is None else self.average.module
        assert isinstance(shipped, Transformer)
        self.shipped_model = shipped  # used for validation and translation
        self.progress = TrainingProgress()
        self.position = DataPosition()
        self.saved_step = -1  # step of the last checkpoint; -1 without one
        self.writer = BackgroundWriter()  # with `save_in_background`; its methods raise the error of a failed write
        self._lower = self.config.training.best_metric == "loss"  # whether lower is better

    def save(self) -> None:
        """Write a checkpoint of the current state, update the link `best`, and delete checkpoints beyond the limit.

        With `save_in_background`, the caller waits only for the previous write and for a copy of all tensors.

        Raises:
            RunError: a weight is not finite; nothing is written.
            StorageError: this write or the previous one failed; older checkpoints are untouched.
        """
        self.writer.wait()
        # `aminmax` propagates NaN, and needs no mask as large as the weights.
        bounds = [bound for weight in self.model.parameters() for bound in torch.aminmax(weight.detach())]
        if not bool(torch.isfinite(torch.stack(bounds)).all()):
            raise RunError(
                f"a weight is no longer finite near step {self.progress.step}; the last checkpoint is intact. Lower "
                "training.learning_rate or raise training.warmup_steps, and train into a new folder (run.directory=...)"
            )
        if self.writes:
            self._save()
        self.saved_step = self.progress.step

    def _save(self) -> None:
        state, average = self._description(), {} if self.average is None else self.average.module.state_dict()
        files = [self.model.state_dict(), self.optimizer.tensors(), average]
        if not self.config.training.save_in_background:
            self._write(state, files)
            return
        check_space(step_folder(self._folder, state.step), [tensor for file in files for tensor in file.values()])
        copies = [snapshot(tensors) for tensors in files]
        self.writer.submit(lambda: self._write(state, copies))

    def restore(self) -> bool:
        """Load the newest intact checkpoint into this state; return whether there is one.

        A damaged checkpoint is skipped with a warning and renamed. If the batches have changed, the epoch restarts.

        Raises:
            CheckpointError: every checkpoint is damaged, or the newest intact one does not fit the model or normalizer.
            RunError: the corpus or the subword models have changed since it was written.
        """
        if self.writes:
            with storage_errors(self._folder):
                restore_folders(self._folder)  # after a kill during a replacement
        if (found := newest_whole(self._folder)) is None:
            return False
        path, loaded = found
        state = loaded.state
        check_normalizer(state, path)  # before the data check, whose message would be less specific
        same_batches = state.data == self.data.fingerprint
        same_text = same_batches or self.data.token_fingerprint in (state.tokens, state.data)
        if not same_text or state.subword != self.data.subword.sha256:
            raise RunError(
                f"the corpus or its preparation has changed since {path} was written, so the run cannot resume from "
                "it; restore the corpus files, or train into another folder (run.directory=runs/OTHER)"
            )
        restore_weights(self.model, loaded.model, path)
        try:
            if state.step and not loaded.training:
                raise KeyError("optimizer moments")
            self.optimizer.restore(loaded.training)
            if self.average is not None:  # if newly enabled, it starts from the weights
                self.average.module.load_state_dict(loaded.average or loaded.model)
                self.average.n_averaged.fill_(state.average["updates"] if loaded.average else 0)
            spikes = LossSpikes(**state.progress["loss_spikes"])
            self.progress = TrainingProgress(**state.progress | {"loss_spikes": spikes})
            self.position = DataPosition(**state.position)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{path} lacks data for training ({error!r}); delete it to resume from the checkpoint before it"
            ) from error
        same_batches &= state.batch_order == batch_order(self.config)
        if not same_batches:
            self.position = DataPosition(self.position.epoch, 0)
        self.saved_step = self.progress.step
        if self.writes:
            repair(self._folder, state.step, lower_is_better=self._lower)
            LOGGER.info("resuming from %s", path)
            if not same_batches:
                LOGGER.info("the epoch restarts: its batches differ from those before that checkpoint")
        return True

    def _description(self) -> CheckpointState:
        progress = self.progress
        score = progress.last_validation.get(self.config.training.best_metric, math.nan)
        scored = progress.validated_step == progress.step and not math.isnan(score)
        return CheckpointState(
            step=progress.step,
            model=self.config.model.model_dump(mode="json"),
            source_vocabulary=self.data.subword.source.vocabulary_size,
            target_vocabulary=self.data.subword.target.vocabulary_size,
            subword=self.data.subword.sha256,
            data=self.data.fingerprint,
            tokens=self.data.token_fingerprint,
            batch_order=batch_order(self.config),
            normalization=self.config.corpus.normalization.model_dump(mode="json"),
            position=self.position.state_dict(),
            progress=asdict(progress),
            score=score if scored else None,
            average={} if self.average is None else {"updates": int(self.average.n_averaged)},
        )

    def _write(self, state: CheckpointState, files: list[dict[str, Tensor]]) -> None:
        save_checkpoint(self._folder, state, *files)
        # Only after the checkpoint is on the disk: update the links, and delete old checkpoints.
        for best in ranked_steps(self._folder, lower_is_better=self._lower)[:1]:
            mark_best(self._folder, best)
        last, top = self.config.training.keep_checkpoints, self.config.training.keep_best
        remove_old_checkpoints(self._folder, last, top, lower_is_better=self._lower, whole=state.step)
