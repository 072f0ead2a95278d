"""A run folder as training leaves it, with weights that were never trained."""

from pathlib import Path

import torch

from translator.checkpoint import CheckpointState, mark_best, save_checkpoint
from translator.config import Config
from translator.data import DataHandler
from translator.model import Transformer
from translator.run_folder import RunFolder


def untrained_run(config: Config, step: int = 5) -> RunFolder:
    """Write configuration, subword models and one checkpoint, the best and last."""
    data = DataHandler(config)
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    run.keep_subword(data.subword_folder)
    add_checkpoint(run, config, data, step)
    return run


def add_checkpoint(run: RunFolder, config: Config, data: DataHandler, step: int) -> None:
    """Save a checkpoint of random weights, and call it the best."""
    source, target = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
    torch.manual_seed(step)
    state = CheckpointState(
        step=step,
        model=config.model.model_dump(mode="json"),
        source_vocabulary=source,
        target_vocabulary=target,
        subword=data.subword.sha256,
        data=data.fingerprint,
    )
    save_checkpoint(run.checkpoints_folder, state, Transformer(config.model, source, target).state_dict(), {})
    mark_best(run.checkpoints_folder, step)
