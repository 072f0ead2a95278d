"""The random number generators of Python, NumPy and torch: seeded, saved and put back together."""

import random
from typing import Any

import numpy as np
import torch
from torch import Tensor


def seed_everything(seed: int) -> None:
    """Seed every generator that training draws from."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # also seeds every GPU


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed torch for update number `step` of process `rank`: its noise depends on nothing that was drawn before."""
    torch.manual_seed(int(np.random.SeedSequence([seed, step, rank]).generate_state(1, np.uint64)[0]))


def random_tensors() -> dict[str, Tensor]:
    """Return the states of torch's generators, of the CPU and of each GPU in use."""
    states = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        states |= {f"random.cuda.{number}": state for number, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def random_numbers() -> dict[str, Any]:
    """Return the states of Python's and NumPy's generators as JSON values."""
    version, internal, gauss = random.getstate()
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": [version, list(internal), gauss],
        "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
    }


def restore_random(tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
    """Put back what `random_tensors` and `random_numbers` returned; a GPU that is no longer there is passed over."""
    torch.set_rng_state(tensors["random.cpu"])
    for number in range(torch.cuda.device_count()):
        state = tensors.get(f"random.cuda.{number}")
        if state is not None:
            torch.cuda.set_rng_state(state, number)
    version, internal, gauss = numbers["python"]
    random.setstate((version, tuple(internal), gauss))
    keys, position, has_gauss, cached = numbers["numpy"]
    np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached))
