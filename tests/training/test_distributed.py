"""Ranks as real processes: they compute what one process would."""

import functools
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import final, run
from training.forked_ranks import forked_ranks
from training.member import PAIRS, gradients

from translator.config import Config, parse_config
from translator.errors import ConfigError, Interrupted
from translator.run.signals import STOP_SIGNALS
from translator.training.distributed import Distributed, lost_process_errors
from translator.training.launching import LostProcessError

StartMembers = Callable[[Path, int, str], int]
LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
pytestmark = pytest.mark.usefixtures("plain_environment")


def test_three_ranks_compute_the_gradients_of_one_and_stop_together(
    tmp_path: Path, start_members: StartMembers
) -> None:
    handlers = [signal.getsignal(number) for number in STOP_SIGNALS]
    with pytest.raises(Interrupted) as caught:
        start_members(tmp_path, 3, "stop")
    assert caught.value.exit_code == 143
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == handlers
    assert len({(tmp_path / f"stopped-{rank}").read_text() for rank in range(3)}) == 1
    said = [(tmp_path / f"said-{rank}").read_text(encoding="utf-8") for rank in range(3)]
    assert said == [repr([[1.0, 0.1 + 0.2 + 0.1 * 3, 3e300], ["", "سلام", "سلامسلام"], "1"])] * 3
    assert {(tmp_path / f"told-{rank}").read_text(encoding="utf-8") for rank in range(3)} == {"made by local rank 0"}
    alone = gradients(Distributed(), [list(range(len(PAIRS)))])
    main, *followers = [load_file(tmp_path / f"gradients-{rank}") for rank in range(3)]
    for name, expected in alone.items():
        for key in (name, f"lone.{name}"):
            torch.testing.assert_close(main[key], expected, rtol=1e-9, atol=1e-12, msg=name)
            for follower in followers:
                assert torch.equal(follower[key], main[key]), "the same bits on all ranks"
        # As bf16, the whole gradient differs by the rounding of its entries and sums.
        rounded = main[f"rounded.{name}"]
        assert 0 < torch.dist(rounded, expected) < 2**-7 * expected.norm(), name
        for follower in followers:
            assert torch.equal(follower[f"rounded.{name}"], rounded), name


def test_one_process_runs_without_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a launcher, with a launcher of one process, and where a batch system sets variables of its own."""
    for environment in ({}, dict(zip(LAUNCHED, "010", strict=True)), {"RANK": "3", "WORLD_SIZE": "8"}):
        for name in LAUNCHED:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with Distributed.join(torch.device("cpu")) as distributed:
            assert (distributed.rank, distributed.world_size, distributed.main) == (0, 1, True)
            assert distributed.sum([1, 2.5]) == [1.0, 2.5]
            assert distributed.gather_text("سلام") == ["سلام"]
            assert distributed.device(torch.device("cuda:1")) == torch.device("cuda:1")
            distributed.barrier()


def test_every_value_that_differs_is_named_with_its_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[dict[str, str | float | None]] = [
        {"code": "a" * 100 + str(rank // 10), "precision": "bf16", "clip": None} for rank in range(11)
    ]
    values[4]["clip"] = 1.0
    texts = [json.dumps(values_of_rank) for values_of_rank in values]
    monkeypatch.setattr(Distributed, "gather_text", lambda self, text: texts)
    with pytest.raises(ConfigError) as caught:
        Distributed(world_size=11).check_equal(values[0])
    _, code, clip, _ = str(caught.value).splitlines()
    assert code.endswith("on rank 10"), "values are compared whole, and shown cut"
    assert clip == "  clip: null on ranks 0, 1, 2, 3, 5, 6, 7, 8 and 2 more, 1.0 on rank 4"
    del texts[1:]
    Distributed(world_size=1).check_equal(values[0])


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="this machine has that many GPUs")
def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(LAUNCHED, "787", strict=True):
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"more processes than GPUs on this machine, which has \d"):
        Distributed.join(torch.device("cuda"))


def test_a_broken_connection_is_reported_in_plain_words() -> None:
    for message in ("[gloo/pair.cc:538] Connection closed by peer", "Timed out waiting 300000ms", "NCCL was aborted"):
        with pytest.raises(LostProcessError) as caught, lost_process_errors():
            raise RuntimeError(message + "\nException raised from somewhere in C++")
        assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError, match="cannot be multiplied"), lost_process_errors():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")


EXACT = (
    *("model.dropout=0.0", "training.precision=float32", "training.matmul_precision=highest"),
    *("training.accumulation_steps=2", "training.augmentation.typos=0.3"),
)
"""Dropout is off, since each rank draws its own dropout noise."""


def overrides(folder: Path, steps: int) -> tuple[str, ...]:
    return (*EXACT, f"run.directory={folder}", f"training.max_steps={steps}")


def configuration(recipe: Path, folder: Path, steps: int) -> Config:
    return parse_config(recipe.read_text(encoding="utf-8"), str(recipe), overrides(folder, steps))


def what_matters(key: str, weight: torch.Tensor) -> torch.Tensor:
    """Leave out the bias of attention's keys: softmax cancels it, so its gradient is rounding that Adam amplifies."""
    if key.endswith("query_key_value.bias"):
        query, _, value = weight.chunk(3)
        return torch.cat((query, value))
    return weight.chunk(2)[1] if key.endswith("key_value.bias") else weight


def assert_close_weights(config: Config, expected_config: Config) -> None:
    weights = final(config)
    for key, expected in final(expected_config).items():
        ours = what_matters(key, weights[key])
        torch.testing.assert_close(ours, what_matters(key, expected), rtol=1e-3, atol=1e-4, msg=key)


def test_two_processes_and_three_that_resume_their_run_train_like_one(tiny_recipe: Path, tmp_path: Path) -> None:
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    # 1. Start with two processes, as a user does.
    words = [sys.executable, "-m", "translator", "train", "--config", str(tiny_recipe)]
    for override in ("training.processes=2", *overrides(shared, steps=4)):
        words += ["--set", override]
    done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("The run is in") == 1
    # 2. Resume with three.
    with forked_ranks(3, functools.partial(run, configuration(tiny_recipe, shared, steps=6))) as ranks:
        for rank in ranks:
            rank.join(120)
            assert rank.exitcode == 0
    # 3. Train the same with one.
    run(configuration(tiny_recipe, alone, steps=6))
    assert_close_weights(configuration(tiny_recipe, shared, steps=6), configuration(tiny_recipe, alone, steps=6))
    event_files = [len(list((folder / "tensorboard").iterdir())) for folder in (shared, alone)]
    assert event_files == [3, 2], "rank 0 writes alone: a file at each start, and one of the test scores"
