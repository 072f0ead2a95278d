"""A state.json with a valid checksum and wrong values gives one message, and a newer version is named as the cause."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.small_checkpoints import MISSING, change_state, put, save
from translator.checkpoint.files import load_model
from translator.checkpoint.recovery import repair
from translator.checkpoint.state import CheckpointState, DamagedCheckpointError, pin_checkpoint, read_state, steps_saved
from translator.errors import CheckpointError


def paths(values: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of each value inside `values`."""
    if not isinstance(values, dict | list):
        return []
    items = values.items() if isinstance(values, dict) else enumerate(values)
    all_paths = []
    for key, value in items:
        path = (*prefix, key)
        all_paths.append(path)
        all_paths += paths(value, path)
    return all_paths


def load_changed(folder: Path, keys: tuple[Any, ...], value: object) -> CheckpointState:
    """Load a checkpoint whose state has another value at `keys`; return its state."""
    path = folder / "step-000001"
    if not path.exists():
        save(folder, 1, score=3.5)
    before = (path / "state.json").read_bytes()
    try:
        change_state(path, lambda values: put(values, keys, value))
        pinned = pin_checkpoint(folder, "1")
        load_model(pinned, torch.device("cpu"))
        return pinned.state
    finally:
        (path / "state.json").write_bytes(before)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("colour",), 1),
        (("state", "colour"), None),
        (("state", "model", "experts"), 8),
        (("state", "model", "norm"), "rms"),
        (("state", "model", "positions"), "alibi"),
        (("sha256", "adapter.safetensors"), "0"),
        (("format",), 2),
    ],
)
def test_keys_and_choices_of_a_newer_version_are_named(tmp_path: Path, keys: tuple[Any, ...], value: object) -> None:
    with pytest.raises(CheckpointError, match=rf"state\.json was made by a newer version .*{keys[-1]}") as caught:
        load_changed(tmp_path, keys, value)
    assert not isinstance(caught.value.__cause__, DamagedCheckpointError), "it would be renamed"


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("format",), "1"),
        (("sha256",), []),
        (("sha256", "model.safetensors"), None),
        (("bytes", "model.safetensors"), -1),
        (("state",), None),
        (("state", "step"), -1),
        (("state", "step"), 1.0),
        (("state", "step"), True),
        (("state", "step"), 10**400),
        (("state", "step"), 2),
        (("state", "step"), MISSING),
        (("state", "model"), MISSING),
        (("state", "model"), {"norm": 3}),
        (("state", "model", "d_model"), "8"),
        (("state", "model", "d_model"), 0),
        (("state", "model", "heads"), 3),
        (("state", "model", "dropout"), math.nan),
        (("state", "source_vocabulary"), -11),
        (("state", "target_vocabulary"), 2**70),
        (("state", "subword"), ["source.model"]),
        (("state", "data"), 4),
        (("state", "normalization"), {"digits": 1.5}),
        (("state", "position"), {"epoch": -1}),
        (("state", "progress"), [1]),
        (("state", "score"), math.inf),
        (("state", "score"), "3.5"),
        (("state", "average"), {"updates": math.nan}),
        (("state", "averaged_steps"), [-1]),
        (("state", "averaged_steps"), None),
    ],
)
def test_bad_values_are_reported_as_damage(tmp_path: Path, keys: tuple[Any, ...], value: object) -> None:
    with pytest.raises(CheckpointError, match=r"damaged checkpoint: .*state\.json") as caught:
        load_changed(tmp_path, keys, value)
    assert "newer" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "keys", [("normalizer_version",), ("normalization",), ("average",), ("model", "max_positions"), ("model", "norm")]
)
def test_a_missing_key_is_not_replaced_by_its_default(tmp_path: Path, keys: tuple[str, ...]) -> None:
    with pytest.raises(CheckpointError, match=rf"damaged checkpoint: .*missing keys: state\.{'.'.join(keys)}"):
        load_changed(tmp_path, ("state", *keys), MISSING)


def test_a_checkpoint_from_before_the_rules_were_data_is_read(tmp_path: Path) -> None:
    state = load_changed(tmp_path, ("state", "normalizer"), MISSING)
    assert state.normalizer == ""


def test_an_edited_setting_of_the_model_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    save(tmp_path, 1)
    file = tmp_path / "step-000001" / "state.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"max_positions": 32', '"max_positions": 64'), encoding="utf-8")
    with pytest.raises(DamagedCheckpointError, match="checksum differs"):
        read_state(tmp_path / "step-000001")


def test_a_model_larger_than_its_weights_is_refused_before_it_takes_memory(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"do not fit the model: .* are fewer than the model has"):
        load_changed(tmp_path, ("state", "source_vocabulary"), 2**31 - 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(2**63),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_change_of_the_state_gives_anything_but_a_checkpoint_error(tmp_path: Path, data: st.DataObject) -> None:
    checkpoint = tmp_path / "step-000001"
    if not checkpoint.exists():
        save(tmp_path, 1, score=3.5)
    places: list[tuple[Any, ...]] = []
    change_state(checkpoint, lambda values: places.extend(paths(values)))

    # Change the value of any key, remove it, or add a key beside it.
    keys = data.draw(st.sampled_from(sorted(places)))
    value: object
    if data.draw(st.booleans(), "whether the key is new") and isinstance(keys[-1], str):
        keys = (*keys[:-1], "stranger")
        value = data.draw(VALUES)
    else:
        value = data.draw(st.just(MISSING) | VALUES)

    try:
        load_changed(tmp_path, keys, value)
    except CheckpointError as error:
        assert str(error)


def test_an_older_checkpoint_of_a_newer_version_keeps_its_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    change_state(tmp_path / "step-000001", lambda values: put(values, ("state", "colour"), 1))
    repair(tmp_path, 2, lower_is_better=False)
    assert steps_saved(tmp_path) == [1, 2]
    assert "made by a newer version" in caplog.text
