"""`load_translator`: a translator from a run or an exported folder, with torch or CTranslate2 as its engine."""

import contextlib
import logging
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import torch

from translator.checkpoint import find_checkpoint, read_state
from translator.config import Config, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.device import choose_device
from translator.errors import ConfigError, InputError, RunError
from translator.export.export import export_run
from translator.export.index import ExportIndex, is_export, read_index
from translator.export.libraries import require
from translator.export.searcher import Ctranslate2Searcher
from translator.inference import Translator
from translator.inference.loading import identity_of, load_subword
from translator.lock import exclusive
from translator.run_folder import RunFolder
from translator.storage import storage_errors

LOGGER = logging.getLogger("translator")

ENGINES: Final = ("torch", "ctranslate2")
_COMPUTE_TYPES: Final = {"float32": "float32", "bf16": "bfloat16", "int8": "int8"}
"""What CTranslate2 calls each `search.precision`."""
_PATIENCE: Final = 0.2
"""Seconds between two looks at whether another process has done its export."""


def load_translator(
    folder: Path | str | Sequence[Path | str],
    engine: str | None = None,
    *,
    checkpoint: str = "best",
    device: str = "auto",
    search: SearchConfig | None = None,
    overrides: Sequence[str] = (),
) -> Translator:
    """Return the translator of a run or of an exported folder.

    A run that CTranslate2 is to compute is first exported into its folder `export`, once for each checkpoint.

    Args:
        folder: of the run or the export; of several runs torch makes an ensemble.
        engine: `torch` or `ctranslate2`; None takes what the folder is made for, torch for a run.
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
    for one in folders:
        RunFolder.open(one)  # says what a place is that is neither
    indices = {one: read_index(one) for one in folders if is_export(one)}
    for one, index in indices.items():
        _check_use(one, index, engine, checkpoint, alone=len(folders) == 1)
    ready = len(folders) == 1 and folders[0] in indices and indices[folders[0]].format == "ctranslate2"
    if not ready and engine != "ctranslate2":
        return Translator.load(folders, checkpoint=checkpoint, device=device, search=search, overrides=overrides)
    if len(folders) != 1:
        raise InputError("several runs make an ensemble with the engine torch only; leave out --engine ctranslate2")
    if ready:
        return _with_ctranslate2(folders[0], indices[folders[0]], RunFolder(folders[0]), device, search, overrides)
    run = RunFolder.open(folders[0])
    exported, index = exported_beside(run, checkpoint)
    return _with_ctranslate2(exported, index, run, device, search, overrides)


def exported_beside(run: RunFolder, checkpoint: str) -> tuple[Path, ExportIndex]:
    """Return the export of a checkpoint for CTranslate2 inside its run; made if there is none or a damaged one.

    Raises:
        RunError: the run or the checkpoint is damaged or missing.
        InputError: CTranslate2 is not installed.
        StorageError: the run folder cannot be written.
    """
    require("ctranslate2")
    identity = identity_of([run], checkpoint)
    state = read_state(find_checkpoint(run.checkpoints_folder, checkpoint))
    exports = run.path / "export"
    folder = exports / f"ctranslate2-{state.name}-{identity[:12]}"
    with storage_errors(exports):
        exports.mkdir(exist_ok=True)
    with _alone_in(exports):
        if is_export(folder):
            try:
                return folder, read_index(folder)
            except RunError as error:
                LOGGER.warning("%s: it is made again", error)
        if folder.exists():
            shutil.rmtree(folder)
        LOGGER.info("exporting %s for ctranslate2 into %s, once", state.name, folder)
        export_run(run.path, "ctranslate2", folder, checkpoint=checkpoint)
        return folder, read_index(folder)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process exports into `folder`, and keep the others waiting inside the block."""
    while True:
        with exclusive(folder) as alone:
            if alone:
                yield
                return
        time.sleep(_PATIENCE)


def _check_use(folder: Path, index: ExportIndex, engine: str | None, checkpoint: str, *, alone: bool) -> None:
    """Refuse an export that cannot be used as asked."""
    if index.format == "ctranslate2" and not (alone and engine != "torch"):
        raise InputError(
            f"{folder} is an export for CTranslate2, and torch cannot use it; take --engine ctranslate2 with this "
            "folder alone, or name the run itself"
        )
    if checkpoint not in ("best", "last", index.state.name, str(index.state.step)):
        raise InputError(f"{folder} is an export of checkpoint {index.state.name}, and holds no `{checkpoint}`")


def _with_ctranslate2(
    folder: Path,
    index: ExportIndex,
    run: RunFolder,
    device: str,
    search: SearchConfig | None,
    overrides: Sequence[str],
) -> Translator:
    """Return the translator that computes with the export in `folder`, with the settings of `run`."""
    config = run.config(overrides)
    chosen = search or config.search
    place = _place(config, device)
    compute_type = _COMPUTE_TYPES[chosen.precision]
    if place.type == "cuda" and index.quantization == "float16" and compute_type == "float32":
        compute_type = "float16"
    subword = load_subword(run, config, index.state, index.state.name)
    positions = int(index.state.model["max_positions"])
    searcher = Ctranslate2Searcher(
        folder, subword, positions, device=place, compute_type=compute_type, workers=chosen.processes
    )
    return Translator(
        searcher,
        subword,
        Normalizer(config.corpus.normalization),
        chosen,
        config.batching.max_length,
        index.state,
        index.run,
        index.state.name,
        f"{index.identity} in {index.quantization}",
        arithmetic=str(place),
    )


def _place(config: Config, device: str) -> torch.device:
    """Return where CTranslate2 computes; a GPU that only the run asks for is passed over where it is not there."""
    library = require("ctranslate2")
    try:
        chosen = choose_device(config.run.device if device == "auto" else device)
        if chosen.type == "cuda" and library.get_cuda_device_count() == 0:
            raise ConfigError("ctranslate2 finds no CUDA GPU here; use --set run.device=cpu, or --engine torch")
    except ConfigError:
        if device != "auto":
            raise
        return torch.device("cpu")
    return chosen
