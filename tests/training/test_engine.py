"""What an engine says of itself; what it does to weights is tested with whole runs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from translator.training import engine as engines
from translator.training.choices import choose
from translator.training.engine import Engine
from translator.training.flops import StepFlops
from translator.training.gradients import Gradients
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


@pytest.mark.parametrize(("dropout_from", "modes"), [(0, [True]), (1, [True]), (7, [False, True])])
def test_a_compiled_step_is_rehearsed_as_it_will_be_taken(
    tiny: Any, monkeypatch: pytest.MonkeyPatch, dropout_from: int, modes: list[bool]
) -> None:
    config = tiny(f"training.dropout_from={dropout_from}", "model.dropout=0.1")
    cpu = torch.device("cpu")
    choices = replace(choose(cpu, config.training), compile=True, packed=False)
    engine = Engine(config, (50, 60), cpu, choices, Ranks.alone())
    seen: list[bool] = []
    monkeypatch.setattr(engine.learner, "compiled", object())
    monkeypatch.setattr(engines, "rehearse", lambda *rest, **named: seen.append(engine.model.training))
    engine.gradients = Gradients(engine.learner, engine.arithmetic, Ranks.alone(), engine.placing)
    engine.rehearse()
    assert seen == modes
