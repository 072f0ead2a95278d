"""Fine-tuning (warm start): copies matching weights of another run into a new one, and logs which."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from torch import Tensor

from translator.checkpoint.files import load_weights
from translator.checkpoint.state import STATE_FILE, CheckpointState, find_checkpoint
from translator.config import Config
from translator.corpus.normalizer import NORMALIZER_VERSION
from translator.errors import CheckpointError, RunError, SubwordError
from translator.model import Transformer
from translator.run.folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair

SOURCE_TABLE: Final = "source_embedding.tokens.weight"
TARGET_TABLE: Final = "own_target_embedding.tokens.weight"
HEAD: Final = "own_head.weight"
_TABLES: Final = {SOURCE_TABLE: "source embedding", TARGET_TABLE: "target embedding", HEAD: "output head"}
"""Weights with one row per piece of a vocabulary."""
_FUNCTION: Final = ("heads", "norm", "activation", "positions")  # settings without effect on the shapes of weights


def initial_checkpoint(config: Config) -> Path:
    """Return the checkpoint folder of `training.initialize_from` (the best one of a run), or raise RunError."""
    assert config.training.initialize_from is not None
    path = Path(config.training.initialize_from)
    advice = "set training.initialize_from to the folder of another run, or of one of its checkpoints"
    own = Path(config.run.directory).resolve()
    if own in (path.resolve(), *path.resolve().parents):
        raise RunError(f"training.initialize_from is {path}, the run to be trained; {advice}, or leave it out")
    if (path / STATE_FILE).is_file():
        return path.resolve()
    if not RunFolder(path).config_file.is_file():
        raise RunError(f"training.initialize_from is {path}, which is neither a run nor a checkpoint; {advice}")
    return find_checkpoint(RunFolder(path).checkpoints_folder, "best")


def initialize(model: Transformer, subword: SubwordPair, config: Config) -> list[str]:
    """Copy matching weights of `training.initialize_from` into the new `model`; return log lines.

    The source is the moving average of the checkpoint, or else its weights. A weight of the same name and shape
    is copied. If the subword models differ and those of the other run are available, rows of embeddings and output head
    are matched by the text of their pieces.

    Raises:
        RunError: as `initial_checkpoint`.
        CheckpointError: the checkpoint is damaged, or none of its weights match.
    """
    path = initial_checkpoint(config)
    state, old = load_weights(path)
    own = model.state_dict()
    kind = "moving average of the weights" if state.average else "weights"
    lines = [f"starting from the {kind} of {path}", *_cautions(state, config)]
    alike = {name for name in own.keys() & old.keys() - _TABLES.keys() if own[name].shape == old[name].shape}
    matrices = {name: name.removesuffix("bias") + "weight" for name in alike if name.endswith(".bias")}
    # A bias is copied only together with its matrix.
    taken = {name for name in alike if matrices.get(name, name) in alike or matrices[name] not in own}
    for name in taken:
        own[name].copy_(old[name])  # shares its memory with the model
    rest = own.keys() - _TABLES.keys()
    lines.append(f"layers: {len(taken)} of {len(rest)} tensors copied")
    if fresh := sorted({name.rpartition(".")[0] for name in rest - taken}):
        lines.append(f"newly initialized: {', '.join(fresh)}")
    for name in [name for name in _TABLES if name in own]:
        found, line = _take_rows(name, own[name], old, path, state, subword)
        lines.append(f"{_TABLES[name]}: {line}")
        taken |= {name} if found else set()
    if not taken:
        raise CheckpointError(
            f"no weight of {path} fits the new model: {'; '.join(lines[1:])}. Use the settings of that run "
            "(above all model.d_model), or leave training.initialize_from out"
        )
    return lines


def _cautions(state: CheckpointState, config: Config) -> list[str]:
    rules = config.corpus.normalization.model_dump(mode="json")
    both = {f"model.{key}": (state.model.get(key), getattr(config.model, key)) for key in _FUNCTION}
    both |= {f"corpus.normalization.{key}": (state.normalization.get(key, now), now) for key, now in rules.items()}
    both["the version of the normalizer"] = state.normalizer_version, NORMALIZER_VERSION
    return [
        f"caution: {key} is {here}, but the weights were trained with {there}"
        for key, (there, here) in both.items()
        if there != here
    ]


def _take_rows(
    name: str, own: Tensor, old: Mapping[str, Tensor], path: Path, state: CheckpointState, subword: SubwordPair
) -> tuple[int, str]:
    """Copy the rows of a table (V, D) whose pieces match; return their number and a log line."""
    source = old[SOURCE_TABLE]
    target = old.get(TARGET_TABLE, source)  # missing if tied
    table = {SOURCE_TABLE: source, TARGET_TABLE: target, HEAD: old.get(HEAD, target)}[name]
    if own.size(1) != table.size(1):
        return 0, f"newly initialized, since its width is {own.size(1)} here and {table.size(1)} in that run"
    new, file = (subword.source, SOURCE_FILE) if name == SOURCE_TABLE else (subword.target, TARGET_FILE)
    if state.subword.get(JOINT_FILE, state.subword.get(file)) == new.sha256:
        own.copy_(table)
        return len(own), f"all {len(own):,} pieces copied"
    with contextlib.suppress(SubwordError):
        pair = SubwordPair.load(RunFolder(path.parent.parent).subword_folder)
        if pair.sha256 == state.subword:
            before = pair.source if name == SOURCE_TABLE else pair.target
            rows = {piece: row for row, piece in enumerate(before.pieces_of(range(before.vocabulary_size)))}
            pieces = new.pieces_of(range(new.vocabulary_size))
            found = [(row, rows[piece]) for row, piece in enumerate(pieces) if piece in rows]
            own[[row for row, _ in found]] = table[[row for _, row in found]]
            return len(found), f"{len(found):,} of {len(own):,} pieces matched by text, the others newly initialized"
    return 0, "newly initialized, since the subword models differ and those of that run are not available"
