"""Runs for translating: which device and precision, and whether subword models and rules fit the checkpoint."""

import hashlib
from collections.abc import Sequence
from typing import Literal

import torch

from translator.checkpoint import STATE_FILE, CheckpointState, find_checkpoint
from translator.checkpoint.files import check_normalizer
from translator.config import Config, TrainingConfig
from translator.errors import CheckpointError, ConfigError, RunError
from translator.model.device import MatmulPrecision, choose_device, choose_rounding, has_bf16
from translator.run.folder import RunFolder
from translator.subword import SubwordPair


def load_subword(run: RunFolder, state: CheckpointState, checkpoint: str) -> SubwordPair:
    """Return the subword models of `run`; raise CheckpointError where they, or its rules, do not fit `checkpoint`."""
    check_normalizer(state, run.path)
    subword = SubwordPair.load(run.subword_folder)
    if subword.sha256 != state.subword:
        raise CheckpointError(
            f"the subword models in {run.subword_folder} are not those that checkpoint `{checkpoint}` was trained "
            "with (checksums differ); restore the whole run folder from a copy"
        )
    rules = run.config().corpus.normalization.model_dump(mode="json")
    if changed := [key for key, value in state.normalization.items() if rules.get(key) != value]:
        raise CheckpointError(
            f"corpus.normalization in {run.config_file} is not what checkpoint `{checkpoint}` was trained with "
            f"({', '.join(changed)}); restore the file from a copy"
        )
    return subword


def check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Raise RunError, with the names of files or keys, where tokens or normalization differ from the first run's."""

    def made_of(config: Config, subword: SubwordPair) -> dict[str, dict[str, object]]:
        rules = config.corpus.normalization.model_dump(mode="json")
        keys = {f"corpus.normalization.{key}": value for key, value in rules.items()}
        keys["corpus.direction"] = config.corpus.direction
        return {"subword models": {**subword.sha256}, "normalization": keys}

    first = made_of(configs[0], subwords[0])
    for run, config, subword in zip(runs, configs, subwords, strict=True):
        for what, theirs in made_of(config, subword).items():
            ours = first[what]
            if changed := sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)):
                raise RunError(
                    f"{runs[0].path} and {run.path} make no ensemble: they differ in {what} ({', '.join(changed)}), so "
                    "that a token of one means another in the other; use runs trained on the same prepared corpus"
                )


def identity_of(runs: Sequence[RunFolder], checkpoint: str) -> str:
    """Return a hash of the descriptions of these checkpoints, which hold the checksums of their tensors."""
    files = [find_checkpoint(run.checkpoints_folder, checkpoint) / STATE_FILE for run in runs]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def device_for(config: Config, asked: str) -> torch.device:
    """Return the device that is asked for, else raise ConfigError; `auto` is the run's, or the CPU without its GPU."""
    if asked != "auto":
        return choose_device(asked)
    try:
        return choose_device(config.run.device)
    except ConfigError:
        return torch.device("cpu")


def search_precision(precision: str, device: torch.device) -> Literal["float32", "bf16"]:
    """Return `search.precision` where torch computes it on `device`, else raise ConfigError."""
    if precision == "float32":
        return "float32"
    if precision == "bf16" and has_bf16(device):
        return "bf16"
    problem = "this processor computes only by way of float32;"
    if precision == "int8":
        problem = "only the engine ctranslate2 computes; add --engine ctranslate2, or"
    raise ConfigError(f"search.precision is `{precision}`, which {problem} set search.precision=float32")


def search_rounding(device: torch.device, training: TrainingConfig) -> MatmulPrecision:
    """Return how float32 products round in a search: on a CPU, where few rows do not pay for it, not at all."""
    return "highest" if device.type == "cpu" else choose_rounding(device, training.matmul_precision)
