"""Selects and loads the engine, CTranslate2 or torch, for a run or an exported folder."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from translator.checkpoint.state import PinnedCheckpoint, pin_checkpoint
from translator.config import Config, SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.normalizer.normalizer_file import normalizer_of_run
from translator.errors import ConfigError, InputError, RunError, StorageError
from translator.inference.engines.ctranslate2 import Ctranslate2Searcher
from translator.inference.engines.ctranslate2_library import choose_ctranslate2_device, fastest_precision
from translator.inference.engines.exported import ExportIndex, exported_beside, is_export, read_index
from translator.inference.engines.run_subword import load_shared_subword, load_subword
from translator.inference.engines.searcher import Searcher
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.subword import SubwordPair

ENGINES: Final = ("auto", "torch", "ctranslate2")
_GPU_DRIVERS: Final = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # of Nvidia, WSL and AMD
_COMPUTE_TYPES: Final = {"float32": "float32", "bf16": "bfloat16", "int8": "int8"}  # names of CTranslate2


@dataclass
class LoadedModel:
    """What translating needs of a run, an export, or several runs."""

    searcher: Searcher  # the engine, which holds the model
    subword: SubwordPair
    normalizer: Normalizer  # the rules applied to the training text
    search: SearchConfig
    max_length: int  # maximum source length in tokens, EOS included
    label: str = ""  # name of the run, or of the runs joined by `+`
    checkpoint_name: str = ""  # different names of several checkpoints are joined by `+`
    identity: str = ""  # hash of the weights, if they come from files
    threads: int = 0  # `run.threads` of the run, for the command line; translating never changes torch's threads
    confidence_file: Path | None = None  # of a single run or export; it may be missing
    engine: str = ""  # `torch` or `ctranslate2`, if requested by name

    @classmethod
    def load(
        cls,
        folder: Path | str | Sequence[Path | str],
        *,
        engine: str = "auto",
        checkpoint: str = "best",
        device: str = "auto",
        search: SearchConfig | None = None,
        overrides: Sequence[str] = (),
    ) -> Self:
        """Return the translator of a run or of an exported folder, without changing settings of the process.

        Args:
            folder: a run or an export; several runs form an ensemble with the settings of the first.
            engine: `torch` or `ctranslate2`, which first exports the run into its folder `export`, once per checkpoint.
                `auto` selects CTranslate2 on a CPU if it supports the request; otherwise torch, with the reason logged.
            checkpoint: `best`, `last`, `averaged` or a step number, the same for each run; an export has only one.
            device: `cpu`, `mps`, `cuda` or `cuda:N`; `auto` uses the run's, or the CPU if that GPU is missing.
            search: replaces the run's search settings.
            overrides: `key.path=value` for settings that may change after training.

        Raises:
            RunError: a folder is no run or export, or is damaged, or is for Hugging Face; the runs cannot be combined.
            ConfigError: an override or the device is invalid, or the device does not support the precision.
            InputError: the engine cannot use this folder, or is not installed.
        """
        # 1. Open the folders, and refuse what cannot work.
        folders = [folder] if isinstance(folder, Path | str) else folder
        if not folders:
            raise RunError("no run is given; give at least one run folder")
        if engine not in ENGINES:
            raise InputError(f"unknown engine `{engine}`; choose one of: {', '.join(ENGINES)}")
        runs = [RunFolder.open(Path(run)) for run in folders]  # RunError if a folder is neither run nor export
        needs_torch = engine == "torch" or len(runs) > 1  # only torch supports an ensemble
        is_ctranslate2_export = False
        for run in runs:
            if not is_export(run.path):
                continue
            index = read_index(run.path)
            if index.format == "ctranslate2":
                if needs_torch:
                    advice = "use --engine ctranslate2 with this folder alone, or give the run folder itself"
                    raise InputError(f"{run.path} is an export for CTranslate2, and torch cannot use it; {advice}")
                is_ctranslate2_export = True
            name = index.state.name
            if checkpoint not in ("best", "last", name, str(index.state.step)):
                raise InputError(f"{run.path} is an export of checkpoint {name} only; it has no `{checkpoint}`")

        # 2. Resolve the settings and the checkpoint. A name such as `best` is resolved here and nowhere else: a
        # training that still runs may move it at any time.
        configs = [run.config(overrides) for run in runs]
        if search is not None:
            configs[0] = configs[0].model_copy(update={"search": search})
        checkpoints = []
        if not is_ctranslate2_export:
            checkpoints = [pin_checkpoint(run.checkpoints_folder, checkpoint) for run in runs]

        # 3. Choose the device: `auto` is the run's, or the CPU if that is missing; a device named here must exist. Each
        # engine asks its own library which devices it can use.
        uses_ctranslate2 = is_ctranslate2_export or engine == "ctranslate2"
        choose_device = choose_ctranslate2_device if uses_ctranslate2 else _choose_device
        place = choose_device(configs[0].run.device if device == "auto" else device, must_exist=device != "auto")
        if configs[0].search.precision == "bf16" and place == "cpu":
            remedy = "on a CPU, set search.precision=float32, or int8 for the ctranslate2 engine"
            raise ConfigError(f"search.precision is `bf16`, which needs a GPU; {remedy}")

        # 4. Load the engine.
        if uses_ctranslate2:
            model = _with_ctranslate2(runs, configs[0], checkpoints, place)
        elif engine == "auto" and place == "cpu":
            model = _with_fastest(runs, configs, checkpoints)
        else:
            model = _with_torch(runs, configs, checkpoints, place)
        model.engine = "" if engine == "auto" else engine
        if len(runs) == 1:
            model.confidence_file = runs[0].confidence_file
        return cls(**vars(model))  # a Translator has the fields of its LoadedModel, and no others


def _with_fastest(
    runs: Sequence[RunFolder], configs: Sequence[Config], checkpoints: Sequence[PinnedCheckpoint]
) -> LoadedModel:
    """Return the model on the CPU: with CTranslate2 if it can do what is requested, otherwise with torch."""
    if len(runs) > 1:
        reason = "several runs make an ensemble"
    elif configs[0].search.method == "sampling":
        reason = "sampling with CTranslate2 is not reproducible"
    else:
        try:
            return _with_ctranslate2(runs, configs[0], checkpoints, "cpu")
        # CTranslate2 is missing or lacks something, or the run is read-only and cannot keep the exported model.
        except (InputError, StorageError) as error:
            reason = str(error)
    LOGGER.info("translating with the torch engine: %s", reason)
    return _with_torch(runs, configs, checkpoints, "cpu")


def _with_torch(
    runs: Sequence[RunFolder], configs: Sequence[Config], checkpoints: Sequence[PinnedCheckpoint], device: str
) -> LoadedModel:
    """Return the model of one run, or an ensemble of several, on torch."""
    from translator.inference.engines.torch_searcher import load_searcher

    search = configs[0].search
    if search.precision == "auto":  # means int8 where that is faster, but torch does not compute in int8
        search = search.model_copy(update={"precision": "float32"})
    searcher = load_searcher(checkpoints, search, device)
    different_names = dict.fromkeys(checkpoint.state.name for checkpoint in checkpoints)  # in order
    return LoadedModel(
        searcher=searcher,
        # The models of an ensemble average their probabilities, so an id must mean the same piece in all of them.
        subword=load_shared_subword(runs, configs, checkpoints),
        normalizer=normalizer_of_run(runs[0], configs[0]),
        search=search,
        max_length=min(config.batching.max_length for config in configs),
        label="+".join(run.path.resolve().name for run in runs),
        checkpoint_name="+".join(different_names),
        identity="+".join(checkpoint.identity for checkpoint in checkpoints),
        threads=configs[0].run.threads,
    )


def _with_ctranslate2(
    runs: Sequence[RunFolder], config: Config, checkpoints: Sequence[PinnedCheckpoint], device: str
) -> LoadedModel:
    """Return the model of one run, or of an export for CTranslate2, on a device that CTranslate2 can use.

    For an export, `checkpoints` is empty: it has none that torch could read.
    """
    if len(runs) != 1:
        raise InputError("only the torch engine supports an ensemble of several runs; leave out --engine ctranslate2")
    (run,) = runs

    # 1. Find the exported model.
    folder = exported_beside(run, checkpoints[0]) if checkpoints else run.path
    index = read_index(folder)

    # 2. Load it.
    subword = load_subword(run, index.state)
    search = config.search
    if search.precision == "auto":
        search = search.model_copy(update={"precision": fastest_precision(device)})
        LOGGER.info("translating in %s (search.precision: auto)", search.precision)
    searcher = Ctranslate2Searcher(
        folder,
        subword,
        index.state.model.max_positions,
        device,
        _compute_type(search, index, device),
        workers=search.processes or config.run.threads,
    )

    # 3. CTranslate2 gives no attention for our maps. The torch engine of the checkpoint does; it is loaded on request.
    if checkpoints:
        searcher.load_attention_engine = partial(_for_attention, checkpoints[0], search)
        searcher.gives_attention = True
    return LoadedModel(
        searcher=searcher,
        subword=subword,
        normalizer=normalizer_of_run(run, config),
        search=search,
        max_length=config.batching.max_length,
        label=run.path.resolve().name if checkpoints else index.run,  # a run may have another name than at its export
        checkpoint_name=index.state.name,
        identity=f"{index.identity} in {index.quantization}",
        threads=config.run.threads,
    )


def _compute_type(search: SearchConfig, index: ExportIndex, device: str) -> str:
    """Return the type in which CTranslate2 computes; half precision on a GPU for an export in it."""
    # An export in half precision is meant to be computed in it; float32 would widen the weights again.
    compute_type = _COMPUTE_TYPES[search.precision]
    if device.startswith("cuda") and index.quantization == "float16" and compute_type == "float32":
        return "float16"
    return compute_type


def _for_attention(checkpoint: PinnedCheckpoint, search: SearchConfig) -> Searcher:
    """Return the torch engine of a checkpoint, on the CPU in full precision."""
    from translator.inference.engines.torch_searcher import load_searcher

    # Maps are for looking at, and few: precision matters more than speed.
    exact = search.model_copy(update={"precision": "float32"})
    return load_searcher([checkpoint], exact, "cpu")


def _choose_device(name: str, *, must_exist: bool) -> str:
    """Return the device `name` for torch; if torch cannot use it, the CPU, or ConfigError if it `must_exist`."""
    # Importing torch is slow, so first return the CPU where the answer does not depend on torch.
    if name == "cpu":
        return "cpu"
    if not must_exist and not _may_have_gpu():
        return "cpu"
    import torch

    from translator.speed.device import choose_device
    from translator.speed.gpu_support import caution_about_gpu

    try:
        device = choose_device(name)
    except ConfigError:
        if must_exist:
            raise
        device = torch.device("cpu")
    caution_about_gpu(name, device)
    return str(device)


def _may_have_gpu() -> bool:
    """Return whether this process can reach the driver of a GPU, without which torch finds none."""
    return sys.platform != "linux" or any(map(os.path.exists, _GPU_DRIVERS))
