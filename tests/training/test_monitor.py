"""What TensorBoard shows of a run."""

import io
from pathlib import Path

import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer import event_file_writer

from tests.support.event_files import read_events
from tests.support.tiny_runs import run, tiny_config


@pytest.fixture(scope="module")
def events(trained_folder: Path) -> EventAccumulator:
    return read_events(trained_folder / "run" / "tensorboard")


GROUPS = {
    "loss": {"train", "validation"},
    "quality": {"bleu", "chrf", "test_bleu", "test_chrf"},
    "train": {
        "perplexity",
        "gradient_norm",
        "learning_rate",
        "skipped_updates",
        "epoch",
        "tokens_seen",
        "minutes",
    },
    "speed": {"tokens_per_second", "data_wait", "padding", "memory_mib"},
    "validation": {"perplexity"},
}


@pytest.mark.parametrize(("group", "names"), GROUPS.items())
def test_a_run_writes_the_expected_curves(events: EventAccumulator, group: str, names: set[str]) -> None:
    tags = {tag for tag in events.Tags()["scalars"] if tag.startswith(f"{group}/")}
    assert tags == {f"{group}/{name}" for name in names}


def test_loss_and_quality_are_the_groups_that_tensorboard_opens(events: EventAccumulator) -> None:
    groups = {tag.partition("/")[0] for tag in events.Tags()["scalars"] + events.Tags()["images"]}
    assert sorted(groups)[:2] == ["loss", "quality"]


def test_reports_come_at_log_steps_saves_and_validations(events: EventAccumulator) -> None:
    assert [event.step for event in events.Scalars("loss/train")] == [3, 4, 6, 8, 9, 12]


def test_each_validation_shows_its_scores_and_translations(events: EventAccumulator) -> None:
    assert [event.step for event in events.Scalars("quality/chrf")] == [6, 12]
    assert [event.step for event in events.Tensors("validation/translations/text_summary")] == [6, 12]


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> EventAccumulator:
    """The events of a run that was killed between steps 8 and 12, and restarted."""
    folder = tmp_path_factory.mktemp("restarted")
    config = tiny_config(folder, "training.log_every=1")
    with pytest.MonkeyPatch.context() as patch:
        # Event files of the same second are read in name order; a name ends in a count of the files of this process.
        patch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
        run(config)
        (folder / "run" / "checkpoints" / "last").unlink()
        (folder / "run" / "checkpoints" / "step-000012").rename(folder / "lost")
        run(config)
    return read_events(folder / "run" / "tensorboard")


def test_a_restarted_run_shows_each_step_once(restarted: EventAccumulator) -> None:
    assert [event.step for event in restarted.Scalars("loss/train")] == list(range(1, 13))


def test_each_validation_shows_an_attention_map(restarted: EventAccumulator) -> None:
    images = restarted.Images("validation/attention")
    assert [event.step for event in images] == [6, 12]
    image = Image.open(io.BytesIO(images[0].encoded_image_string))
    assert image.size == (images[0].width, images[0].height)
    assert image.width > 100
