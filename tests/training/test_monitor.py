"""What TensorBoard shows of a run."""

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.support.event_files import read_events


@pytest.fixture(scope="module")
def events(trained_folder: Path) -> EventAccumulator:
    return read_events(trained_folder / "run" / "tensorboard")


def test_reports_come_at_log_steps_saves_and_validations(events: EventAccumulator) -> None:
    assert [event.step for event in events.Scalars("loss/train")] == [3, 4, 6, 8, 9, 12]


def test_each_validation_shows_its_scores_and_translations(events: EventAccumulator) -> None:
    assert [event.step for event in events.Scalars("quality/chrf")] == [6, 12]
    assert [event.step for event in events.Tensors("validation/translations/text_summary")] == [6, 12]


def test_each_validation_shows_an_attention_map(events: EventAccumulator) -> None:
    assert [event.step for event in events.Images("validation/attention")] == [6, 12]
