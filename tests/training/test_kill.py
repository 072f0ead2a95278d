"""A training process that is killed and started again ends with the same bits as an undisturbed one."""

import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults import Faults
from tests.support.tiny_runs import assert_same_bits, final, run, tiny_config
from translator.checkpoint.state import steps_saved
from translator.config import Config
from translator.run.folder import RunFolder


def checkpoints(config: Config) -> Path:
    return RunFolder(Path(config.run.directory)).checkpoints_folder


def number_of(operations: list[tuple[str, str]], name: str, checkpoint: str, file: str) -> int:
    """Return the number, from 1, of the first operation `name` on a file of a checkpoint that is being written."""
    for number, (name_of_operation, path) in enumerate(operations, start=1):
        if name_of_operation == name and checkpoint in path and path.endswith(f".partial{file}"):
            return number
    pytest.fail(f"no {name} of {file} in {checkpoint}")


def train_until_killed(config: Config, operation: int) -> int:
    """Train in a process that gets a SIGKILL at an operation on its checkpoints; return its wait status."""
    gc.collect()  # a model of an earlier test may have threads, which the forked process could not join
    process = os.fork()
    if process == 0:
        try:
            with Faults(checkpoints(config), operation, kind="sigkill"):
                run(config)
        finally:
            os._exit(1)  # it has lived: nothing of the tests may run twice
    return os.waitpid(process, 0)[1]


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """What an undisturbed run of eight updates does to its checkpoints, in order."""
    config = tiny_config(tmp_path_factory.mktemp("counted"), "training.max_steps=8")
    with Faults(checkpoints(config)) as faults:
        run(config)
    return faults.operations


@pytest.mark.parametrize(("name", "file"), [("write", "/model.safetensors"), ("rename", "")])
def test_a_run_killed_during_a_save_resumes_to_identical_weights(
    tiny: Any, trained: Path, tmp_path: Path, operations: list[tuple[str, str]], name: str, file: str
) -> None:
    """In the middle of a tensor file, and in the instant before the checkpoint appears."""
    killed = tiny(f"run.directory={tmp_path}/killed")
    status = train_until_killed(killed, number_of(operations, name, "step-000008", file))
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert max(steps_saved(checkpoints(killed))) < 8, "the checkpoint of step 8 is half written"
    run(killed)
    assert_same_bits(final(killed), final(tiny()))
