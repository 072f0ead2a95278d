"""A run that is stopped, killed or changed goes on with the same command, as if nothing had happened."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.fence.conftest import write_small_recipe
from tests.fence.damage import flip_last_bit
from tests.fence.files import read_json
from tests.fence.short_runs import CHECKPOINT_FILES, short, steps, weights
from tests.support.command_line import refusal, succeed, translator
from tests.support.faults import Faults, Kind


def number_of_report(step: int, run: Path) -> int:
    """Return the number of the operation, from 1, that writes the report of an update to the log of a run."""
    log = (run / "log.txt").read_text(encoding="utf-8").splitlines()
    records = [line for line in log if " INFO " in line or " WARNING " in line]
    (report,) = [number for number, line in enumerate(records, start=1) if f" step {step}: loss" in line]
    return 1 + report  # after the file is made


def assert_goes_on_to_the_same_bits(run: Path, undisturbed: Path) -> None:
    resumed = succeed(*short(run))
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
        stopped = translator(*short(run))
    assert stopped.code == code
    assert "stopped at step 6, which is saved in" in stopped.err
    assert "the same command resumes there" in stopped.err
    assert steps(run) == [4, 6]
    assert_goes_on_to_the_same_bits(run, undisturbed)


@pytest.mark.parametrize("moment", ["second write of weights", "last rename"])
def test_a_run_that_was_killed_during_a_save_goes_on_to_the_same_bits(
    folder: Path, undisturbed: Path, operations: list[tuple[str, str]], moment: str
) -> None:
    run = folder / f"killed-at-{moment}"
    writes: list[int] = []
    renames: list[int] = []
    for number, (name, path) in enumerate(operations, start=1):
        if name == "write" and path.endswith("model.safetensors"):
            writes.append(number)
        elif name in ("rename", "replace"):
            renames.append(number)
    process = os.fork()
    if process == 0:
        try:
            with Faults(run / "checkpoints", at=renames[-1] if moment == "last rename" else writes[1], kind="sigkill"):
                translator(*short(run))
        finally:
            os._exit(1)  # it has lived: nothing of the tests may run twice
    status = os.waitpid(process, 0)[1]
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert 4 in steps(run)
    for step in steps(run):  # a checkpoint appears whole or not at all
        assert {file.name for file in (run / "checkpoints" / f"step-{step:06d}").iterdir()} == CHECKPOINT_FILES
    assert_goes_on_to_the_same_bits(run, undisturbed)


def test_a_damaged_checkpoint_is_set_aside_and_the_run_goes_on_from_the_one_before_it(
    folder: Path, undisturbed: Path
) -> None:
    run = shutil.copytree(undisturbed, folder / "damaged", symlinks=True)
    flip_last_bit(run / "checkpoints" / "step-000008" / "model.safetensors")
    resumed = succeed(*short(run))
    assert "resuming from" in resumed.err and "step-000004" in resumed.err
    assert "model.safetensors does not match its checksum" in resumed.err
    assert weights(run) == weights(undisturbed)


def test_a_longer_run_goes_on_where_the_shorter_one_ended(folder: Path, undisturbed: Path) -> None:
    run = folder / "extended"
    succeed(*short(run, "training.max_steps=3"))
    assert steps(run) == [3]
    assert_goes_on_to_the_same_bits(run, undisturbed)


def test_a_change_that_the_result_depends_on_needs_permission(undisturbed: Path) -> None:
    before = weights(undisturbed)
    message = refusal(*short(undisturbed, "training.learning_rate=0.5", "training.max_steps=9"))
    assert "training.learning_rate: 0.008 → 0.5" in message
    assert "need --allow-changed" in message
    assert weights(undisturbed) == before


def test_a_change_of_the_network_is_refused_with_and_without_permission(undisturbed: Path) -> None:
    for options in ([], ["--allow-changed"]):
        message = refusal(*short(undisturbed, "model.d_model=32"), *options)
        assert "cannot change these:\n  model.d_model: 16 → 32\n" in message
        assert "start a new run with the new ones (run.directory=runs/OTHER)" in message


def test_where_the_batches_change_the_epoch_begins_again(folder: Path) -> None:
    run = folder / "other-batches"
    succeed(*short(run, "training.max_steps=3"))
    changed = succeed(*short(run, "training.max_steps=4", "batching.tokens_per_batch=512"), "--allow-changed")
    assert "the epoch restarts: its batches differ" in changed.err
    state = read_json(run / "checkpoints" / "last" / "state.json")["state"]
    assert state["position"] == {"epoch": 0, "row": 512 // 64}, "one update into the epoch"


def test_a_run_does_not_go_on_with_another_text(folder: Path, undisturbed: Path) -> None:
    other = write_small_recipe(folder / "other-text").parent
    with (other / "small.tsv").open("a", encoding="utf-8") as corpus:
        corpus.write("The road is long.\tجاده دراز است.\n")
    run = other / "run"
    run.symlink_to(undisturbed)
    message = refusal(*short(run, "training.max_steps=9"))
    assert "the corpus or its preparation has changed" in message
    assert "train into another folder" in message
