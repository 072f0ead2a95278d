"""Checkpoints without tensors: names, the state beside the weights, checksums. Imports no torch.

checkpoints/step-000123/model.safetensors       raw weights
                        optimizer.safetensors   optimizer moments
                        ema.safetensors         moving average of the weights, if enabled
                        state.json              everything else, with the SHA-256 of the files above
checkpoints/last -> step-000123                 the newest
checkpoints/best -> step-000100                 the best by the validation score
checkpoints/averaged/                           the mean of several: model.safetensors and state.json
checkpoints/.damaged-step-000120.*/             a damaged checkpoint, renamed when its run was resumed
"""

import hashlib
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, with_config

from translator.config import ModelConfig
from translator.corpus.normalizer.rules import NormalizerRules
from translator.errors import CheckpointError
from translator.run.records import STRICT, RecordError, WholeNumber, read_signed_record

MODEL_FILE: Final = "model.safetensors"
AVERAGE_FILE: Final = "ema.safetensors"
OPTIMIZER_FILE: Final = "optimizer.safetensors"
STATE_FILE: Final = "state.json"
FORMAT = 1
LAST, BEST, AVERAGED = "last", "best", "averaged"
_STEP_NAME = re.compile(r"step-([0-9]{6,12})")
TensorFile = Literal["model.safetensors", "optimizer.safetensors", "ema.safetensors"]


@with_config(STRICT)
@dataclass(frozen=True)
class CheckpointState:
    """The content of a checkpoint besides tensors, for resuming training and for using the weights."""

    step: WholeNumber
    model: ModelConfig  # of the configuration
    source_vocabulary: WholeNumber
    target_vocabulary: WholeNumber
    subword: dict[str, str]  # SHA-256 of each subword model by file name
    data: str = ""  # fingerprint of the prepared data, with augmentation
    tokens: str = ""  # fingerprint of the prepared data without them
    batch_order: str = ""  # fingerprint of the settings and the version of the plan for which `position` is valid
    normalizer: str = ""  # hash of the normalizer's rules
    normalization: dict[str, bool | str] = field(default_factory=dict)  # `corpus.normalization` of the configuration
    position: dict[str, WholeNumber] = field(default_factory=dict)  # of the next batch in the data
    progress: dict[str, Any] = field(default_factory=dict)  # a `TrainingProgress`
    score: float | None = None  # of these weights by `training.best_metric`; higher is better, so a loss is negative
    average: dict[str, WholeNumber] = field(default_factory=dict)  # counters of the moving average
    averaged_steps: list[WholeNumber] = field(default_factory=list)  # the steps whose mean it is, if it is one

    @property
    def name(self) -> str:
        """The name of its folder."""
        return AVERAGED if self.averaged_steps else f"step-{self.step:06d}"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return asdict(self) | {"model": self.model.model_dump(mode="json")}


@with_config(STRICT)
@dataclass(frozen=True)
class CheckpointDescription:
    """The content of state.json."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    sha256: dict[TensorFile, str]
    bytes: dict[TensorFile, WholeNumber]
    state: CheckpointState


_DESCRIPTION: Final = TypeAdapter(CheckpointDescription)


@dataclass(frozen=True)
class PinnedCheckpoint:
    """The checkpoint that a name such as `best` meant when it was resolved, with its checksums of that time.

    So a later move of `best`, or a checkpoint written anew, cannot change which weights are used.
    """

    path: Path
    state: CheckpointState
    sha256: dict[TensorFile, str]
    identity: str  # SHA-256 of state.json, which has the state and the checksums


class DamagedCheckpointError(CheckpointError):
    """A checkpoint is damaged; `damage` names the file and the problem."""

    def __init__(self, damage: str, path: Path) -> None:
        super().__init__(f"damaged checkpoint: {damage}; delete {path}, or restore it from a copy")
        self.damage = damage


def step_folder(folder: Path, step: int) -> Path:
    """Return the folder of the checkpoint at `step`."""
    return folder / f"step-{step:06d}"


def steps_saved(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint in `folder`, damaged or not, ascending."""
    if not folder.is_dir():
        return []
    steps = []
    for path in folder.iterdir():
        name = _STEP_NAME.fullmatch(path.name)
        if name:
            steps.append(int(name[1]))
    return sorted(steps)


def find_checkpoint(folder: Path, name: str) -> Path:
    """Return the folder of the checkpoint `name`: `best`, `last`, `averaged`, a step number or `step-000123`.

    `best` falls back to `last` in a run without validations.

    Raises CheckpointError: the checkpoint is missing; the message lists the existing ones.
    """
    # 1. The name of the folder or link.
    folder_name = f"step-{int(name):06d}" if re.fullmatch(r"[0-9]{1,12}", name) else name
    if folder_name == BEST and not os.path.lexists(folder / BEST):
        folder_name = LAST

    # 2. Without a link `last`, as in a run that was copied without links, take the newest checkpoint.
    steps = steps_saved(folder)
    if folder_name == LAST and steps and not (folder / LAST).is_dir():
        return step_folder(folder, steps[-1])

    # 3. Any other name must exist, and must not be a path, such as `../x`.
    is_valid_name = folder_name in (BEST, LAST, AVERAGED) or _STEP_NAME.fullmatch(folder_name)
    if is_valid_name and (folder / folder_name).is_dir():
        return (folder / folder_name).resolve()
    advice = "make it with `translator average`; " if name == AVERAGED else ""
    raise CheckpointError(f"no checkpoint `{name}` in {folder}; {advice}{other_checkpoints(folder)}")


def other_checkpoints(folder: Path, damaged: Path | None = None) -> str:
    """Return the steps of the checkpoints in `folder`, as text, without the folder `damaged`."""
    steps = [str(step) for step in steps_saved(folder) if step_folder(folder, step) != damaged]
    return f"steps saved: {', '.join(steps) or 'none'}"


def pin_checkpoint(folder: Path, name: str) -> PinnedCheckpoint:
    """Return the checkpoint that `name` means now (see `find_checkpoint`); verify only sizes of tensor files.

    Raises CheckpointError: the checkpoint is missing or damaged.
    """
    path = find_checkpoint(folder, name)
    try:
        return read_checkpoint(path)
    except DamagedCheckpointError as error:
        raise CheckpointError(f"{error}; other {other_checkpoints(folder, path)}") from error


def check_normalizer(state: CheckpointState, rules: NormalizerRules, path: Path) -> None:
    """Raise CheckpointError if the training text of a checkpoint in `path` was not normalized by `rules`."""
    if state.normalizer != rules.sha256:
        raise CheckpointError(
            f"the rules of the normalizer are not those that {path} was trained with: subword/normalizer.json of the "
            "run is missing, or is that of another run; restore the whole run folder from a copy"
        )


def read_checkpoint(path: Path) -> PinnedCheckpoint:
    """Return what state.json says of the checkpoint in `path`, if each tensor file has the size that it names.

    Errors as `load_checkpoint`.
    """
    # 1. Read state.json.
    file = path / STATE_FILE
    try:
        content = file.read_bytes()
        description = read_signed_record(_DESCRIPTION, content)
    except OSError as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error.strerror})", path) from error
    except RecordError as error:
        raise DamagedCheckpointError(f"cannot read {file} ({error})", path) from error

    # 2. Compare it with the folder: its name, because a renamed one would be resumed at a wrong step, and its files.
    step_name = _STEP_NAME.fullmatch(path.name)
    if step_name and int(step_name[1]) != description.state.step:
        raise DamagedCheckpointError(f"{file} is of step {description.state.step}, unlike its folder", path)
    for tensor_file, size in description.bytes.items():
        if not (path / tensor_file).is_file() or (path / tensor_file).stat().st_size != size:
            raise DamagedCheckpointError(f"{path / tensor_file} is missing or has the wrong length", path)
    identity = hashlib.sha256(content).hexdigest()
    return PinnedCheckpoint(path=path, state=description.state, sha256=description.sha256, identity=identity)
