"""The newest and the best stay, and never is the last whole checkpoint deleted."""

from pathlib import Path

import pytest
from checkpoint.small_checkpoints import HARMS, damage, named, save
from hypothesis import given, settings
from hypothesis import strategies as st

from translator.checkpoint import (
    CheckpointState,
    load_checkpoint,
    mark_best,
    ranked_steps,
    remove_old_checkpoints,
    step_folder,
    steps_saved,
)
from translator.errors import StorageError


def test_old_checkpoints_go_and_the_best_stays(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    mark_best(tmp_path, 2)
    remove_old_checkpoints(tmp_path, keep=2)
    assert steps_saved(tmp_path) == [2, 4, 5]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("lower_is_better", "best"), [(False, [4, 2]), (True, [3, 1])])
def test_the_best_are_known_from_their_own_scores(tmp_path: Path, lower_is_better: bool, best: list[int]) -> None:
    for step, score in enumerate([3.0, 5.0, 1.0, 7.0, None, 4.0, None], start=1):
        save(tmp_path, step, score=score)
    assert ranked_steps(tmp_path, lower_is_better=lower_is_better)[:2] == best
    remove_old_checkpoints(tmp_path, keep=1, keep_best=2, lower_is_better=lower_is_better)
    assert steps_saved(tmp_path) == sorted([*best, 7])


def test_of_equal_scores_the_oldest_is_best(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, score=2.0)
    assert ranked_steps(tmp_path, lower_is_better=False) == ranked_steps(tmp_path, lower_is_better=True) == [1, 2, 3]


@pytest.mark.parametrize("harm", HARMS)
def test_the_last_whole_one_is_never_deleted(tmp_path: Path, harm: str) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    for step in (3, 4, 5):
        damage(tmp_path, step, harm)
    remove_old_checkpoints(tmp_path, keep=2)
    assert 2 in steps_saved(tmp_path)
    assert load_checkpoint(step_folder(tmp_path, 2)).state.step == 2


def test_a_checkpoint_that_cannot_be_deleted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (1, 2):
        save(tmp_path, step)

    def busy(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.rmtree", busy)
    with pytest.raises(StorageError, match=r"cannot delete .*step-000001: permission denied"):
        remove_old_checkpoints(tmp_path, keep=1)


@settings(max_examples=30, deadline=None)
@given(
    scores=st.lists(st.none() | st.integers(0, 4).map(float), min_size=1, max_size=8),
    newest=st.integers(1, 3),
    best=st.integers(1, 3),
    lower_is_better=st.booleans(),
    linked=st.integers(0, 7),
    damaged=st.sets(st.integers(1, 8)),
)
def test_who_stays(
    tmp_path_factory: pytest.TempPathFactory,
    scores: list[float | None],
    newest: int,
    best: int,
    lower_is_better: bool,
    linked: int,
    damaged: set[int],
) -> None:
    """Compared with the rule said plainly; reading states is replaced, so that many cases are quick."""
    folder = tmp_path_factory.mktemp("checkpoints")
    steps = list(range(1, len(scores) + 1))
    for step in steps:
        step_folder(folder, step).mkdir()
    named_best = linked % len(scores) + 1
    mark_best(folder, named_best)
    whole = [step for step in steps if step not in damaged]
    states = {
        step: CheckpointState(step=step, model={}, source_vocabulary=1, target_vocabulary=1, subword={}, score=score)
        for step, score in zip(steps, scores, strict=True)
        if step in whole
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.checkpoint.retention.intact_states", lambda _: states)
        patch.setattr("translator.checkpoint.retention.verify_checkpoint", lambda _: None)
        remove_old_checkpoints(folder, newest, best, lower_is_better=lower_is_better)
    scored = [(score, step) for step, score in zip(steps, scores, strict=True) if step in whole and score is not None]
    scored.sort(key=lambda pair: (pair[0] if lower_is_better else -pair[0], pair[1]))
    expected = {*whole[-newest:], *(step for _, step in scored[:best]), named_best}
    unreported = {step for step in steps if step > max(whole, default=0)}
    assert set(steps_saved(folder)) == expected | unreported
    assert named(folder, "best") == f"step-{named_best:06d}"
