"""Where tensors live and how precisely they are computed."""

import contextlib
from dataclasses import dataclass
from typing import Literal

import torch

from translator.errors import ConfigError

Precision = Literal["float32", "bf16"]


def choose_device(name: str) -> torch.device:
    """Return the device for `auto`, `cpu`, `cuda` or `cuda:N`.

    Raises:
        ConfigError: a GPU is asked for and there is none, or not that many.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError(f"run.device is `{name}`, but torch finds no CUDA GPU here; use run.device=cpu or auto")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ConfigError(f"run.device is `{name}`, but there are only {torch.cuda.device_count()} GPUs (from 0)")
    return device


@dataclass(frozen=True)
class Arithmetic:
    """How the forward pass is computed on a device."""

    device: torch.device
    precision: Precision

    @classmethod
    def choose(cls, device: torch.device, precision: str) -> "Arithmetic":
        """Resolve `training.precision`; `auto` means bf16 on a GPU that has it and float32 elsewhere.

        Raises:
            ConfigError: bf16 is asked for on a GPU that cannot compute it.
        """
        gpu_has_bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        if precision == "auto":
            return cls(device, "bf16" if gpu_has_bf16 else "float32")
        if precision == "bf16":
            if device.type == "cuda" and not gpu_has_bf16:
                raise ConfigError("training.precision is `bf16`, but this GPU has none; use float32 or auto")
            return cls(device, "bf16")
        return cls(device, "float32")

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which the forward pass runs; weights stay float32."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


def use_threads(count: int) -> None:
    """Compute with `count` CPU threads; 0 keeps torch's own choice, one per core."""
    if count:
        torch.set_num_threads(count)
