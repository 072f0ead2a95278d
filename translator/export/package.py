"""Export of a run to a folder for other programs, which appears whole or not at all."""

import shutil
from pathlib import Path
from typing import Final

import torch

from translator.checkpoint.files import load_model, write_checkpoint
from translator.checkpoint.state import MODEL_FILE, pin_checkpoint, step_folder
from translator.config import Config, ModelConfig, resolved_yaml
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import InputError, RunError
from translator.export.marian import marian_obstacles, write_marian_weights
from translator.export.marian_tokenizer import write_marian_tokenizer
from translator.export.model_card import licence_warnings, model_card
from translator.inference.engines.ctranslate2_writer import write_ctranslate2
from translator.inference.engines.exported import CARD_FILE, ExportIndex, is_export, read_index, write_index
from translator.inference.engines.run_subword import load_subword
from translator.run.files import new_folder, write_text
from translator.run.folder import MARK, RunFolder
from translator.run.logging import LOGGER

QUANTIZATIONS: Final = {
    "ctranslate2": ("float32", "float16", "bfloat16", "int16", "int8"),
    "marian": ("float32", "float16", "bfloat16"),
    "safetensors": ("float32",),
}
"""The formats, and the supported types of weights; the first is the default."""
_SEARCH_PRECISIONS: Final = {"float32": "auto", "bfloat16": "bf16", "int8": "int8"}
"""`search.precision` for a type of weights; any other type computes in float32."""


def export_run(
    run_folder: Path | str,
    format: str,
    folder: Path | str,
    *,
    checkpoint: str = "best",
    quantization: str | None = None,
) -> Path:
    """Write the model of a run into `folder`, which is new or empty, and return its path.

    Args:
        run_folder: folder of the run.
        format: `ctranslate2`, `marian` or `safetensors`.
        folder: the destination.
        checkpoint: `best`, `last`, `averaged` or a step number.
        quantization: type of the weights; by default `float32`.

    Raises:
        RunError: the run, its checkpoint or its scores are damaged or missing; or another process writes `folder`.
        InputError: the format does not support this model or type, or a library is missing.
        StorageError: `folder` is not empty, or cannot be written.
    """
    # 1. Check the request before the weights are read, which takes seconds.
    run = RunFolder.open(run_folder)
    target = Path(folder).resolve()
    if is_export(run.path) and read_index(run.path).format == "ctranslate2":
        raise RunError(
            f"{run.path} is an export for CTranslate2 and has no checkpoint to export; give the run folder itself"
        )
    config = run.config()
    # The checkpoint is pinned, since a training may move `best` meanwhile.
    pinned = pin_checkpoint(run.checkpoints_folder, checkpoint)
    weight_type = check_format(format, quantization, pinned.state.model)

    index = ExportIndex(
        format=format,
        quantization=weight_type,
        run=run.path.resolve().name,
        identity=pinned.identity,
        state=pinned.state,
    )

    # 2. Read the model, and write the files of the format, the model card and the index.
    with new_folder(target, replace=False) as unfinished:
        model = load_model(pinned, torch.device("cpu"))
        subword = load_subword(run, pinned.state)
        if format == "ctranslate2":
            write_ctranslate2(unfinished, model, pinned.state.model, subword, weight_type)
            _write_run_files(unfinished, run, config, index)
        elif format == "marian":
            write_marian_weights(unfinished, model, pinned.state.model, config.search, weight_type)
            write_marian_tokenizer(unfinished, run.subword_folder, config.batching.max_length, config.corpus.languages)
            write_text(unfinished / run.normalizer_file.name, rules_of_run(run).to_json())
        else:  # a run folder of one checkpoint
            path = step_folder(unfinished / "checkpoints", pinned.state.step)
            write_checkpoint(path, pinned.state, {MODEL_FILE: model.state_dict()})
            _write_run_files(unfinished, run, config, index)
        write_text(unfinished / CARD_FILE, model_card(index, config, run))
        write_index(unfinished, index)
    for warning in licence_warnings(config):
        LOGGER.warning("%s; check what may be done with the model before you share it", warning)
    return target


def _write_run_files(export: Path, run: RunFolder, config: Config, index: ExportIndex) -> None:
    """Write what makes an export usable like a run: subword models, normalizer, config.yaml, confidence."""
    # The folder of subword models also has the normalizer.
    subword_folder = export / "subword"
    subword_folder.mkdir()
    for file in run.subword_folder.iterdir():
        shutil.copyfile(file, subword_folder / file.name)  # without its mode: a new file obeys the umask
    if run.confidence_file.is_file():
        shutil.copyfile(run.confidence_file, export / run.confidence_file.name)
    precision = _SEARCH_PRECISIONS.get(index.quantization, "float32")
    write_text(export / "config.yaml", _shared_config(config, index.run, precision))


def check_format(name: str, quantization: str | None, config: ModelConfig) -> str:
    """Return the type of the weights in a format; raise InputError if it does not support a model of `config`."""
    types = QUANTIZATIONS[name]
    if quantization is not None and quantization not in types:
        raise InputError(f"{name} cannot hold weights as `{quantization}`; choose one of: {', '.join(types)}")
    obstacles = marian_obstacles(config) if name == "marian" else []
    if obstacles:
        advice = "Export it to ctranslate2 or safetensors, or train one with model.norm: post, model.activation: relu "
        advice += "or gelu, model.positions: sinusoidal"
        raise InputError(
            f"the Marian format of Hugging Face does not support this model: {'; '.join(obstacles)}. {advice}"
        )
    return quantization or types[0]


def _shared_config(config: Config, name: str, precision: str) -> str:
    """Return config.yaml for publication: paths reduced to their last part, and `name` as the run's directory."""
    # Absolute paths would tell strangers about the owner's machine, and fit no other.
    values = config.model_dump(mode="json", context=lambda path: Path(path).name or path)
    values["run"]["directory"] = name
    values["search"]["precision"] = precision
    return f"{MARK}\n{resolved_yaml(Config.model_validate(values))}"
