"""The memory that a model needs whatever the batch."""

from typing import Any

import pytest
import torch

from translator.errors import ConfigError
from translator.training import model_memory
from translator.training.model_memory import check_memory

CPU = torch.device("cpu")


def test_a_model_too_large_for_memory_is_refused_with_its_sizes(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_memory, "available_memory", lambda: 3 << 30)
    with pytest.raises(
        ConfigError, match=r"gradients [\d.,]+ GiB and the optimizer .*; 3\.0 GiB are available\. Lower"
    ):
        check_memory(tiny("model.d_model=30000"), (100, 100), CPU)


def test_asking_for_memory_draws_no_random_numbers(tiny: Any) -> None:
    before = torch.random.get_rng_state()
    check_memory(tiny(), (100, 100), CPU)
    assert torch.equal(torch.random.get_rng_state(), before)
