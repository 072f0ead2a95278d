"""The newest intact checkpoint is used, damaged ones are set aside, and the newest, best and linked ones stay."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_checkpoints import HARMS, damage, named, save, small_state
from translator.checkpoint.retention import go_back_to, mark_best, newest_whole, remove_old_checkpoints
from translator.checkpoint.state import PinnedCheckpoint, step_folder, steps_saved
from translator.errors import CheckpointError


def restore(folder: Path) -> int:
    """Set damaged checkpoints aside, as a resumed run does; return the step of the newest intact one."""
    newest = newest_whole(folder)
    assert newest is not None
    go_back_to(folder, newest.state.step)
    return newest.state.step


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", ["optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("harm", HARMS)
def test_last_intact_checkpoint_is_used(tmp_path: Path, name: str, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, score=float(step))
    damage(tmp_path, 3, harm, name)
    damaged_contents = contents(tmp_path / "step-000003")
    assert restore(tmp_path) == 2
    assert steps_saved(tmp_path) == [1, 2]
    assert named(tmp_path, "last") == named(tmp_path, "best") == "step-000002"

    # The damaged checkpoint is renamed as it is, and a warning tells what is wrong.
    (aside,) = tmp_path.glob(".damaged-step-000003.*")
    assert contents(aside) == damaged_contents, "nothing is lost"
    (warning,) = caplog.messages
    assert f"step-000003/{name}" in warning
    assert "an older one is used, that of step 2" in warning


@pytest.mark.parametrize(("scores", "next_best"), [((7, 3), 1), ((-7, -3), 2), ((None, None), None)])
def test_damaged_best_is_replaced_by_the_next_best_if_any_has_a_score(
    tmp_path: Path, scores: tuple[float | None, ...], next_best: int | None
) -> None:
    assert newest_whole(tmp_path) is None
    for step, score in enumerate((*scores, 2.0), start=1):
        save(tmp_path, step, score=score)
    mark_best(tmp_path, 3)
    damage(tmp_path, 3)
    assert restore(tmp_path) == 2
    assert (tmp_path / "best").is_symlink() == (next_best is not None)
    if next_best is not None:
        assert named(tmp_path, "best") == f"step-{next_best:06d}"

    # Damaged once more, it is set aside beside the first.
    save(tmp_path, 3)
    damage(tmp_path, 3)
    restore(tmp_path)
    assert len(list(tmp_path.glob(".damaged-step-000003.*"))) == 2


def test_if_all_checkpoints_are_damaged_each_is_named_and_kept(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    damage(tmp_path, 1, "empty")
    damage(tmp_path, 2, "remove", "state.json")
    with pytest.raises(CheckpointError, match=r"every checkpoint in .* is damaged") as caught:
        newest_whole(tmp_path)
    message = str(caught.value)
    for words in ("step-000001/model.safetensors", "step-000002/state.json", f"from a copy; or delete {tmp_path}"):
        assert words in message
    assert steps_saved(tmp_path) == [1, 2]


@settings(max_examples=30)
@given(
    scores=st.lists(st.none() | st.integers(0, 4).map(float), min_size=1, max_size=8),
    newest=st.integers(1, 3),
    best=st.integers(1, 3),
    linked=st.integers(0, 7),
)
def test_retention_keeps_newest_best_scored_and_linked_checkpoints(
    tmp_path_factory: pytest.TempPathFactory,
    scores: list[float | None],
    newest: int,
    best: int,
    linked: int,
) -> None:
    """Compare with a plain restatement of the rule; the reading of states is patched, so that many cases run fast."""
    # Folders for steps 1, 2, …, to one of which `best` links.
    folder = tmp_path_factory.mktemp("checkpoints")
    steps = range(1, len(scores) + 1)
    for step in steps:
        step_folder(folder, step).mkdir()
    linked_step = linked % len(scores) + 1
    mark_best(folder, linked_step)

    def read_checkpoint(path: Path) -> PinnedCheckpoint:
        step = int(path.name.removeprefix("step-"))
        return PinnedCheckpoint(path, small_state(step, score=scores[step - 1]), sha256={}, identity="")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.checkpoint.retention.read_checkpoint", read_checkpoint)
        remove_old_checkpoints(folder, newest, best)

    # Of equal scores, the earlier step is the better one.
    scored_steps = [(-score, step) for step, score in zip(steps, scores, strict=True) if score is not None]
    best_steps = {step for _, step in sorted(scored_steps)[:best]}
    assert set(steps_saved(folder)) == {*steps[-newest:], *best_steps, linked_step}
