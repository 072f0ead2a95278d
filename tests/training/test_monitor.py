"""What TensorBoard will read from the event files of a run."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.summary.writer import event_file_writer
from tiny_runs import run

from translator.errors import StorageError
from translator.evaluation import Score, TranslatedPair
from translator.training.monitor import show_test_scores
from translator.training.validation import Validator


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return events


@pytest.fixture(scope="module")
def events(trained_folder: Path) -> EventAccumulator:
    return read(trained_folder / "run" / "tensorboard")


def test_a_run_writes_the_expected_groups_of_curves(events: EventAccumulator) -> None:
    tags = {tag for tag in events.Tags()["scalars"] if not tag.startswith("test_by_set/")}
    names = ("loss", "perplexity", "gradient_norm", "gradient_norm_max", "skipped_updates", "skipped_updates_in_all")
    blocks = ("source_embedding", "target_embedding", *(f"{side}.{part}" for side in ("encoder", "decoder")
              for part in ("layers.0", "norm")))  # fmt: skip
    lengths = {tag for tag in tags if tag.startswith(("loss_by_length/", "validation_by_length/"))}
    assert lengths >= {"loss_by_length/01-08", "validation_by_length/01-08"}
    assert tags - lengths == {
        *(f"train/{name}" for name in (*names, "learning_rate", "tokens_seen", "minutes", "epoch")),
        *(f"speed/{name}" for name in ("tokens_per_second", "padding", "data_wait", "cpu_share", "memory_mib")),
        *(f"{kind}_norm/{block}" for kind in ("gradient", "weight") for block in blocks),
        *(f"validation/{name}" for name in ("loss", "perplexity", "bleu", "chrf")),
        *("loss_by_source/toy", "mixture/toy", "test/bleu", "test/chrf"),
    }
    assert [event.step for event in events.Scalars("train/loss")] == [3, 4, 6, 8, 9, 12]
    assert [event.step for event in events.Scalars("validation/chrf")] == [6, 12]
    (mixture,) = events.Tensors("data/mixture/text_summary")
    assert "| toy | 160 | 1 | 100.00% | 160 |" in mixture.tensor_proto.string_val[0].decode("utf-8")
    assert len(events.Tensors("validation/translations/text_summary")) == 2


def test_curves_that_belong_together_share_a_chart(events: EventAccumulator) -> None:
    (event,) = events.Tensors("custom_scalars__config__")
    layout = Layout.FromString(event.tensor_proto.string_val[0])
    charts = {chart.title: list(chart.multiline.tag) for category in layout.category for chart in category.chart}
    assert charts["loss"][:2] == ["train/loss", "validation/loss"]
    assert re.fullmatch(charts["loss by source"][1], "validation_by_source/mizan/loss")
    assert not re.fullmatch(charts["loss by source"][1], "validation_by_source/mizan/bleu")


def test_hyperparameters_are_written_beside_the_curves(events: EventAccumulator) -> None:
    content = events.summary_metadata
    starts = HParamsPluginData.FromString(content["_hparams_/session_start_info"].plugin_data.content)
    values = starts.session_start_info.hparams
    assert (values["run.seed"].number_value, values["training.early_stopping"].string_value) == (1, "null")
    assert values["corpus.filters.duplicates"].string_value == "true"
    experiment = HParamsPluginData.FromString(content["_hparams_/experiment"].plugin_data.content).experiment
    assert {info.name.tag for info in experiment.metric_infos} == {
        *("test/bleu", "test/chrf"),
        *(f"validation/{name}" for name in ("loss", "perplexity", "bleu", "chrf")),
    }


def test_a_restarted_run_shows_spikes_safe_tables_and_images_once(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # undo the fixture that replaces pictures
    # Event files of the same second are read in name order; a name ends in a count of the files this process wrote.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    monkeypatch.setattr("translator.training.meter._FIRST_STEPS", 0)
    monkeypatch.setattr("translator.training.meter._RATIO", 0.5)
    monkeypatch.setattr("translator.training.meter._DEVIATIONS", 0.0)
    original = Validator.validate

    def awkward(self: Validator) -> Any:
        found = original(self)
        found.samples[:] = [TranslatedPair("A | <script>x</script>", "سلام. |", "سلام *دنیا*")]
        return found

    monkeypatch.setattr(Validator, "validate", awkward)
    run(tiny("training.log_every=1"))
    for checkpoint in ("step-000012", "last"):  # as if killed between steps 8 and 12
        path = tmp_path / "run" / "checkpoints" / checkpoint
        path.unlink() if path.is_symlink() else path.rename(tmp_path / "lost")
    run(tiny("training.log_every=1"))
    found = read(tmp_path / "run" / "tensorboard")
    assert [event.step for event in found.Scalars("train/loss")] == list(range(1, 13))
    spikes = found.Tensors("train/loss_spike/text_summary")
    assert len(spikes) > 0 and b"loss spike at step" in spikes[0].tensor_proto.string_val[0]
    assert {spike.step for spike in spikes} == {event.step for event in found.Scalars("train/loss_spike")}
    text = found.Tensors("validation/translations/text_summary")[0].tensor_proto.string_val[0].decode("utf-8")
    page = markdown_to_safe_html(text)
    assert page.count("<tr>") == 2 and page.count("<td>") == 3
    assert "<script" not in page and "<em>" not in page
    assert "\u2067سلام. &#124;\u2069" in page
    images = found.Images("validation/attention")
    assert [event.step for event in images] == [6, 12]
    image = Image.open(io.BytesIO(images[0].encoded_image_string))
    assert image.size == (images[0].width, images[0].height) and image.width > 100


def test_test_scores_are_plotted_at_their_checkpoint_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Event files of the same second are read in name order, where the tenth writer comes before the ninth.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))

    first = Score(test_set="mizan", metric="bleu", score=30.0, signature="", normalization="raw",
                  checkpoint="step-000020", sentences=1)  # fmt: skip
    scores = [
        first,
        replace(first, score=31.0, normalization="normalizer-2 on both sides"),
        replace(first, score=0.9, metric="length_ratio"),
        replace(first, score=10.0, test_set="tep"),
        replace(first, score=33.0, checkpoint="averaged"),
    ]
    show_test_scores(tmp_path / "none", scores, own=True)
    show_test_scores(tmp_path, [], own=True)
    assert list(tmp_path.iterdir()) == []
    show_test_scores(tmp_path, scores, own=True)
    assert set(read(tmp_path).Tags()["scalars"]) == {
        *("test/bleu", "test_by_set/mizan/bleu", "test_by_set/mizan/length_ratio", "test_by_set/tep/bleu")
    }
    show_test_scores(tmp_path, scores[3:4], own=False)
    for tag in ("test/bleu", "test_by_set/mizan/bleu"):  # scores of outside test sets must not be compared between runs
        assert [(event.step, event.value) for event in read(tmp_path).Scalars(tag)] == [(20, 30.0)]


def test_a_full_disk_is_reported_in_plain_words(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter.add_scalar", full)
    with pytest.raises(StorageError, match=r"cannot write .*tensorboard: the disk is full"):
        run(tiny())


@pytest.mark.parametrize(("clock", "cores"), [("minutes", 3), ("minutes", 8), ("steps", 3)])
def test_training_yields_cores_only_when_scheduled_by_minutes(
    clock: str, cores: int, tiny: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("translator.training.monitor.available_cores", lambda: cores)
    monkeypatch.setattr("translator.training.monitor._BUSY", 2.0)
    monkeypatch.setattr("translator.run.workers.Neighbours.cores_taken", lambda self: 1.2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    settings = ("training.schedule=cosine", f"training.schedule_clock={clock}", "training.max_minutes=9")
    outcome = run(tiny("run.threads=0", "training.max_steps=4", *settings))
    log = outcome.run.log_file.read_text(encoding="utf-8")
    assert log.count("of the time: other programs compute on this machine") == 1
    left = "other programs use 1.2 cores: the number of training threads is now 2" in log
    assert left == (2 in threads) == (clock == "minutes" and cores == 3), "never more than it began with"
    assert 3 in threads and max(threads) == 3, "given back at the end"
