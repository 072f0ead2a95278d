"""Memory that a model needs in training whatever the batch: its weights, gradients and optimizer state."""

import torch

from translator.config import Config
from translator.errors import ConfigError
from translator.model import Transformer
from translator.run.memory import available_memory

_GIB = 1 << 30
_BYTES_OF_VALUE = 4  # float32
_MOMENTS = {"adamw": 2, "muon": 1}  # of the optimizer, for each weight; Muon has two for some of them


def check_memory(config: Config, vocabularies: tuple[int, int], device: torch.device) -> None:
    """Raise ConfigError if `device` has too little free memory for training the model of `config`.

    Asking first is kinder than failing: a system that promises more memory than it has kills the process instead.

    Args:
        config: of the run.
        vocabularies: tokens of source and target.
        device: where the model is trained.
    """
    available = _available(device)
    if available is None:
        return
    # A model on the device `meta` has shapes only.
    with torch.device("meta"):
        model = Transformer(config.model, *vocabularies)
    parameters = sum(weight.numel() for weight in model.parameters())
    weights = parameters * _BYTES_OF_VALUE
    moments = weights * _MOMENTS[config.training.optimizer]
    needed = 2 * weights + moments
    if needed <= available:
        return
    raise ConfigError(
        f"this model is too large for the memory of {device}: its {parameters:,} weights take {_gib(weights)}, their "
        f"gradients {_gib(weights)} and the optimizer {_gib(moments)}, together {_gib(needed)} without the "
        f"batches; {_gib(available)} are available. Lower model.d_model (now {config.model.d_model:,}), "
        f"model.feed_forward (now {config.model.feed_forward:,}) or the number of layers, or use another machine"
    )


def _available(device: torch.device) -> int | None:
    """Return the free bytes of `device`; None if they are unknown."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free
    return available_memory() if device.type == "cpu" else None


def _gib(size: int) -> str:
    return f"{size / _GIB:,.1f} GiB"
