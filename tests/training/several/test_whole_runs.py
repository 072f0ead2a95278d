"""`translator train` with several processes: the run that one process would have made, and it goes on with any number.

Dropout is off: its noise is drawn for each process by itself.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from conftest import TINY
from tiny_runs import final
from toy import letters, write_pairs

from translator.config import Config, parse_config

EXACT = ("model.dropout=0.0", "training.precision=float32", "training.matmul_precision=highest")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    write_pairs(tmp_path / "toy.tsv", [(word, word) for word in letters(200, seed=1)])
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.format(folder=tmp_path), encoding="utf-8")
    return path


def command(recipe: Path, processes: int, *overrides: str) -> list[str]:
    sets = [f"training.processes={processes}", "training.accumulation_steps=2", *EXACT, *overrides]
    words = [word for override in sets for word in ("--set", override)]
    return [sys.executable, "-m", "translator", "train", "--config", str(recipe), *words]


def train(recipe: Path, processes: int, *overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(recipe, processes, *overrides), capture_output=True, text=True, encoding="utf-8", check=False
    )


def weights(recipe: Path, run: Path) -> dict[str, torch.Tensor]:
    config: Config = parse_config(recipe.read_text(encoding="utf-8"), str(recipe), [f"run.directory={run}"])
    return final(config)


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


def test_two_processes_make_the_run_of_one_and_another_number_goes_on(recipe: Path, tmp_path: Path) -> None:
    alone, both, mixed = (tmp_path / name for name in ("alone", "both", "mixed"))
    for run, processes in ((alone, 1), (both, 2)):
        done = train(recipe, processes, f"run.directory={run}")
        assert done.returncode == 0, done.stderr
    assert_close(weights(recipe, both), weights(recipe, alone))
    assert len(list((both / "tensorboard").iterdir())) == len(list((alone / "tensorboard").iterdir())), "one writes"
    half = train(recipe, 2, f"run.directory={mixed}", "training.max_steps=6")
    assert half.returncode == 0, half.stderr
    rest = train(recipe, 1, f"run.directory={mixed}")
    assert rest.returncode == 0, rest.stderr
    assert_close(weights(recipe, mixed), weights(recipe, alone))


def test_a_users_mistake_is_told_once(recipe: Path, tmp_path: Path) -> None:
    done = train(recipe, 2, f"run.directory={tmp_path / 'run'}", "batching.max_length=2")
    assert done.returncode == 2
    assert done.stderr.count("no training pair is left") == 1 and "Traceback" not in done.stderr


def test_a_signal_stops_all_and_the_run_goes_on(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    long = [f"run.directory={run}", "training.max_steps=100000", "training.validate_every=100000"]
    process = subprocess.Popen(command(recipe, 2, *long), stderr=subprocess.PIPE, text=True, encoding="utf-8")
    while not list(run.glob("checkpoints/step-*")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGTERM)
    _, errors = process.communicate()
    assert process.returncode == 143, errors
    assert errors.count("stopped by signal") == 1
    assert train(recipe, 2, f"run.directory={run}", "training.max_steps=1").returncode == 0
