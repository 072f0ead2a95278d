"""A run that is stopped, killed or changed goes on with the same command, as if nothing had happened."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fence.conftest import write_small_recipe
from tests.fence.short_runs import steps, train_short, weights
from tests.support.faults import Faults, Kind

Operations = list[tuple[str, str]]


@pytest.fixture(scope="module")
def operations(folder: Path) -> Operations:
    """What a run that nobody disturbs does to its checkpoints, in order."""
    with Faults(folder / "undisturbed" / "checkpoints") as faults:
        assert train_short(folder / "undisturbed").code == 0
    return faults.operations


@pytest.fixture(scope="module")
def undisturbed(folder: Path, operations: Operations) -> Path:
    """The run that nobody disturbed; to be read only."""
    return folder / "undisturbed"


def second_write_of_weights(operations: Operations) -> int:
    """Return the number of the operation, from 1."""
    writes = [
        number
        for number, (name, path) in enumerate(operations, start=1)
        if name == "write" and path.endswith("model.safetensors")
    ]
    return writes[1]


def last_rename(operations: Operations) -> int:
    """Return the number of the operation, from 1."""
    return max(number for number, (name, _) in enumerate(operations, start=1) if name in ("rename", "replace"))


def number_of_report(step: int, run: Path) -> int:
    """Return the number of the operation, from 1, that writes the report of an update to the log of a run."""
    log = (run / "log.txt").read_text(encoding="utf-8").splitlines()
    records = [line for line in log if " INFO " in line or " WARNING " in line]
    (report,) = [number for number, line in enumerate(records, start=1) if f" step {step}: loss" in line]
    return 1 + report  # after the file is made


def assert_goes_on_to_the_same_bits(run: Path, undisturbed: Path) -> None:
    resumed = train_short(run)
    assert resumed.code == 0, resumed.err
    assert "the epoch restarts" not in resumed.err
    for file in ("model.safetensors", "optimizer.safetensors"):
        ours, theirs = run / "checkpoints" / "last" / file, undisturbed / "checkpoints" / "last" / file
        assert ours.read_bytes() == theirs.read_bytes(), file


@pytest.mark.parametrize(("kind", "code"), [("sigint", 130), ("sigterm", 143)])
def test_a_stop_saves_the_run_and_the_same_command_goes_on_to_the_same_bits(
    folder: Path, undisturbed: Path, kind: Kind, code: int
) -> None:
    run = folder / kind
    with Faults(run / "log.txt", at=number_of_report(6, undisturbed), kind=kind):
        stopped = train_short(run)
    assert stopped.code == code
    assert "stopped at step 6, which is saved in" in stopped.err
    assert "the same command resumes there" in stopped.err
    assert steps(run) == [4, 6]
    assert_goes_on_to_the_same_bits(run, undisturbed)


@pytest.mark.parametrize("moment", [second_write_of_weights, last_rename])
def test_a_run_that_was_killed_during_a_save_goes_on_to_the_same_bits(
    folder: Path, undisturbed: Path, operations: Operations, moment: Callable[[Operations], int]
) -> None:
    run = folder / f"killed-at-{moment(operations)}"
    process = os.fork()
    if process == 0:
        try:
            with Faults(run / "checkpoints", at=moment(operations), kind="sigkill"):
                train_short(run)
        finally:
            os._exit(1)  # it has lived: nothing of the tests may run twice
    status = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert 4 in steps(run)
    for step in steps(run):  # a checkpoint appears whole or not at all
        files = {file.name for file in (run / "checkpoints" / f"step-{step:06d}").iterdir()}
        assert files == {"model.safetensors", "optimizer.safetensors", "state.json"}
    assert_goes_on_to_the_same_bits(run, undisturbed)


def test_a_damaged_checkpoint_is_set_aside_and_the_run_goes_on_from_the_one_before_it(
    folder: Path, undisturbed: Path
) -> None:
    run = shutil.copytree(undisturbed, folder / "damaged", symlinks=True)
    file = run / "checkpoints" / "step-000008" / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)

    resumed = train_short(run)
    assert resumed.code == 0
    assert "resuming from" in resumed.err and "step-000004" in resumed.err
    assert "model.safetensors does not match its checksum" in resumed.err
    assert weights(run) == weights(undisturbed)


def test_a_longer_run_goes_on_where_the_shorter_one_ended(folder: Path, undisturbed: Path) -> None:
    run = folder / "extended"
    assert train_short(run, "training.max_steps=3").code == 0
    assert_goes_on_to_the_same_bits(run, undisturbed)


def test_a_change_that_the_result_depends_on_needs_permission(undisturbed: Path) -> None:
    before = weights(undisturbed)
    refused = train_short(undisturbed, "training.learning_rate=0.5", "training.max_steps=9")
    assert refused.code == 2
    assert "training.learning_rate: 0.008 → 0.5" in refused.err
    assert "need --allow-changed" in refused.err
    assert weights(undisturbed) == before


def test_a_change_of_the_network_is_refused_with_and_without_permission(undisturbed: Path) -> None:
    for allowed in (False, True):
        refused = train_short(undisturbed, "model.d_model=32", allow_changed=allowed)
        assert refused.code == 2
        assert "cannot change these:\n  model.d_model: 16 → 32\n" in refused.err
        assert "start a new run with the new ones (run.directory=runs/OTHER)" in refused.err


def test_where_the_batches_change_the_epoch_begins_again(folder: Path) -> None:
    run = folder / "other-batches"
    assert train_short(run, "training.max_steps=3").code == 0
    settings = ("training.max_steps=4", "batching.tokens_per_batch=512")
    changed = train_short(run, *settings, allow_changed=True)
    assert changed.code == 0
    assert "the epoch restarts: its batches differ" in changed.err
    state = json.loads((run / "checkpoints" / "last" / "state.json").read_text(encoding="utf-8"))["state"]
    assert state["position"] == {"epoch": 0, "row": 512 // 64}, "one update into the epoch"


def test_a_run_does_not_go_on_with_another_text(folder: Path, undisturbed: Path) -> None:
    other = write_small_recipe(folder / "other-text").parent
    with (other / "small.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("The road is long.\tجاده دراز است.\n")
    run = other / "run"
    run.symlink_to(undisturbed)
    refused = train_short(run, "training.max_steps=9")
    assert refused.code == 2
    assert "the corpus or its preparation has changed" in refused.err
    assert "train into another folder" in refused.err
