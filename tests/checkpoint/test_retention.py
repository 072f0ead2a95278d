"""Retention: the newest, the best and the linked checkpoints stay, and always one that is intact."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_checkpoints import HARMS, damage, named, save, small_state
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.retention import mark_best, remove_old_checkpoints
from translator.checkpoint.state import step_folder, steps_saved


@pytest.mark.parametrize("harm", HARMS)
def test_last_intact_checkpoint_is_never_deleted(tmp_path: Path, harm: str) -> None:
    for step in (1, 2, 3, 4, 5):
        save(tmp_path, step)
    for step in (3, 4, 5):
        damage(tmp_path, step, harm)
    remove_old_checkpoints(tmp_path, keep=2)
    assert 2 in steps_saved(tmp_path)
    assert load_checkpoint(step_folder(tmp_path, 2)).state.step == 2


@settings(max_examples=30, deadline=None)
@given(
    scores=st.lists(st.none() | st.integers(0, 4).map(float), min_size=1, max_size=8),
    newest=st.integers(1, 3),
    best=st.integers(1, 3),
    lower_is_better=st.booleans(),
    linked=st.integers(0, 7),
    damaged=st.sets(st.integers(1, 8)),
)
def test_retention_keeps_newest_best_scored_and_linked_checkpoints(
    tmp_path_factory: pytest.TempPathFactory,
    scores: list[float | None],
    newest: int,
    best: int,
    lower_is_better: bool,
    linked: int,
    damaged: set[int],
) -> None:
    """Compare with a plain restatement of the rule; the reading of states is patched, so that many cases run fast."""
    # Folders for steps 1, 2, …, to one of which `best` links; the intact ones have a state.
    folder = tmp_path_factory.mktemp("checkpoints")
    steps = range(1, len(scores) + 1)
    states = {}
    for step, score in zip(steps, scores, strict=True):
        step_folder(folder, step).mkdir()
        if step not in damaged:
            states[step] = small_state(step, score=score)
    linked_step = linked % len(scores) + 1
    mark_best(folder, linked_step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.checkpoint.retention.intact_states", lambda _: states)
        remove_old_checkpoints(folder, newest, best, lower_is_better=lower_is_better)

    # Of equal scores, the earlier step is the better one.
    sign = 1 if lower_is_better else -1
    scored_steps = []
    for step, state in states.items():
        if state.score is not None:
            scored_steps.append((sign * state.score, step))
    best_steps = {step for _, step in sorted(scored_steps)[:best]}

    # Damaged checkpoints behind the last intact one stay, until they are reported when the run resumes.
    intact_steps = list(states)
    unreported_steps = {step for step in steps if step > max(intact_steps, default=0)}

    assert set(steps_saved(folder)) == {*intact_steps[-newest:], *best_steps, linked_step, *unreported_steps}
    assert named(folder, "best") == f"step-{linked_step:06d}"
