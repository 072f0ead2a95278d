"""What an engine says of itself; what it does to weights is tested with whole runs."""

from typing import Any

import numpy as np
import pytest
import torch

from translator.training import engine as engines
from translator.training.choices import choose
from translator.training.engine import Engine
from translator.training.flops import StepFlops
from translator.training.ranks import Ranks


def test_work_is_counted_as_it_is_done(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "matrix_rate", lambda device, precision: 1e6)
    config = tiny("training.r_drop=1", "training.max_steps=500", "model.dropout=0.1")
    cpu = torch.device("cpu")
    engine = Engine(config, (50, 60), cpu, choose(cpu, config.training), Ranks.alone())
    lengths = np.array([5]), np.array([7])
    speed, once = engine.speed(), StepFlops(config.model, 60)(*lengths)
    assert speed is not None
    assert speed.flops(*lengths) == 2 * once, "R-Drop reads a batch twice"
    engine.model.eval()
    assert speed.flops(*lengths) == once, "but not before dropout begins"
