"""The memory that a model needs whatever the batch."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from translator.config import Config
from translator.errors import ConfigError
from translator.run.signals import StopRequest
from translator.training import model_memory
from translator.training.model_memory import check_memory
from translator.training.run_training import train_run

CPU = torch.device("cpu")


def needed_memory(config: Config, monkeypatch: pytest.MonkeyPatch, ranks: int = 1) -> float:
    """Return the GiB that the message of a machine without any free memory names."""
    monkeypatch.setattr(model_memory, "available_memory", lambda: 0)
    with pytest.raises(ConfigError) as caught:
        check_memory(config, CPU, ranks)
    total = re.search(r"together ([\d.,]+) GiB", str(caught.value))
    assert total is not None
    return float(total[1].replace(",", ""))


def test_a_model_too_large_for_memory_is_refused_with_its_sizes(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_memory, "available_memory", lambda: 3 << 30)
    message = r"gradients [\d.,]+ GiB and the optimizer .*; 3\.0 GiB are available\. Lower"
    with pytest.raises(ConfigError, match=message):
        check_memory(tiny("model.d_model=30000"), CPU)


def test_a_moving_average_needs_memory_for_the_weights_again(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = needed_memory(tiny("model.d_model=30000", "training.ema_decay=null"), monkeypatch)
    averaged = needed_memory(tiny("model.d_model=30000", "training.ema_decay=0.9"), monkeypatch)
    assert averaged == pytest.approx(plain * 5 / 4, rel=0.01)


def test_each_rank_on_a_machine_needs_its_own_memory(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("model.d_model=30000")
    memory_of_rank = needed_memory(config, monkeypatch)
    memory_of_machine = needed_memory(config, monkeypatch, ranks=3)
    assert memory_of_machine == pytest.approx(3 * memory_of_rank, rel=0.01)


def test_training_refuses_a_too_large_model_before_it_prepares_the_corpus(
    tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_memory, "available_memory", lambda: 3 << 30)
    config = tiny("model.d_model=30000")
    with pytest.raises(ConfigError, match="too large for the memory of cpu"):
        train_run(config, StopRequest())
    assert not Path(config.run.directory).exists()


def test_asking_for_memory_draws_no_random_numbers(tiny: Any) -> None:
    before = torch.random.get_rng_state()
    check_memory(tiny(), CPU)
    assert torch.equal(torch.random.get_rng_state(), before)
