"""`load_translator`: a translator from a run or an exported folder, with torch or CTranslate2 as its engine."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import filelock
import torch

from translator.checkpoint import find_checkpoint, read_state
from translator.config import Config, SearchConfig
from translator.corpus.normalizer import Normalizer
from translator.errors import ConfigError, InputError, RunError
from translator.export.ctranslate2 import Ctranslate2Searcher, require
from translator.export.package import ExportIndex, export_run, is_export, read_index
from translator.inference.loading import device_for, identity_of, load_subword
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.run.storage import storage_errors

LOGGER = logging.getLogger("translator")
ENGINES: Final = ("torch", "ctranslate2")
_COMPUTE_TYPES: Final = {"float32": "float32", "bf16": "bfloat16", "int8": "int8"}  # names of CTranslate2


def load_translator(
    folder: Path | str | Sequence[Path | str],
    engine: str | None = None,
    *,
    checkpoint: str = "best",
    device: str = "auto",
    search: SearchConfig | None = None,
    overrides: Sequence[str] = (),
) -> Translator:
    """Return the translator of a run or of an exported folder; no setting of the process changes.

    For CTranslate2 a run is first exported into its folder `export`, once for each checkpoint.

    Args:
        folder: of the run or the export; with torch, several make an ensemble.
        engine: `torch` or `ctranslate2`; None means what the folder is made for, torch for a run.
        checkpoint: `best`, `last`, `averaged` or a step number; an export has one only.
        device: `cpu`, `cuda` or `cuda:N`; `auto` takes the run's, or the CPU if that GPU is not there.
        search: in place of the run's own search settings.
        overrides: `key.path=value` for settings that may change after training.

    Raises:
        RunError: the folder is neither, or is damaged; or the export is for Hugging Face.
        ConfigError: an override, the device or the precision is wrong.
        InputError: the engine cannot use this folder, or is not installed.
    """
    folders = [Path(folder)] if isinstance(folder, Path | str) else [Path(one) for one in folder]
    if engine is not None and engine not in ENGINES:
        raise InputError(f"there is no engine `{engine}`; choose one of: {', '.join(ENGINES)}")
    runs = [RunFolder.open(one) for one in folders]  # its errors say what a folder is that is neither
    indexes = [read_index(run.path, verify=False) if is_export(run.path) else None for run in runs]
    for run, index in zip(runs, indexes, strict=True):
        if index and index.format == "ctranslate2":
            if engine == "torch" or len(runs) > 1:
                advice = "use --engine ctranslate2 with this folder alone, or name the run itself"
                raise InputError(f"{run.path} is an export for CTranslate2, and torch cannot use it; {advice}")
            engine = "ctranslate2"
        if index and checkpoint not in ("best", "last", index.state.name, str(index.state.step)):
            raise InputError(f"{run.path} is an export of checkpoint {index.state.name}, and holds no `{checkpoint}`")
    if engine != "ctranslate2":
        return Translator.load(folders, checkpoint=checkpoint, device=device, search=search, overrides=overrides)
    if len(runs) != 1:
        raise InputError("several runs make an ensemble with the engine torch only; leave out --engine ctranslate2")
    (run,), (index,) = runs, indexes
    config = run.config(overrides)
    if index and index.format == "ctranslate2":
        exported, index = run.path, read_index(run.path)
    else:
        exported, index = exported_beside(run, checkpoint)
    return _with_ctranslate2(exported, index, run, config, search or config.search, device)


def _with_ctranslate2(
    folder: Path, index: ExportIndex, run: RunFolder, config: Config, search: SearchConfig, device: str
) -> Translator:
    place = device_for(config, device)
    if place.type == "cuda" and require("ctranslate2").get_cuda_device_count() == 0:
        if device != "auto":
            raise ConfigError("ctranslate2 finds no CUDA GPU here; use --set run.device=cpu, or --engine torch")
        place = torch.device("cpu")
    compute_type = _COMPUTE_TYPES[search.precision]
    if place.type == "cuda" and index.quantization == "float16" and compute_type == "float32":
        compute_type = "float16"
    subword = load_subword(run, index.state, index.state.name)
    positions = int(index.state.model["max_positions"])
    return Translator(
        Ctranslate2Searcher(folder, subword, positions, place, compute_type, search.processes),
        subword,
        Normalizer(config.corpus.normalization),
        search,
        config.batching.max_length,
        index.run,
        index.state.name,
        f"{index.identity} in {index.quantization}",
        config.run.threads,
    )


def exported_beside(run: RunFolder, checkpoint: str) -> tuple[Path, ExportIndex]:
    """Return the export of a checkpoint for CTranslate2 inside its run; made if there is none or a damaged one."""
    require("ctranslate2")
    state = read_state(find_checkpoint(run.checkpoints_folder, checkpoint))
    exports = run.path / "export"
    folder = exports / f"ctranslate2-{state.name}-{identity_of([run], checkpoint)[:12]}"
    with storage_errors(exports):
        exports.mkdir(exist_ok=True)
    with filelock.FileLock(exports / ".lock"):
        if is_export(folder):
            try:
                return folder, read_index(folder)
            except RunError as error:
                LOGGER.warning("%s: it is made again", error)
        shutil.rmtree(folder, ignore_errors=True)
        LOGGER.info("exporting %s for ctranslate2 into %s, once", state.name, folder)
        export_run(run.path, "ctranslate2", folder, checkpoint=checkpoint)
        return folder, read_index(folder, verify=False)
