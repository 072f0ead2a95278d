"""What a checkpoint holds besides tensors, and when it may be used."""

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from translator.corpus.normalize import NORMALIZER_VERSION
from translator.errors import CheckpointError


@dataclass(frozen=True)
class CheckpointState:
    """What a checkpoint holds besides tensors: enough to go on training, or to know what the weights need."""

    step: int
    model: dict[str, Any]
    """The model section of the configuration."""
    source_vocabulary: int
    target_vocabulary: int
    subword: dict[str, str]
    """SHA-256 of each subword model by file name."""
    data: str = ""
    """Fingerprint of the prepared data, the strength of subword sampling included."""
    tokens: str = ""
    """Fingerprint of the prepared data without it; empty in checkpoints from before it was kept."""
    batch_order: str = ""
    """Fingerprint of the settings under which `position` is a place; empty in checkpoints from before it was kept."""
    normalizer_version: int = NORMALIZER_VERSION
    normalization: dict[str, Any] = field(default_factory=dict)
    """The section of the configuration: which rules of the normalizer the text went through."""
    position: dict[str, int] = field(default_factory=dict)
    """Where the data go on."""
    progress: dict[str, Any] = field(default_factory=dict)
    """Best score, patience, tokens and seconds so far."""
    random: dict[str, Any] = field(default_factory=dict)
    """Generators of Python and NumPy; those of torch are tensors."""
    score: float | None = None
    """What these very weights reached in validation, by `training.best_metric`; None if they were not validated."""
    average: dict[str, Any] = field(default_factory=dict)
    """How far the moving average of the weights has come; its weights are tensors."""
    averaged_steps: list[int] = field(default_factory=list)
    """The steps whose weights these are the mean of; empty in a checkpoint of training."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "averaged" if self.averaged_steps else f"step-{self.step:06d}"

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "CheckpointState":
        """Return the state that was saved; fields that this version does not know are passed over."""
        known = {item.name for item in fields(cls)}
        state = cls(**{key: value for key, value in saved.items() if key in known})
        if "score" not in saved and state.progress.get("best_step") == state.step:  # from before there were scores
            state = replace(state, score=state.progress["best_score"])
        return state


class LoadedCheckpoint(NamedTuple):
    """A checkpoint read back whole."""

    state: CheckpointState
    model: dict[str, Tensor]
    """The raw weights, as the optimizer left them."""
    training: dict[str, Tensor]
    """Optimizer moments and random number generators."""
    average: dict[str, Tensor]
    """Moving average of the weights; empty in a run without one."""


class DamagedCheckpointError(CheckpointError):
    """A checkpoint is not what was written.

    Args:
        damage: what is wrong, and in which file.
        advice: what to do.
    """

    def __init__(self, damage: str, advice: str) -> None:
        super().__init__(f"damaged checkpoint: {damage}; {advice}")
        self.damage = damage


def check_normalizer(state: CheckpointState, path: Path) -> None:
    """Refuse a checkpoint whose text went through another version of the normalizer than the one at hand.

    Raises:
        CheckpointError: the versions differ.
    """
    if state.normalizer_version != NORMALIZER_VERSION:
        raise CheckpointError(
            f"{path} was trained on text of normalizer version {state.normalizer_version}, this version of translator "
            f"has {NORMALIZER_VERSION}; use the version that wrote it (see run.json) or train again"
        )
