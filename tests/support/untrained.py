"""A run folder as training leaves it, with weights that were never trained."""

from pathlib import Path

import torch

from translator.checkpoint.files import save_checkpoint
from translator.checkpoint.retention import mark_best
from translator.checkpoint.state import CheckpointState
from translator.config import Config
from translator.core.transformer import Transformer
from translator.corpus.held_out import write_held_out
from translator.data import DataHandler
from translator.data.preparation_report import preparation_report
from translator.run.folder import RunFolder


def untrained_run(config: Config, step: int = 5) -> RunFolder:
    data = DataHandler(config)
    run = RunFolder(Path(config.run.directory))
    run.write(config)
    run.keep_subword(data.subword_folder, data.normalizer.rules.to_json())
    preparation_report(config, data).write(run.preparation_folder)
    write_held_out(run.held_out_folder, "validation", data.held_out("validation"))
    write_held_out(run.held_out_folder, "test", data.held_out("test"))
    add_checkpoint(run, config, data, step)
    return run


def add_checkpoint(run: RunFolder, config: Config, data: DataHandler, step: int) -> None:
    state = CheckpointState(
        step=step,
        model=config.model,
        source_vocabulary=data.subword.source.vocabulary_size,
        target_vocabulary=data.subword.target.vocabulary_size,
        subword=data.subword.sha256,
        data=data.fingerprint,
        tokens=data.token_fingerprint,
        normalizer=data.normalizer.rules.sha256,
    )
    torch.manual_seed(step)
    model = Transformer(config.model.settings, state.source_vocabulary, state.target_vocabulary)
    save_checkpoint(run.checkpoints_folder, state, model.state_dict(), {})
    mark_best(run.checkpoints_folder, step)
