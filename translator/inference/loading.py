"""From run folders to models that fit together, with all that their training text went through."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from translator.checkpoint import STATE_FILE, CheckpointState, find_checkpoint, load_model
from translator.config import Config, SearchConfig
from translator.corpus.normalize import Normalizer
from translator.device import choose_device, has_bf16, use_threads
from translator.errors import CheckpointError, ConfigError, RunError, SubwordError
from translator.inference.torch_searcher import search_rounding
from translator.model import Transformer
from translator.model.prepared import prepare
from translator.run_folder import RunFolder
from translator.storage import storage_errors
from translator.subword import RECORD_FILE, SubwordPair


@dataclass(frozen=True)
class LoadedRuns:
    """One run, or several that make an ensemble."""

    models: list[Transformer]
    states: list[CheckpointState]
    """What the checkpoints say of themselves, in the order of the runs."""
    device: torch.device
    subword: SubwordPair
    normalizer: Normalizer
    search: SearchConfig
    max_length: int
    """Longest source in tokens, EOS included, that all of them were trained on."""
    name: str
    """Of the run, or of the runs joined by `+`."""
    checkpoint_name: str
    """Of the checkpoint, or of the checkpoints joined by `+` where they differ."""
    identity: str
    """Tells these weights from all others."""
    arithmetic: str
    """Device, and how much products of float32 are rounded on it: what may change the last digits of a score."""


def load_runs(
    folders: Sequence[Path | str],
    *,
    checkpoint: str = "best",
    device: str = "auto",
    search: SearchConfig | None = None,
    overrides: Sequence[str] = (),
) -> LoadedRuns:
    """Load the models of runs, made ready to be searched, and set torch's threads and rounding for them.

    Args:
        folders: of the runs.
        checkpoint: `best`, `last`, `averaged` or a step number, the same of each.
        device: `cpu`, `cuda` or `cuda:N`; `auto` takes the first run's, or the CPU if that GPU is not there.
        search: in place of the first run's own search settings.
        overrides: `key.path=value` for settings that may change after training.

    Raises:
        RunError: a run is missing or damaged, or the runs do not fit together.
        ConfigError: an override or the device is wrong, or the device has not the precision that is asked for.
    """
    if not folders:
        raise RunError("no run is given; give at least one run folder")
    runs = [RunFolder.open(folder) for folder in folders]
    configs = [run.config(overrides) for run in runs]
    chosen = _own_or_cpu(configs[0].run.device) if device == "auto" else choose_device(device)
    search = search or configs[0].search
    check_precision(search.precision, chosen)
    loaded = [load_model(run.checkpoints_folder, checkpoint, chosen) for run in runs]
    states = [state for _, state in loaded]
    subwords = [
        load_subword(run, config, state, checkpoint) for run, config, state in zip(runs, configs, states, strict=True)
    ]
    _check_ensemble(runs, configs, subwords)
    use_threads(configs[0].run.threads)
    rounding = search_rounding(chosen, configs[0].training)
    torch.set_float32_matmul_precision(rounding)
    return LoadedRuns(
        [prepare(model, search.precision) for model, _ in loaded],
        states,
        chosen,
        subwords[0],
        Normalizer(configs[0].corpus.normalization),
        search,
        min(config.batching.max_length for config in configs),
        "+".join(run.path.resolve().name for run in runs),
        "+".join(dict.fromkeys(state.name for state in states)),
        identity_of(runs, checkpoint),
        f"{chosen}, {rounding}",
    )


def check_precision(precision: Literal["float32", "bf16", "int8"], device: torch.device) -> None:
    """Make sure that torch can search with `search.precision` on `device`.

    Raises:
        ConfigError: it cannot, or only by way of float32, which would be slower and no more exact.
    """
    if precision == "bf16" and not has_bf16(device):
        raise ConfigError(
            "search.precision is `bf16`, which this processor computes only by way of float32; take `float32` or `int8`"
        )
    if precision == "int8" and device.type != "cpu":
        raise ConfigError(
            f"search.precision is `int8`, which torch has on a CPU only, and the device is {device}; take `bf16`"
        )


def load_subword(run: RunFolder, config: Config, state: CheckpointState, checkpoint: str) -> SubwordPair:
    """Return the subword models of `run`, made sure that they and the normalization are those of its checkpoint.

    Args:
        run: the run.
        config: its configuration.
        state: of the checkpoint.
        checkpoint: what the user calls it.

    Raises:
        SubwordError: a model or the record of their making is missing or damaged.
        CheckpointError: the checkpoint was trained with others.
    """
    subword = SubwordPair.load(run.subword_folder)
    if subword.sha256 != state.subword:
        raise CheckpointError(
            f"the subword models in {run.subword_folder} are not those that checkpoint `{checkpoint}` was trained "
            "with (checksums differ); restore the whole run folder from a copy"
        )
    if not (run.subword_folder / RECORD_FILE).is_file():
        raise SubwordError(
            f"{run.subword_folder / RECORD_FILE} is missing, which says how the subword models beside it were made; "
            "the run folder is not whole: restore it from a copy"
        )
    rules = config.corpus.normalization.model_dump(mode="json")
    if state.normalization and state.normalization != rules:
        changed = sorted(key for key in rules if rules[key] != state.normalization.get(key))
        raise CheckpointError(
            f"corpus.normalization in {run.config_file} is not what checkpoint `{checkpoint}` was trained with "
            f"({', '.join(changed)}); restore the file from a copy"
        )
    return subword


def identity_of(runs: Sequence[RunFolder], checkpoint: str) -> str:
    """Return what tells the weights of these checkpoints from all others: a hash of their descriptions.

    The description of a checkpoint holds the checksums of its tensors.

    Raises:
        CheckpointError: there is no such checkpoint.
        StorageError: a description cannot be read.
    """
    whole = hashlib.sha256()
    for run in runs:
        file = find_checkpoint(run.checkpoints_folder, checkpoint) / STATE_FILE
        with storage_errors(file, "read"):
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def _check_ensemble(runs: Sequence[RunFolder], configs: Sequence[Config], subwords: Sequence[SubwordPair]) -> None:
    """Refuse runs whose models do not speak of the same tokens.

    Raises:
        RunError: subword models or normalization differ from those of the first.
    """
    first, rules = runs[0].path, configs[0].corpus.normalization.model_dump(mode="json")
    for run, config, subword in zip(runs[1:], configs[1:], subwords[1:], strict=True):
        files = sorted(
            file
            for file in subword.sha256.keys() | subwords[0].sha256.keys()
            if subword.sha256.get(file) != subwords[0].sha256.get(file)
        )
        if files:
            raise RunError(
                f"{first} and {run.path} make no ensemble: their subword models differ ({', '.join(files)}), so "
                "that a token of one means another in the other; take runs trained on the same prepared corpus"
            )
        own = config.corpus.normalization.model_dump(mode="json")
        changed = sorted(f"corpus.normalization.{key}" for key in rules if rules[key] != own[key])
        if changed:
            raise RunError(
                f"{first} and {run.path} make no ensemble: they read their text otherwise ({', '.join(changed)}); take "
                "runs trained on the same prepared corpus"
            )


def _own_or_cpu(name: str) -> torch.device:
    """Return the device that a run was trained on, or the CPU on a machine that has no such GPU."""
    try:
        return choose_device(name)
    except ConfigError:
        return torch.device("cpu")
