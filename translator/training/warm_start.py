"""Warm start: copies matching weights of another run into a new one, as for fine-tuning, and logs which.

V vocabulary, D model width
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torch import Tensor

from translator.checkpoint.files import load_weights
from translator.checkpoint.state import STATE_FILE, CheckpointState, find_checkpoint
from translator.config import Config
from translator.corpus.normalizer_rules import NormalizerRules
from translator.errors import CheckpointError, RunError, SubwordError
from translator.model import Transformer
from translator.run.folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair

SOURCE_TABLE: Final = "source_embedding.tokens.weight"
TARGET_TABLE: Final = "own_target_embedding.tokens.weight"
HEAD: Final = "own_head.weight"
_TABLES: Final = {SOURCE_TABLE: "source embedding", TARGET_TABLE: "target embedding", HEAD: "output head"}
"""Weights with one row per piece of a vocabulary."""
_SHAPELESS_SETTINGS: Final = ("heads", "norm", "activation", "positions")
"""Settings of the model that have no effect on the shapes of its weights."""

Weights = Mapping[str, Tensor]


def initial_checkpoint(config: Config) -> Path:
    """Return the checkpoint folder of `training.initialize_from` (the best one of a run), or raise RunError."""
    assert config.training.initialize_from is not None
    path = Path(config.training.initialize_from)
    advice = "set training.initialize_from to the folder of another run, or of one of its checkpoints"
    new_run = Path(config.run.directory).resolve()
    if new_run in (path.resolve(), *path.resolve().parents):
        raise RunError(f"training.initialize_from is {path}, the run to be trained; {advice}, or leave it out")
    if (path / STATE_FILE).is_file():
        return path.resolve()
    run = RunFolder(path)
    if not run.config_file.is_file():
        raise RunError(f"training.initialize_from is {path}, which is neither a run nor a checkpoint; {advice}")
    return find_checkpoint(run.checkpoints_folder, "best")


def initialize(model: Transformer, subword: SubwordPair, config: Config, rules: NormalizerRules) -> list[str]:
    """Copy matching weights of `training.initialize_from` into the new `model`; return log lines.

    The source is the moving average of the checkpoint, or else its weights. A weight of the same name and shape
    is copied. If the subword models differ and those of the other run are available, rows of embeddings and output head
    are matched by the text of their pieces. `rules` of the normalizer made the text of the new run.

    Raises:
        RunError: as `initial_checkpoint`.
        CheckpointError: the checkpoint is damaged, or none of its weights match.
    """
    path = initial_checkpoint(config)
    parent = _Parent(path, *load_weights(path))
    kind = "moving average of the weights" if parent.state.average else "weights"
    lines = [f"starting from the {kind} of {path}", *_cautions(parent.state, config, rules)]
    new_weights = model.state_dict()  # shares its memory with the model

    # Layers: weights of the same name and shape.
    layer_names = new_weights.keys() - _TABLES.keys()
    copied_names = _matching_names(new_weights, parent.weights)
    for name in copied_names:
        new_weights[name].copy_(parent.weights[name])
    lines.append(f"layers: {len(copied_names)} of {len(layer_names)} tensors copied")
    new_modules = {name.rpartition(".")[0] for name in layer_names - copied_names}
    if new_modules:
        lines.append(f"newly initialized: {', '.join(sorted(new_modules))}")

    # Tables: rows of the same piece.
    copied_rows = 0
    for name, title in _TABLES.items():
        if name in new_weights:
            rows, line = _copy_rows(name, new_weights[name], parent, subword)
            copied_rows += rows
            lines.append(f"{title}: {line}")

    if not copied_names and not copied_rows:
        raise CheckpointError(
            f"no weight of {path} fits the new model: {'; '.join(lines[1:])}. Use the settings of that run "
            "(above all model.d_model), or leave training.initialize_from out"
        )
    return lines


@dataclass(frozen=True)
class _Parent:
    """The checkpoint that the new model starts from."""

    path: Path
    state: CheckpointState
    weights: Weights

    def table(self, name: str) -> Tensor:
        """Return a table (V, D) by its name in `_TABLES`; a tied one is missing, and equals the one before it."""
        source_table = self.weights[SOURCE_TABLE]
        target_table = self.weights.get(TARGET_TABLE, source_table)
        head = self.weights.get(HEAD, target_table)
        return {SOURCE_TABLE: source_table, TARGET_TABLE: target_table, HEAD: head}[name]

    def subword(self) -> SubwordPair | None:
        """Return the subword models of the checkpoint, or None if its run folder lacks them."""
        try:
            pair = SubwordPair.load(RunFolder(self.path.parent.parent).subword_folder)
        except SubwordError:
            return None
        return pair if pair.sha256 == self.state.subword else None


def _matching_names(new_weights: Weights, parent_weights: Weights) -> set[str]:
    """Return the names of weights with the same shape in both models, without tables."""
    same_shape = set()
    for name in new_weights.keys() & parent_weights.keys() - _TABLES.keys():
        if new_weights[name].shape == parent_weights[name].shape:
            same_shape.add(name)
    # A bias is copied only together with its matrix.
    matching = set()
    for name in same_shape:
        matrix = name.removesuffix("bias") + "weight" if name.endswith(".bias") else name
        if matrix in same_shape or matrix not in new_weights:
            matching.add(name)
    return matching


def _cautions(state: CheckpointState, config: Config, rules: NormalizerRules) -> list[str]:
    """Return a line for each setting that the shapes do not show and that differs from that of the checkpoint."""
    settings = []  # name, value in the checkpoint, value in the new run
    for key in _SHAPELESS_SETTINGS:
        settings.append((f"model.{key}", getattr(state.model, key), getattr(config.model, key)))
    for key, rule in config.corpus.normalization.model_dump(mode="json").items():
        settings.append((f"corpus.normalization.{key}", state.normalization.get(key, rule), rule))
    if state.normalizer:
        settings.append(("the hash of the normalizer's rules", state.normalizer, rules.sha256))
    else:
        settings.append(("the version of the normalizer", state.normalizer_version, rules.version))

    lines = []
    for name, old_value, new_value in settings:
        if old_value != new_value:
            lines.append(f"caution: {name} is {new_value}, but the weights were trained with {old_value}")
    return lines


def _copy_rows(name: str, new_table: Tensor, parent: _Parent, subword: SubwordPair) -> tuple[int, str]:
    """Copy the rows of a table (V, D) whose pieces match; return their number and what the log says about them."""
    old_table = parent.table(name)
    if new_table.size(1) != old_table.size(1):
        widths = f"{new_table.size(1)} here and {old_table.size(1)} in that run"
        return 0, f"newly initialized, since its width is {widths}"

    # The same subword model numbers pieces in the same way.
    is_source = name == SOURCE_TABLE
    new_model = subword.source if is_source else subword.target
    own_hash = parent.state.subword.get(SOURCE_FILE if is_source else TARGET_FILE)
    old_hash = parent.state.subword.get(JOINT_FILE, own_hash)
    if new_model.sha256 == old_hash:
        new_table.copy_(old_table)
        return len(new_table), f"all {len(new_table):,} pieces copied"

    # Another subword model: match pieces by their text.
    old_subword = parent.subword()
    if old_subword is None:
        return 0, "newly initialized, since the subword models differ and those of that run are not available"
    old_model = old_subword.source if is_source else old_subword.target
    old_pieces = old_model.pieces_of(range(old_model.vocabulary_size))
    old_row_of_piece = {piece: row for row, piece in enumerate(old_pieces)}
    new_rows = []
    old_rows = []
    for row, piece in enumerate(new_model.pieces_of(range(new_model.vocabulary_size))):
        if piece in old_row_of_piece:
            new_rows.append(row)
            old_rows.append(old_row_of_piece[piece])
    new_table[new_rows] = old_table[old_rows]
    matches = f"{len(new_rows):,} of {len(new_table):,} pieces matched by text"
    return len(new_rows), f"{matches}, the others newly initialized"
