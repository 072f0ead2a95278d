"""Selects and loads the engine, CTranslate2 or torch, for a run or an exported folder."""

import contextlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import filelock

from translator.checkpoint.state import CheckpointState, PinnedCheckpoint, check_normalizer, pin_checkpoint
from translator.config import Config, SearchConfig
from translator.corpus.normalizer_file import normalizer_of_run, rules_of_run
from translator.errors import CheckpointError, ConfigError, InputError, RunError, StorageError
from translator.inference.ctranslate2 import Ctranslate2Searcher, require
from translator.inference.exported import ExportIndex, is_export, read_index, write_index
from translator.inference.searcher import Searcher
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.storage import storage_errors
from translator.run.work_folders import new_folder
from translator.subword import SubwordPair

ENGINES: Final = ("auto", "torch", "ctranslate2")
_GPU_DRIVERS: Final = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # of Nvidia, WSL and AMD
_SILENT_SECONDS: Final = 1.0  # of waiting for another process before a message says so
_COMPUTE_TYPES: Final = {"float32": "float32", "bf16": "bfloat16", "int8": "int8"}  # names of CTranslate2


def load_translator(
    folders: Sequence[Path],
    engine: str,
    checkpoint: str,
    device: str,
    search: SearchConfig | None,
    overrides: Sequence[str],
) -> Translator:
    """Return the translator of runs or of an export; arguments and errors are those of `Translator.load`."""
    if not folders:
        raise RunError("no run is given; give at least one run folder")
    if engine not in ENGINES:
        raise InputError(f"unknown engine `{engine}`; choose one of: {', '.join(ENGINES)}")
    named = "" if engine == "auto" else engine
    runs = [RunFolder.open(one) for one in folders]  # raises for any other folder, and names its kind
    is_only_model = False
    for run in runs:
        index = read_index(run.path, verify=False) if is_export(run.path) else None
        if index and index.format == "ctranslate2":
            if engine == "torch" or len(runs) > 1:
                advice = "use --engine ctranslate2 with this folder alone, or give the run folder itself"
                raise InputError(f"{run.path} is an export for CTranslate2, and torch cannot use it; {advice}")
            engine, is_only_model = "ctranslate2", True
        if index and checkpoint not in ("best", "last", index.state.name, str(index.state.step)):
            raise InputError(f"{run.path} is an export of checkpoint {index.state.name} only; it has no `{checkpoint}`")
    configs = [run.config(overrides) for run in runs]
    # A name such as `best` is resolved here and nowhere else: a training that still runs may move it at any time.
    checkpoints = [] if is_only_model else [pin_checkpoint(run.checkpoints_folder, checkpoint) for run in runs]
    made = _load(runs, configs, engine, checkpoints, device, search or configs[0].search)
    return replace(made, engine=named)


def _load(
    runs: Sequence[RunFolder],
    configs: Sequence[Config],
    engine: str,
    checkpoints: Sequence[PinnedCheckpoint],
    device: str,
    search: SearchConfig,
) -> Translator:
    """Return the translator of `checkpoints`, one for each run; none for an export for CTranslate2."""
    place = _device_for(configs[0], device)
    if search.precision == "bf16" and place == "cpu":
        remedy = "on a CPU, set search.precision=float32, or int8 for the ctranslate2 engine"
        raise ConfigError(f"search.precision is `bf16`, which needs a GPU; {remedy}")
    if engine == "ctranslate2":
        return _with_ctranslate2(runs, configs[0], checkpoints, search, place, must_have_gpu=device != "auto")
    if engine == "auto" and place == "cpu":
        try:
            if not (reason := _reason_for_torch(runs, search)):
                return _with_ctranslate2(runs, configs[0], checkpoints, search, place)
        except (InputError, StorageError) as error:  # the model is unsupported, or the run is read-only
            reason = str(error)
        LOGGER.info("translating with the torch engine: %s", reason)
    return _with_torch(runs, configs, checkpoints, search, place)


def _reason_for_torch(runs: Sequence[RunFolder], search: SearchConfig) -> str:
    reasons = {
        "several runs make an ensemble": len(runs) > 1,
        "sampling with CTranslate2 is not reproducible": search.method == "sampling",
        "ctranslate2, which is faster, is not installed": importlib.util.find_spec("ctranslate2") is None,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _with_torch(
    runs: Sequence[RunFolder],
    configs: Sequence[Config],
    checkpoints: Sequence[PinnedCheckpoint],
    search: SearchConfig,
    device: str,
) -> Translator:
    from translator.inference.torch_searcher import load_searcher

    searcher = load_searcher(checkpoints, configs[0].training, search, device)
    subwords = [load_subword(run, checkpoint.state) for run, checkpoint in zip(runs, checkpoints, strict=True)]
    check_ensemble(runs, configs, subwords)
    return Translator(
        searcher,
        subwords[0],
        normalizer_of_run(runs[0], configs[0]),
        search,
        min(config.batching.max_length for config in configs),
        "+".join(run.path.resolve().name for run in runs),
        "+".join(dict.fromkeys(checkpoint.state.name for checkpoint in checkpoints)),
        "+".join(checkpoint.identity for checkpoint in checkpoints),
        configs[0].run.threads,
    )


def _with_ctranslate2(
    runs: Sequence[RunFolder],
    config: Config,
    checkpoints: Sequence[PinnedCheckpoint],
    search: SearchConfig,
    device: str,
    *,
    must_have_gpu: bool = False,
) -> Translator:
    if len(runs) != 1:
        raise InputError("only the torch engine supports an ensemble of several runs; leave out --engine ctranslate2")
    (run,), torch_model = runs, None
    if not checkpoints:
        folder, index = run.path, read_index(run.path)
    else:
        folder, index = exported_beside(run, checkpoints[0])
        exact = search.model_copy(update={"precision": "float32"})
        torch_model = partial(_for_attention, checkpoints[0], config, exact)
    if device != "cpu" and require("ctranslate2").get_cuda_device_count() == 0:
        if must_have_gpu:
            raise ConfigError("ctranslate2 finds no CUDA GPU; use --set run.device=cpu, or --engine torch")
        device = "cpu"
    compute_type = _COMPUTE_TYPES[search.precision]
    if device.startswith("cuda") and index.quantization == "float16" and compute_type == "float32":
        compute_type = "float16"
    subword = load_subword(run, index.state)
    positions = index.state.model.max_positions
    workers = search.processes or config.run.threads
    searcher = Ctranslate2Searcher(folder, subword, positions, device, compute_type, workers)
    if torch_model is not None:
        searcher.take_attention_from(torch_model)
    return Translator(
        searcher,
        subword,
        normalizer_of_run(run, config),
        search,
        config.batching.max_length,
        index.run,
        index.state.name,
        f"{index.identity} in {index.quantization}",
        config.run.threads,
    )


def load_subword(run: RunFolder, state: CheckpointState) -> SubwordPair:
    """Return the subword models of `run`; raise CheckpointError if they, or the rules, are not those of `state`."""
    check_normalizer(state, rules_of_run(run), run.path)
    subword = SubwordPair.load(run.subword_folder)
    if subword.sha256 != state.subword:
        raise CheckpointError(
            f"the subword models in {run.subword_folder} are not those that checkpoint `{state.name}` was trained "
            "with (checksums differ); restore the whole run folder from a copy"
        )
    rules = run.config().corpus.normalization.model_dump(mode="json")
    if changed := [key for key, value in state.normalization.items() if rules.get(key) != value]:
        raise CheckpointError(
            f"corpus.normalization in {run.config_file} is not what checkpoint `{state.name}` was trained with "
            f"({', '.join(changed)}); restore the file from a copy"
        )
    return subword


def check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Raise RunError, naming files or keys, if subword models or normalization differ from the first run's."""

    def made_of(run: RunFolder, config: Config, subword: SubwordPair) -> dict[str, dict[str, object]]:
        rules = config.corpus.normalization.model_dump(mode="json")
        keys = {f"corpus.normalization.{key}": value for key, value in rules.items()}
        keys["corpus.direction"] = config.corpus.direction
        keys[run.normalizer_file.name] = rules_of_run(run).sha256
        return {"subword models": {**subword.sha256}, "normalization": keys}

    first = made_of(runs[0], configs[0], subwords[0])
    for run, config, subword in zip(runs, configs, subwords, strict=True):
        for what, theirs in made_of(run, config, subword).items():
            ours = first[what]
            if changed := sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)):
                raise RunError(
                    f"{runs[0].path} and {run.path} cannot be combined: they differ in {what} ({', '.join(changed)}), "
                    "so the same token has different meanings; use runs trained on the same prepared corpus"
                )


def _for_attention(checkpoint: PinnedCheckpoint, config: Config, search: SearchConfig) -> Searcher:
    from translator.inference.torch_searcher import load_searcher

    return load_searcher([checkpoint], config.training, search, "cpu")


def _device_for(config: Config, asked: str) -> str:
    """Return the requested device, or raise ConfigError; `auto` is the run's device, or the CPU if that is missing."""
    name = config.run.device if asked == "auto" else asked
    if name == "cpu" or (asked == "auto" and not _may_have_gpu()):
        return "cpu"  # without importing torch
    from translator.model.device import choose_device

    try:
        return str(choose_device(name))
    except ConfigError:
        if asked != "auto":
            raise
        return "cpu"


def _may_have_gpu() -> bool:
    return sys.platform != "linux" or any(map(os.path.exists, _GPU_DRIVERS))


@contextlib.contextmanager
def _export_lock(file: Path) -> Iterator[None]:
    """Hold the lock `file` while the block runs; say what is waited for if another process holds it."""
    lock = filelock.FileLock(file)
    try:
        lock.acquire(timeout=_SILENT_SECONDS)
    except filelock.Timeout:
        LOGGER.info("waiting for another process that exports this run (lock: %s)", file)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def exported_beside(run: RunFolder, checkpoint: PinnedCheckpoint) -> tuple[Path, ExportIndex]:
    """Return the run's CTranslate2 export of a checkpoint; create it if it is missing or damaged."""
    require("ctranslate2")
    state, identity = checkpoint.state, checkpoint.identity
    exports = run.path / "export"
    folder = exports / f"ctranslate2-{state.name}-{identity[:12]}"
    with contextlib.suppress(RunError):
        if is_export(folder):  # needs no lock, so it works in a read-only run
            return folder, read_index(folder)
    with storage_errors(exports):
        exports.mkdir(exist_ok=True)
    with storage_errors(exports), _export_lock(exports / ".lock"):
        if is_export(folder):  # damaged, or just created by another process
            try:
                return folder, read_index(folder)
            except RunError as error:
                LOGGER.warning("%s: exporting again", error)
        shutil.rmtree(folder, ignore_errors=True)
        import torch

        from translator.checkpoint.files import load_model
        from translator.inference.ctranslate2_writer import write_ctranslate2

        LOGGER.debug("exporting %s for ctranslate2 into %s; later calls reuse it", state.name, folder)
        model = load_model(checkpoint, torch.device("cpu"))
        subword = load_subword(run, state)
        index = ExportIndex("ctranslate2", "float32", run.path.resolve().name, identity, state)
        with new_folder(folder) as beside:
            write_ctranslate2(beside, model, state.model, subword)
            write_index(beside, index)
        return folder, index
