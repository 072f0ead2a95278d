"""Fine-tuning (warm start): a new run takes the weights of another one as far as they fit, and logs what it took."""

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
"""Weights with a row for each piece of a vocabulary."""
_FUNCTION: Final = ("heads", "norm", "activation", "positions")  # settings that change no shape of a weight


def initial_checkpoint(config: Config) -> Path:
    """Return the checkpoint folder that `training.initialize_from` means, of a run its best, or raise RunError."""
    assert config.training.initialize_from is not None
    path = Path(config.training.initialize_from)
    advice = "set training.initialize_from to the folder of another run, or of one of its checkpoints"
    own = Path(config.run.directory).resolve()
    if own in (path.resolve(), *path.resolve().parents):
        raise RunError(f"training.initialize_from is {path}, the run that is to be trained; {advice}, or leave it out")
    if (path / STATE_FILE).is_file():
        return path.resolve()
    if not RunFolder(path).config_file.is_file():
        raise RunError(f"training.initialize_from is {path}, where there is neither a run nor a checkpoint; {advice}")
    return find_checkpoint(RunFolder(path).checkpoints_folder, "best")


def initialize(model: Transformer, subword: SubwordPair, config: Config) -> list[str]:
    """Load the weights that `training.initialize_from` names into the new `model` as far as they fit; return log lines.

    The weights are those that translate: the moving average of a checkpoint where it has one. A weight of the same name
    and shape is taken. Rows of embeddings and output head are matched by the text of their pieces where the subword
    models differ, if the models of that run are at hand.

    Raises:
        RunError: as `initial_checkpoint`.
        CheckpointError: the checkpoint is damaged, or nothing of it fits.
    """
    path = initial_checkpoint(config)
    state, old = load_weights(path)
    own = model.state_dict()
    kind = "moving average of the weights" if state.average else "weights"
    lines = [f"starting from the {kind} of {path}", *_cautions(state, config)]
    alike = {name for name in own.keys() & old.keys() - _TABLES.keys() if own[name].shape == old[name].shape}
    matrices = {name: name.removesuffix("bias") + "weight" for name in alike if name.endswith(".bias")}
    # A bias is taken together with its matrix only.
    taken = {name for name in alike if matrices.get(name, name) in alike or matrices[name] not in own}
    for name in taken:
        own[name].copy_(old[name])  # shares its memory with the model
    rest = own.keys() - _TABLES.keys()
    lines.append(f"layers: {len(taken)} of {len(rest)} tensors taken")
    if fresh := sorted({name.rpartition(".")[0] for name in rest - taken}):
        lines.append(f"starting fresh: {', '.join(fresh)}")
    for name in [name for name in _TABLES if name in own]:
        found, line = _take_rows(name, own[name], old, path, state, subword)
        lines.append(f"{_TABLES[name]}: {line}")
        taken |= {name} if found else set()
    if not taken:
        raise CheckpointError(
            f"nothing of {path} fits the new model: {'; '.join(lines[1:])}. Give it the settings of that one "
            "(above all model.d_model), or leave training.initialize_from out"
        )
    return lines


def _cautions(state: CheckpointState, config: Config) -> list[str]:
    rules = config.corpus.normalization.model_dump(mode="json")
    both = {f"model.{key}": (state.model.get(key), getattr(config.model, key)) for key in _FUNCTION}
    both |= {f"corpus.normalization.{key}": (state.normalization.get(key, now), now) for key, now in rules.items()}
    both["the version of the normalizer"] = state.normalizer_version, NORMALIZER_VERSION
    return [
        f"caution: {key} was {there} there and is {here} here; the weights were trained for the former"
        for key, (there, here) in both.items()
        if there != here
    ]


def _take_rows(
    name: str, own: Tensor, old: Mapping[str, Tensor], path: Path, state: CheckpointState, subword: SubwordPair
) -> tuple[int, str]:
    """Copy the rows of a table (V, D) whose pieces are known; return how many, and the line for the log."""
    source = old[SOURCE_TABLE]
    target = old.get(TARGET_TABLE, source)  # tied where it has none of its own
    table = {SOURCE_TABLE: source, TARGET_TABLE: target, HEAD: old.get(HEAD, target)}[name]
    if own.size(1) != table.size(1):
        return 0, f"starts fresh, since it is {table.size(1)} wide there and {own.size(1)} here"
    new, file = (subword.source, SOURCE_FILE) if name == SOURCE_TABLE else (subword.target, TARGET_FILE)
    if state.subword.get(JOINT_FILE, state.subword.get(file)) == new.sha256:
        own.copy_(table)
        return len(own), f"all {len(own):,} pieces taken"
    with contextlib.suppress(SubwordError):
        pair = SubwordPair.load(RunFolder(path.parent.parent).subword_folder)
        if pair.sha256 == state.subword:
            before = pair.source if name == SOURCE_TABLE else pair.target
            rows = {piece: row for row, piece in enumerate(before.pieces_of(range(before.vocabulary_size)))}
            pieces = new.pieces_of(range(new.vocabulary_size))
            found = [(row, rows[piece]) for row, piece in enumerate(pieces) if piece in rows]
            own[[row for row, _ in found]] = table[[row for _, row in found]]
            return len(found), f"{len(found):,} of {len(own):,} pieces found by their text, the rest starts fresh"
    return 0, "starts fresh: the subword models differ, and those of that run are not at hand to match the pieces"
