"""A state.json with wrong values gives one message, whether or not its checksum is valid."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_checkpoints import MISSING, change_state, put, save
from tests.support.untrained import untrained_run
from translator.checkpoint.newest_run import newest_finished_run
from translator.checkpoint.state import DamagedCheckpointError, pin_checkpoint, read_checkpoint
from translator.errors import CheckpointError


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("colour",), 1),
        (("format",), 2),
        (("bytes", "model.safetensors"), -1),
        (("state", "step"), True),
        (("state", "step"), 2),
        (("state", "step"), MISSING),
        (("state", "model", "heads"), 3),
        (("state", "position"), {"epoch": -1}),
        (("state", "score"), math.inf),
    ],
)
def test_bad_values_are_reported_as_damage(tmp_path: Path, keys: tuple[Any, ...], value: object) -> None:
    save(tmp_path, 1, score=3.5)
    change_state(tmp_path / "step-000001", lambda values: put(values, keys, value))
    with pytest.raises(CheckpointError, match=r"damaged checkpoint: .*state\.json") as caught:
        pin_checkpoint(tmp_path, "1")
    assert len(str(caught.value)) < 1000


def test_an_edited_setting_of_the_model_is_noticed_by_the_checksum(tmp_path: Path) -> None:
    save(tmp_path, 1)
    file = tmp_path / "step-000001" / "state.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace('"max_positions": 32', '"max_positions": 64'), encoding="utf-8")
    with pytest.raises(DamagedCheckpointError, match="checksum differs"):
        read_checkpoint(tmp_path / "step-000001")


@pytest.mark.parametrize(("validations", "is_finished"), [(1, False), (2, True)])
def test_a_run_that_stopped_early_is_finished(tiny: Any, validations: int, is_finished: bool) -> None:
    run = untrained_run(tiny("training.early_stopping=2"))
    keys = ("state", "progress", "validations_without_gain")
    change_state(run.checkpoints_folder / "step-000005", lambda values: put(values, keys, validations))
    assert newest_finished_run(run.path.parent) == (run.path if is_finished else None)
