"""Checkpoints: saved whole or not at all, verified when loaded, never unpickled.

checkpoints/step-000123/model.safetensors       raw weights
                        optimizer.safetensors   optimizer moments and random number generators
                        ema.safetensors         moving average of the weights, where the run keeps one
                        state.json              everything else, with the SHA-256 of the files above
checkpoints/last -> step-000123                 the newest
checkpoints/best -> step-000100                 the best by the validation score
checkpoints/averaged/                           the mean of several: model.safetensors and state.json
checkpoints/.damaged-step-000120/               one that was found damaged and passed over
"""

from translator.checkpoint.average import average_checkpoints, average_run
from translator.checkpoint.background import BackgroundWriter, snapshot
from translator.checkpoint.fallback import finish_interrupted_writes, newest_whole, repair
from translator.checkpoint.files import (
    AVERAGE_FILE,
    MODEL_FILE,
    OPTIMIZER_FILE,
    STATE_FILE,
    load_checkpoint,
    load_weights,
    read_state,
    save_checkpoint,
    verify_checkpoint,
)
from translator.checkpoint.names import find_checkpoint, step_folder, steps_saved
from translator.checkpoint.retention import (
    intact_states,
    mark_best,
    ranked_steps,
    remove_old_checkpoints,
)
from translator.checkpoint.space import check_space
from translator.checkpoint.state import CheckpointState, DamagedCheckpointError, LoadedCheckpoint, check_normalizer
from translator.checkpoint.weights import load_model, restore_weights

__all__ = [
    "AVERAGE_FILE",
    "MODEL_FILE",
    "OPTIMIZER_FILE",
    "STATE_FILE",
    "BackgroundWriter",
    "CheckpointState",
    "DamagedCheckpointError",
    "LoadedCheckpoint",
    "average_checkpoints",
    "average_run",
    "check_normalizer",
    "check_space",
    "find_checkpoint",
    "finish_interrupted_writes",
    "intact_states",
    "load_checkpoint",
    "load_model",
    "load_weights",
    "mark_best",
    "newest_whole",
    "ranked_steps",
    "read_state",
    "remove_old_checkpoints",
    "repair",
    "restore_weights",
    "save_checkpoint",
    "snapshot",
    "step_folder",
    "steps_saved",
    "verify_checkpoint",
]
