"""`translator train` with several processes: the run that one process would have made, and it goes on with any number.

Dropout is off: its noise is drawn for each process by itself.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch
from tiny_runs import final, run

from translator.config import Config, parse_config

EXACT = (
    *("model.dropout=0.0", "training.precision=float32", "training.matmul_precision=highest"),
    "training.accumulation_steps=2",
)


def command(recipe: Path, *overrides: str) -> list[str]:
    words = [word for override in ("training.processes=2", *EXACT, *overrides) for word in ("--set", override)]
    return [sys.executable, "-m", "translator", "train", "--config", str(recipe), *words]


def train(recipe: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    """Train with two processes, launched by a third one."""
    return subprocess.run(command(recipe, *overrides), capture_output=True, text=True, encoding="utf-8", check=False)


def configuration(recipe: Path, *overrides: str) -> Config:
    return parse_config(recipe.read_text(encoding="utf-8"), str(recipe), (*EXACT, *overrides))


def assert_close(ours: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert ours.keys() == expected.keys()
    for key, tensor in expected.items():
        torch.testing.assert_close(
            what_matters(key, ours[key]), what_matters(key, tensor), rtol=1e-3, atol=1e-4, msg=key
        )


def what_matters(key: str, weight: torch.Tensor) -> torch.Tensor:
    """Leave out the bias of attention's keys: no softmax sees it, and Adam blows up its gradient, mere rounding."""
    if key.endswith("query_key_value.bias"):
        query, _, value = weight.chunk(3)
        return torch.cat((query, value))
    return weight.chunk(2)[1] if key.endswith("key_value.bias") else weight


def test_two_processes_make_the_run_of_one_and_go_on_with_its_checkpoint(tiny_recipe: Path, tmp_path: Path) -> None:
    alone = configuration(tiny_recipe, f"run.directory={tmp_path / 'alone'}")
    both = [f"run.directory={tmp_path / 'both'}"]
    mixed = [f"run.directory={tmp_path / 'mixed'}"]
    for config in (alone, configuration(tiny_recipe, *mixed, "training.max_steps=6")):
        run(config)
    for overrides in (both, mixed):
        done = train(tiny_recipe, *overrides)
        assert done.returncode == 0, done.stderr
        assert_close(final(configuration(tiny_recipe, *overrides)), final(alone))
    both_wrote, alone_wrote = (list((tmp_path / name / "tensorboard").iterdir()) for name in ("both", "alone"))
    assert len(both_wrote) == len(alone_wrote), "one writes"
    longer = [
        configuration(tiny_recipe, f"run.directory={tmp_path / name}", "training.max_steps=15")
        for name in ("both", "alone")
    ]
    for config in longer:  # one process goes on with the checkpoint of two
        run(config)
    assert_close(final(longer[0]), final(longer[1]))


def test_a_users_mistake_is_told_once(tiny_recipe: Path, tmp_path: Path) -> None:
    done = train(tiny_recipe, f"run.directory={tmp_path / 'run'}", "batching.max_length=2")
    assert done.returncode == 2
    assert done.stderr.count("no training pair is left") == 1 and "Traceback" not in done.stderr


def test_a_signal_stops_all_and_one_goes_on(tiny_recipe: Path, tmp_path: Path) -> None:
    overrides = [f"run.directory={tmp_path / 'run'}", "training.validate_every=100000"]
    long = command(tiny_recipe, *overrides, "training.max_steps=100000")
    process = subprocess.Popen(long, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    while not list(tmp_path.glob("run/checkpoints/step-*")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 143, errors
    assert errors.count("stopped by signal") == 1
    (stopped_at,) = re.findall(r"stopped at step (\d+)", errors)
    outcome = run(configuration(tiny_recipe, *overrides, f"training.max_steps={int(stopped_at) + 2}"))
    assert (outcome.progress.sittings, outcome.progress.step) == (2, int(stopped_at) + 2)
