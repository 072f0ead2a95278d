"""A save that fails or is killed at any operation on files leaves the old checkpoint or the new one, whole."""

import shutil
from pathlib import Path

import pytest
from checkpoint.small_checkpoints import named
from tiny_runs import assert_same_bits
from training.small_keeper import SmallRun

from bench.faults import Faults, Killed, Kind
from translator.checkpoint import find_checkpoint, load_checkpoint, steps_saved, verify_checkpoint
from translator.errors import StorageError

SCORES = {"new": [5.0, 4.0, 3.0, 6.0], "again": [5.0, 4.0, 3.0]}
"""Scores at the steps of each case; in `new` the save that is hit is of a new best, and two others are deleted."""


def saved_before(folder: Path, case: str) -> SmallRun:
    """Return a run with checkpoints of steps 1 to 3, about to be saved: at step 4, or at step 3 with another result."""
    run = SmallRun(folder, ema=False)
    scores = SCORES[case]
    for score in scores[:3]:
        run.step(score)
        run.save()
    if case == "new":
        run.step(scores[3])
    else:
        run.progress.seconds = 99.0
    return run


def operations(folder: Path, case: str) -> list[tuple[str, str]]:
    run = saved_before(folder, case)
    with Faults(run.folder) as faults:
        run.save()
    return faults.operations


@pytest.mark.parametrize("case", ["new", "again"])
def test_each_file_is_on_the_disk_before_its_folder_gets_its_name(tmp_path: Path, case: str) -> None:
    done = operations(tmp_path, case)
    partial = next(path for name, path in done if name == "mkdir" and path.endswith(".partial"))
    named_at = next(number for number, (name, path) in enumerate(done) if name == "rename" and path == partial)
    files = {path for name, path in done if name == "create" and path.startswith(partial) and "/.state" not in path}
    assert {Path(file).name for file in files} == {"model.safetensors", "optimizer.safetensors"}
    for file in [*files, f"{partial}/state.json", partial]:
        flushed = max(number for number, (name, path) in enumerate(done) if (name, path) == ("fsync", file))
        written = [number for number, (name, path) in enumerate(done) if name == "write" and path == file]
        assert max(written, default=-1) < flushed < named_at, file


@pytest.mark.parametrize(("case", "kind"), [("new", "kill"), ("again", "kill"), ("new", "full"), ("again", "broken")])
def test_no_operation_that_fails_loses_a_checkpoint(tmp_path: Path, case: str, kind: Kind) -> None:
    run = saved_before(tmp_path / "run", case)
    before, old = tmp_path / "before", run.progress.to_json()
    shutil.copytree(run.folder, before, symlinks=True)
    count = len(operations(tmp_path / "counted", case))
    assert count > 20
    outcomes = set()
    for at in range(1, count + 1):
        shutil.rmtree(run.folder)
        shutil.copytree(before, run.folder, symlinks=True)
        with Faults(run.folder, at, kind) as faults:
            try:
                run.save()
            except StorageError:
                assert kind != "kill"
            except Killed:
                assert kind == "kill"
        assert faults.struck
        if kind != "kill":
            assert 3 in steps_saved(run.folder), "a disk that fails leaves what was there in its place"
        for link in ("last", "best"):  # by which others may read before training goes on
            verify_checkpoint(find_checkpoint(run.folder, link))
        again = SmallRun(tmp_path / "run", ema=False)
        assert again.restore(), (at, faults.operations[-1])
        step = again.progress.step
        assert step in ((3, 4) if case == "new" else (3,))
        if again.progress.to_json() == old:
            assert_same_bits(again.tensors(), run.tensors())
        outcomes.add((step, again.progress.seconds))
        assert not list(run.folder.glob(".damaged*")), (at, faults.operations[-1])
        for link in ("last", "best"):
            verify_checkpoint(find_checkpoint(run.folder, link))
        assert named(run.folder, "last") == f"step-{step:06d}"
        assert named(run.folder, "best") == ("step-000004" if step == 4 else "step-000001")
        run.save()  # the next one works, and clears away what the failure left
        assert load_checkpoint(find_checkpoint(run.folder, "last")).state.progress == old
        assert steps_saved(run.folder) == ([3, 4] if case == "new" else [1, 2, 3])
        assert not list(run.folder.glob(".*")), (at, faults.operations[-1])
    assert len(outcomes) == 2, "some failures come before the checkpoint is there, and some after"
