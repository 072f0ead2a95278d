"""Memory that a model needs in training whatever the batch: its weights, gradients and optimizer state."""

import torch

from translator.config import Config
from translator.errors import ConfigError
from translator.model import Transformer
from translator.run.memory import available_memory

_GIB = 1 << 30
_BYTES_OF_VALUE = 4  # float32
_MOMENTS = {"adamw": 2, "muon": 1}  # of the optimizer, for each weight; Muon has two for some of them


def check_memory(config: Config, device: torch.device, ranks: int = 1) -> None:
    """Raise ConfigError if `device` has too little free memory for training the model of `config`.

    A system that promises more memory than it has kills a process that uses it, so the check comes before training. The
    corpus is not yet prepared, so the vocabularies are those of the recipe.

    Args:
        device: where the model is trained.
        ranks: number of ranks that share the memory of `device`; each has a copy of everything.
    """
    available = _available(device)
    if available is None:
        return
    # For `char`, the recipe has only an upper limit. A model on the device `meta` has shapes only.
    vocabulary = 1 if config.subword.model_type == "char" else config.subword.vocabulary_size
    with torch.device("meta"):
        model = Transformer(config.model, vocabulary, vocabulary)
    parameters = sum(weight.numel() for weight in model.parameters())

    weights = parameters * _BYTES_OF_VALUE
    moments = weights * _MOMENTS[config.training.optimizer]
    parts = [f"its {parameters:,} weights take {_gib(weights)}", f"their gradients {_gib(weights)}"]
    needed = 2 * weights + moments
    if config.training.ema_decay is not None:
        parts.append(f"their moving average {_gib(weights)}")
        needed += weights
    needed *= ranks
    if needed <= available:
        return
    processes = f", for each of the {ranks} processes on this machine" if ranks > 1 else ""
    fewer = ", training.processes" if ranks > 1 else ""
    raise ConfigError(
        f"this model is too large for the memory of {device}: {', '.join(parts)} and the optimizer {_gib(moments)}"
        f"{processes}, together {_gib(needed)} without the batches; {_gib(available)} are available. Lower "
        f"model.d_model (now {config.model.d_model:,}), model.feed_forward (now {config.model.feed_forward:,})"
        f"{fewer} or the number of layers, or use another machine"
    )


def _available(device: torch.device) -> int | None:
    """Return the free bytes of `device`; None if they are unknown."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free
    return available_memory() if device.type == "cpu" else None


def _gib(size: int) -> str:
    return f"{size / _GIB:,.1f} GiB"
