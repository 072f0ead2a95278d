"""From a run to a folder that other programs load: it appears whole or not at all."""

import shutil
from pathlib import Path
from typing import Final

import torch

from translator.checkpoint import MODEL_FILE, CheckpointState, load_model, step_folder
from translator.checkpoint.files import write_checkpoint
from translator.config import Config, ModelConfig, SearchConfig
from translator.errors import InputError, RunError
from translator.export.ctranslate2_weights import write_ctranslate2
from translator.export.formats import Format, check_format
from translator.export.index import CARD_FILE, ExportIndex, is_export, read_index, write_index
from translator.export.marian_tokenizer import write_marian_tokenizer
from translator.export.marian_weights import write_marian_weights
from translator.export.model_card import model_card
from translator.export.shared_config import shared_config
from translator.inference.loading import identity_of, load_subword
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.storage import new_folder, storage_errors, write_text
from translator.subword import SubwordPair

_PRECISIONS: Final = {"bfloat16": "bf16", "int8": "int8"}
"""The `search.precision` that goes with a type of weights; `float32` with all others."""


def export_run(
    run_folder: Path | str,
    format: str,
    folder: Path | str,
    *,
    checkpoint: str = "best",
    quantization: str | None = None,
) -> Path:
    """Write the model of a run into `folder`, for other programs, and return its path.

    Args:
        run_folder: folder of the run.
        format: `ctranslate2`, `marian` or `safetensors`.
        folder: where to; new, or empty.
        checkpoint: `best`, `last`, `averaged` or a step number.
        quantization: type of the weights; by default `float32`.

    Raises:
        RunError: the run, its checkpoint or its scores are damaged or missing.
        InputError: the format cannot say this model or this type, `folder` is not empty, or a library is missing.
        StorageError: the disk is full or the folder cannot be written.
    """
    run = RunFolder.open(run_folder)
    _refuse_other_engines(run.path)
    target = _empty_place(Path(folder))
    config = run.config()
    chosen, weights = check_format(format, quantization, config.model)  # before the weights are read
    model, state = load_model(run.checkpoints_folder, checkpoint, torch.device("cpu"))
    subword = load_subword(run, config, state, checkpoint)
    index = ExportIndex(chosen, weights, run.path.resolve().name, identity_of([run], checkpoint), state)
    with new_folder(target) as beside:
        _write_model(beside, chosen, weights, model, config, state, run, subword)
        if chosen != "marian":
            with storage_errors(target):
                shutil.copytree(run.subword_folder, beside / "subword")
            precision = _PRECISIONS.get(weights, "float32")
            write_text(beside / "config.yaml", shared_config(config, index.run, precision))
        write_text(beside / CARD_FILE, model_card(index, config, run))
        write_index(beside, index)
    return target


def _refuse_other_engines(folder: Path) -> None:
    """Refuse an export whose weights are in CTranslate2's own form.

    Raises:
        RunError: it is one, or a damaged export.
        StorageError: it cannot be read.
    """
    if is_export(folder) and read_index(folder).format == "ctranslate2":
        raise RunError(
            f"{folder} is an export for CTranslate2, which has no checkpoint to export again; name the run itself"
        )


def _write_model(
    folder: Path,
    format: Format,
    weights: str,
    model: Transformer,
    config: Config,
    state: CheckpointState,
    run: RunFolder,
    subword: SubwordPair,
) -> None:
    """Write what is proper to a format."""
    architecture = ModelConfig(**state.model)
    if format == "ctranslate2":
        write_ctranslate2(folder, model, architecture, subword, weights)
    elif format == "marian":
        write_marian_weights(folder, model, architecture, config.search, weights)
        write_marian_tokenizer(folder, run.subword_folder, config.batching.max_length)
    else:  # a run folder of one checkpoint, which all of translator can use
        path = step_folder(folder / "checkpoints", state.step)
        write_checkpoint(path, state, {MODEL_FILE: model.state_dict()})


def export_model_to_ctranslate2(
    model: Transformer,
    config: ModelConfig,
    subword: SubwordPair,
    folder: Path,
    quantization: str = "float32",
) -> Path:
    """Write a model that is in memory into the new `folder` as CTranslate2 loads it, and nothing else.

    Raises:
        InputError: CTranslate2 cannot say this type, or is not installed; or `folder` is not empty.
        StorageError: the folder cannot be written.
    """
    _, weights = check_format("ctranslate2", quantization, config)
    with new_folder(_empty_place(folder)) as beside:
        write_ctranslate2(beside, model, config, subword, weights)
    return folder


def export_model_to_marian(
    model: Transformer,
    config: ModelConfig,
    subword_folder: Path,
    folder: Path,
    search: SearchConfig | None = None,
    max_length: int = 512,
    quantization: str = "float32",
) -> Path:
    """Write a model that is in memory into the new `folder` as Hugging Face loads it, and nothing else.

    Args:
        model: the network.
        config: what it was built from.
        subword_folder: where the subword models are.
        folder: where to.
        search: becomes the defaults of `generate`; those of a recipe without any by default.
        max_length: longest source in tokens, EOS included.
        quantization: type of the weights.

    Raises:
        InputError: Marian cannot say this model or this type, or `folder` is not empty.
        SubwordError: a subword model is missing or damaged.
        StorageError: the folder cannot be written.
    """
    _, weights = check_format("marian", quantization, config)
    with new_folder(_empty_place(folder)) as beside:
        write_marian_weights(beside, model, config, search or SearchConfig(), weights)
        write_marian_tokenizer(beside, subword_folder, max_length)
    return folder


def _empty_place(folder: Path) -> Path:
    """Return the whole path of `folder`, where nothing must be lost.

    Raises:
        InputError: there is something.
        StorageError: it cannot be looked into.
    """
    with storage_errors(folder, "read"):
        try:
            place = folder.expanduser().resolve()
        except RuntimeError as error:  # an unknown person's home, or, before Python 3.13, links in a circle
            raise InputError(f"cannot export to {folder}: {error}") from error
        if place.exists() and not place.is_dir():
            raise InputError(f"cannot export to {folder}: it is a file; name a folder that is not there yet")
        if place.is_dir() and any(place.iterdir()):
            raise InputError(
                f"cannot export to {folder}: the folder is not empty, and nothing in it is ever overwritten; name "
                "another, or delete it first"
            )
    return place
