"""Checkpoints: saved whole or not at all, verified when loaded, never unpickled."""

from translator.checkpoint.files import (
    MODEL_FILE,
    STATE_FILE,
    CheckpointState,
    find_checkpoint,
    load_checkpoint,
    load_model,
    load_weights,
    read_state,
    save_checkpoint,
    step_folder,
    steps_saved,
    verify_checkpoint,
)
from translator.checkpoint.manager import average_run, mark_best

__all__ = ["MODEL_FILE", "STATE_FILE", "CheckpointState", "average_run", "find_checkpoint", "load_checkpoint"]
__all__ += ["load_model", "load_weights", "mark_best", "read_state", "save_checkpoint", "step_folder", "steps_saved"]
__all__ += ["verify_checkpoint"]
