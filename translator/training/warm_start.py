"""Warm start: the weights of a new run taken from another one, as far as they fit, and an account of it.

V vocabulary, D model width
"""

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from torch import Tensor

from translator.checkpoint import STATE_FILE, CheckpointState, find_checkpoint, load_weights
from translator.config import Config
from translator.corpus.normalize import NORMALIZER_VERSION
from translator.errors import CheckpointError, RunError, SubwordError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.subword import JOINT_FILE, SOURCE_FILE, TARGET_FILE, SubwordPair

SOURCE_TABLE: Final = "source_embedding.tokens.weight"
TARGET_TABLE: Final = "own_target_embedding.tokens.weight"
HEAD: Final = "own_head.weight"
_TABLES: Final = {SOURCE_TABLE: "source embedding", TARGET_TABLE: "target embedding", HEAD: "output head"}
"""Weights with a row for each piece of a vocabulary."""
_FUNCTION: Final = ("heads", "norm", "activation", "positions")
"""Settings that may leave every shape as it is, and yet make another network of the weights."""
_LAYER: Final = re.compile(r"(?:encoder|decoder)\.layers\.[0-9]+")


def initial_checkpoint(config: Config) -> Path:
    """Return the checkpoint folder that `training.initialize_from` stands for: of a run, its best.

    Raises:
        RunError: there is neither a run nor a checkpoint at that path, or it is the run that is to be trained.
        CheckpointError: the run has no checkpoint.
    """
    assert config.training.initialize_from is not None
    path = Path(config.training.initialize_from)
    advice = "set training.initialize_from to the folder of another run, or of one of its checkpoints"
    own = Path(config.run.directory).resolve()
    if path.resolve() == own or own in path.resolve().parents:
        raise RunError(
            f"training.initialize_from is {path}, the very run that is to be trained; {advice}, or leave it out"
        )
    if (path / STATE_FILE).is_file():
        return path.resolve()
    if not RunFolder(path).config_file.is_file():
        raise RunError(f"training.initialize_from is {path}, where there is neither a run nor a checkpoint; {advice}")
    return find_checkpoint(RunFolder(path).checkpoints_folder, "best")


def initialize(model: Transformer, subword: SubwordPair, config: Config) -> list[str]:
    """Load the weights that `training.initialize_from` names into `model`, as far as they fit; return the account.

    The weights are those that translate: the moving average of a checkpoint where it has one. One of the same name and
    shape is taken. Rows of embeddings and output head go by the text of their pieces where the subword models are
    others, if the models of that run are at hand.

    Args:
        model: of a new run, in its initial state.
        subword: the models of the new run.
        config: of the new run.

    Raises:
        RunError: there is no run at that path, or it is this very run.
        CheckpointError: the checkpoint is damaged, or nothing of it fits.
    """
    path = initial_checkpoint(config)
    state, old = load_weights(path)
    spoilt = [name for name, weight in old.items() if not bool(weight.isfinite().all())]
    if spoilt:
        raise CheckpointError(
            f"weights in {path} are not finite ({', '.join(spoilt[:5])}), so nothing can start from them; name another "
            "checkpoint in training.initialize_from"
        )
    own = model.state_dict()
    kind = "moving average of the weights" if state.average else "weights"
    lines = [f"starting from the {kind} of {path}", *_cautions(state, config)]
    taken = _take_alike(own, old)
    lines += _account(own, old, taken)
    vocabularies = _Vocabularies(path, state, subword)
    for name, title in _TABLES.items():
        if name in own:
            rows, line = _take_rows(name, own[name], old, vocabularies)
            lines.append(f"{title}: {line}")
            taken |= {name} if rows else set()
        elif name in old:
            lines.append(f"{title}: tied in the new model, so that one of its own is not used")
    if not taken:
        raise CheckpointError(
            f"nothing of {path} fits the new model: {'; '.join(lines[1:])}. Give it the settings of that one "
            "(above all model.d_model), or leave training.initialize_from out"
        )
    return lines


def _cautions(state: CheckpointState, config: Config) -> list[str]:
    """Return what makes weights that fit mean something else."""
    lines = []
    for key in _FUNCTION:
        before, now = state.model.get(key), getattr(config.model, key)
        if before != now:
            lines.append(f"caution: model.{key} was {before} there and is {now} here, which the weights do not know")
    if state.normalizer_version != NORMALIZER_VERSION:
        lines.append(
            f"caution: their text went through version {state.normalizer_version} of the normalizer, that of this run "
            f"through version {NORMALIZER_VERSION}"
        )
    rules = config.corpus.normalization.model_dump(mode="json")
    changed = [key for key in rules if state.normalization and rules[key] != state.normalization.get(key)]
    if changed:
        lines.append(f"caution: their text went through other rules of corpus.normalization ({', '.join(changed)})")
    return lines


def _take_alike(own: Mapping[str, Tensor], old: Mapping[str, Tensor]) -> set[str]:
    """Copy every weight but the tables that has the same name and shape in both; return their names.

    A bias goes with its matrix: beside a fresh one it means nothing.
    """
    alike = {name for name in own.keys() & old.keys() - _TABLES.keys() if own[name].shape == old[name].shape}
    taken = {name for name in alike if _matrix(name) in alike or _matrix(name) not in own}
    for name in taken:
        own[name].copy_(old[name])  # shares its memory with the model
    return taken


def _matrix(name: str) -> str:
    return name.removesuffix(".bias") + ".weight" if name.endswith(".bias") else name


def _account(own: Mapping[str, Tensor], old: Mapping[str, Tensor], taken: set[str]) -> list[str]:
    """Return a line for each part of the model: how many weights were taken, and why the others were not."""
    lines = []
    names = [name for name in own if name not in _TABLES]
    for part in dict.fromkeys(map(_part, names)):
        mine = [name for name in names if _part(name) == part]
        line = f"{part}: {sum(name in taken for name in mine)} of {len(mine)} tensors taken"
        if missing := [name for name in mine if name not in old]:
            line += f"; not there, so they start fresh: {_places(missing)}"
        if reshaped := [name for name in mine if name in old and name not in taken]:
            name = next(name for name in reshaped if own[name].shape != old[name].shape)
            line += (
                f"; {len(reshaped)} start fresh for their shape, or that of their matrix: {name}, for one, is "
                f"{_shape(old[name])} there and {_shape(own[name])} here"
            )
        if unused := [name for name in old if name not in own and name not in _TABLES and _part(name) == part]:
            line += f"; not used: {_places(unused)}"
        lines.append(line)
    return lines


def _part(name: str) -> str:
    first = name.partition(".")[0]
    return first if first in ("encoder", "decoder") else "positions"


def _places(names: list[str]) -> str:
    """Return the layers that tensors are in, each once; of a tensor outside the layers its name."""
    found = (_LAYER.match(name) for name in names)
    return ", ".join(dict.fromkeys(match[0] if match else name for match, name in zip(found, names, strict=True)))


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape))


class _Vocabularies:
    """Which row of the old tables stands for each piece of the new ones.

    Args:
        path: of the checkpoint; the subword models are looked for in the run around it.
        state: of the checkpoint.
        subword: the new models.
    """

    def __init__(self, path: Path, state: CheckpointState, subword: SubwordPair) -> None:
        self._hashes = state.subword
        self._new = subword
        self._old: SubwordPair | None = None
        with contextlib.suppress(SubwordError):
            pair = SubwordPair.load(RunFolder(path.parent.parent).subword_folder)
            self._old = pair if pair.sha256 == state.subword else None

    def rows(self, of_source: bool) -> tuple[list[int], list[int]] | None:
        """Return the new and the old ids of the pieces that both have; None if that cannot be known."""
        new = self._new.source if of_source else self._new.target
        file = SOURCE_FILE if of_source else TARGET_FILE
        everything = list(range(new.vocabulary_size))
        if self._hashes.get(JOINT_FILE, self._hashes.get(file)) == new.sha256:
            return everything, everything
        if self._old is None:
            return None
        old = self._old.source if of_source else self._old.target
        place = {piece: row for row, piece in enumerate(old.pieces_of(range(old.vocabulary_size)))}
        found = [(row, place[piece]) for row, piece in enumerate(new.pieces_of(everything)) if piece in place]
        return [row for row, _ in found], [row for _, row in found]


def _take_rows(name: str, own: Tensor, old: Mapping[str, Tensor], vocabularies: _Vocabularies) -> tuple[int, str]:
    """Copy the rows of a table (V, D) that belong to known pieces; return how many, and what to say of it."""
    source = old[SOURCE_TABLE]
    target = old.get(TARGET_TABLE, source)  # tied where it has none of its own
    table = {SOURCE_TABLE: source, TARGET_TABLE: target, HEAD: old.get(HEAD, target)}[name]
    if own.size(1) != table.size(1):
        return 0, f"starts fresh, since it is {table.size(1)} wide there and {own.size(1)} here"
    rows = vocabularies.rows(of_source=name == SOURCE_TABLE)
    if rows is None:
        return 0, (
            "starts fresh, since the subword models are others (their SHA-256 differ) and those of that run are not "
            "at hand to find the pieces by their text"
        )
    new_rows, old_rows = rows
    own[new_rows] = table[old_rows]
    if new_rows == old_rows and len(own) == len(table) == len(new_rows):
        return len(new_rows), f"all {len(own):,} pieces taken"
    return len(new_rows), (
        f"the subword models are others; {len(new_rows):,} of {len(own):,} pieces found by their text, the rest starts "
        "fresh"
    )
