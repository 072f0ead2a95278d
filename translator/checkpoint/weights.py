"""From a checkpoint to a model."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from translator.checkpoint.files import load_weights
from translator.checkpoint.names import find_checkpoint, others
from translator.checkpoint.state import CheckpointState, DamagedCheckpointError, check_normalizer
from translator.config import ModelConfig
from translator.errors import CheckpointError
from translator.model import Transformer


def load_model(folder: Path, name: str, device: torch.device) -> tuple[Transformer, CheckpointState]:
    """Build the model of the checkpoint `name` (see `find_checkpoint`) in `folder`, in evaluation mode on `device`.

    Its weights are the moving average where the checkpoint has one. A damaged checkpoint is never replaced by another.

    Raises:
        CheckpointError: there is no such checkpoint, it is damaged, or another normalizer prepared its text.
    """
    path = find_checkpoint(folder, name)
    try:
        state, weights = load_weights(path)
    except DamagedCheckpointError as error:
        raise CheckpointError(f"{error}; {others(folder, path)}") from error
    check_normalizer(state, path)
    model = Transformer(ModelConfig(**state.model), state.source_vocabulary, state.target_vocabulary)
    restore_weights(model, weights, path)
    return model.to(device).eval(), state


def restore_weights(model: Transformer, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Copy saved weights into `model`.

    Raises:
        CheckpointError: names or shapes differ; the message lists them.
    """
    problems = []
    own = model.state_dict()
    for key in sorted(own.keys() | tensors.keys()):
        if key not in tensors:
            problems.append(f"{key} is missing")
        elif key not in own:
            problems.append(f"{key} is not a weight of this model")
        elif own[key].shape != tensors[key].shape:
            problems.append(f"{key} is {tuple(tensors[key].shape)}, expected {tuple(own[key].shape)}")
    if problems:
        listed = "; ".join(problems[:8]) + ("; ..." if len(problems) > 8 else "")
        raise CheckpointError(f"the weights in {path} do not fit the model: {listed}")
    model.load_state_dict(dict(tensors))
