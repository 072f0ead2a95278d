"""Warm start: copies matching weights of another run into a new one, as for fine-tuning, and logs which.

V vocabulary, D model width
"""

from pathlib import Path
from typing import Final

from torch import Tensor

from translator.checkpoint.files import load_weights
from translator.checkpoint.state import STATE_FILE, CheckpointState, find_checkpoint
from translator.config import Config
from translator.core.transformer import Transformer
from translator.errors import CheckpointError, RunError, SubwordError
from translator.run.folder import RunFolder
from translator.subword import SubwordModel, SubwordPair

SOURCE_TABLE: Final = "source_embedding.tokens.weight"
TARGET_TABLE: Final = "own_target_embedding.tokens.weight"
HEAD: Final = "own_head.weight"
_TABLES: Final = {SOURCE_TABLE: "source embedding", TARGET_TABLE: "target embedding", HEAD: "output head"}
"""Weights with one row per piece of a vocabulary."""


def initial_checkpoint(config: Config) -> Path:
    """Return the checkpoint folder of `training.initialize_from` (the best one of a run), or raise RunError."""
    assert config.training.initialize_from is not None
    path = Path(config.training.initialize_from)
    advice = "set training.initialize_from to the folder of another run, or of one of its checkpoints"
    if (path / STATE_FILE).is_file():
        return path.resolve()
    run = RunFolder(path)
    if not run.config_file.is_file():
        raise RunError(f"training.initialize_from is {path}, which is neither a run nor a checkpoint; {advice}")
    return find_checkpoint(run.checkpoints_folder, "best")


def initialize(model: Transformer, subword: SubwordPair, config: Config) -> list[str]:
    """Copy matching weights of `training.initialize_from` into the new `model`; return log lines.

    The source is the moving average in the checkpoint, or else its weights. In layers, weights of the same name and
    shape match. In embeddings and output head, the rows of pieces with the same text match.

    Raises:
        RunError: as `initial_checkpoint`.
        CheckpointError: the checkpoint is damaged, or none of its weights match.
    """
    path = initial_checkpoint(config)
    state, old_weights = load_weights(path)
    kind = "moving average of the weights" if state.average else "weights"
    lines = [f"starting from the {kind} of {path}"]

    # 1. Layers: weights of the same name and shape.
    new_weights = model.state_dict()  # shares its memory with the model
    layer_names = new_weights.keys() - _TABLES.keys()
    not_copied = []
    has_matrix = False  # whether a matrix or a row is copied; vectors may fit a model of another width, too
    for name in sorted(layer_names):
        if name in old_weights and old_weights[name].shape == new_weights[name].shape:
            new_weights[name].copy_(old_weights[name])
            has_matrix = has_matrix or new_weights[name].dim() > 1
        else:
            not_copied.append(name)
    lines.append(f"layers: {len(layer_names) - len(not_copied)} of {len(layer_names)} tensors copied")
    if not_copied:
        lines.append(f"newly initialized: {', '.join(not_copied)}")

    # 2. Tables: rows of the same piece. A table that the checkpoint lacks was tied to the table before it in `_TABLES`,
    # and has the rows of that one. A table that the new model lacks is tied, too, and needs nothing.
    old_subword = _subword_of(path, state, subword)
    old_table = old_weights[SOURCE_TABLE]
    for name, title in _TABLES.items():
        old_table = old_weights.get(name, old_table)
        if name not in new_weights:
            continue
        new_table = new_weights[name]
        copied_rows = 0
        has_same_width = new_table.size(1) == old_table.size(1)
        if old_subword is not None and has_same_width:
            side = "source" if name == SOURCE_TABLE else "target"
            copied_rows = _copy_rows(new_table, getattr(subword, side), old_table, getattr(old_subword, side))
        has_matrix = has_matrix or copied_rows > 0
        lines.append(f"{title}: {copied_rows:,} of {len(new_table):,} pieces copied, matched by their text")

    # 3. Refuse a model that shares nothing.
    if not has_matrix:
        raise CheckpointError(
            f"no weight of {path} fits the new model: {'; '.join(lines[1:])}. Use the settings of that run "
            "(above all model.d_model), or leave training.initialize_from out"
        )
    return lines


def _subword_of(path: Path, state: CheckpointState, subword: SubwordPair) -> SubwordPair | None:
    """Return the subword models of the checkpoint at `path`; None if they are neither `subword` nor in its run."""
    if state.subword == subword.sha256:
        return subword
    try:
        pair = SubwordPair.load(RunFolder(path.parent.parent).subword_folder)
    except SubwordError:
        return None
    return pair if pair.sha256 == state.subword else None


def _copy_rows(new_table: Tensor, new_model: SubwordModel, old_table: Tensor, old_model: SubwordModel) -> int:
    """Copy the rows of a table (V, D) whose pieces have the same text; return their number."""
    old_pieces = old_model.pieces_of(range(old_model.vocabulary_size))
    old_row_of_piece = {piece: row for row, piece in enumerate(old_pieces)}
    new_rows = []
    old_rows = []
    for row, piece in enumerate(new_model.pieces_of(range(new_model.vocabulary_size))):
        if piece in old_row_of_piece:
            new_rows.append(row)
            old_rows.append(old_row_of_piece[piece])
    new_table[new_rows] = old_table[old_rows]
    return len(new_rows)
