"""A state.json with wrong values gives one message, whether or not its checksum is valid."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_checkpoints import MISSING, change_state, put, save
from translator.checkpoint.state import CheckpointState, DamagedCheckpointError, pin_checkpoint, read_state
from translator.errors import CheckpointError


def load_changed(folder: Path, keys: tuple[Any, ...], value: object) -> CheckpointState:
    """Load a checkpoint whose state has another value at `keys`; return its state."""
    path = folder / "step-000001"
    if not path.exists():
        save(folder, 1, score=3.5)
    before = (path / "state.json").read_bytes()
    try:
        change_state(path, lambda values: put(values, keys, value))
        return pin_checkpoint(folder, "1").state
    finally:
        (path / "state.json").write_bytes(before)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("colour",), 1),
        (("state", "colour"), None),
        (("state", "model", "experts"), 8),
        (("state", "model", "norm"), "rms"),
        (("sha256", "adapter.safetensors"), "0"),
        (("format",), 2),
        (("format",), "1"),
        (("sha256",), []),
        (("sha256", "model.safetensors"), None),
        (("bytes", "model.safetensors"), -1),
        (("state",), None),
        (("state", "step"), -1),
        (("state", "step"), 1.0),
        (("state", "step"), True),
        (("state", "step"), 2),
        (("state", "step"), MISSING),
        (("state", "model"), MISSING),
        (("state", "model"), {"norm": 3}),
        (("state", "model", "d_model"), "8"),
        (("state", "model", "d_model"), 0),
        (("state", "model", "heads"), 3),
        (("state", "model", "dropout"), math.nan),
        (("state", "source_vocabulary"), -11),
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
    assert len(str(caught.value)) < 1000


def test_an_edited_setting_of_the_model_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    save(tmp_path, 1)
    file = tmp_path / "step-000001" / "state.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"max_positions": 32', '"max_positions": 64'), encoding="utf-8")
    with pytest.raises(DamagedCheckpointError, match="checksum differs"):
        read_state(tmp_path / "step-000001")
