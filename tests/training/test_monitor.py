"""What TensorBoard will read from the event files of a run."""

import io
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from step_results import step_result
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.summary.writer import event_file_writer

from translator.config import MetricName
from translator.data import MixtureRow
from translator.errors import StorageError
from translator.evaluation import Score, TranslatedPair
from translator.inference import AttentionMap
from translator.training.breakdown import Breakdown, Sources
from translator.training.meter import Meter
from translator.training.monitor import Monitor, show_test_scores
from translator.training.spikes import Spike
from translator.training.validation import Validation


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0})
    events.Reload()
    return events


def points(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read(folder).Scalars(tag)]


def test_scalars_are_grouped(tmp_path: Path) -> None:
    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.scalars("train", {"loss": 2.5, "gradient_norm": 0.5}, 10)
        monitor.scalars("validation", {"loss": 3.0, "perplexity": math.exp(3.0), "bleu": 0.0}, 10)
    assert set(read(tmp_path).Tags()["scalars"]) == {
        "train/loss",
        "train/gradient_norm",
        "validation/loss",
        "validation/perplexity",
        "validation/bleu",
    }
    assert points(tmp_path, "train/loss") == [(10, 2.5)]


def test_a_report_and_a_validation_have_their_groups(tmp_path: Path) -> None:
    breakdown = Breakdown(Sources.of_counts({"mizan": 10, "tep": 5}))
    meter = Meter(breakdown)
    meter.add(50, step_result([0, 12], [5, 10], [10.0, 35.0]))
    by_source = {"mizan": {"loss": 2.0, "chrf": 30.0}, "tep": {"loss": 4.0}}
    validation = Validation({"loss": 3.0}, [TranslatedPair("a", "ب", "پ")], by_source, {"01-08": 2.5})
    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.report(meter.read({"learning_rate": 1e-3, "tokens_seen": 15.0, "epoch": 0.5}))
        monitor.norms({"encoder.layers.0": 0.5, "head": 0.25}, {"encoder.layers.0": 7.0, "head": 8.0}, 50)
        monitor.spikes([Spike(48, 9.5, 3.0, [(12, 11.25)])])
        monitor.validation(validation, 50)
        monitor.mixture([MixtureRow("mizan", 10, 1.0, 2 / 3, 10)], 0)
    tags = set(read(tmp_path).Tags()["scalars"])
    numbers = ("loss", "perplexity", "gradient_norm", "gradient_norm_max", "skipped_updates", "learning_rate")
    assert {tag for tag in tags if tag.startswith("train/")} == {
        f"train/{name}" for name in (*numbers, "tokens_seen", "epoch", "loss_spike")
    }
    assert {tag for tag in tags if tag.startswith("speed/")} == {
        f"speed/{name}" for name in ("tokens_per_second", "padding", "data_wait", "memory_mib")
    }
    assert {tag for tag in tags if tag.split("/")[0] not in ("train", "speed")} == {
        *("loss_by_length/01-08", "loss_by_length/09-16", "loss_by_source/mizan", "loss_by_source/tep"),
        *("mixture/mizan", "mixture/tep", "gradient_norm/encoder.layers.0", "gradient_norm/head"),
        *("weight_norm/encoder.layers.0", "weight_norm/head", "validation/loss", "validation_by_length/01-08"),
        *("validation_by_source/mizan/loss", "validation_by_source/mizan/chrf", "validation_by_source/tep/loss"),
    }
    assert points(tmp_path, "train/loss") == [(50, 3.0)]
    assert points(tmp_path, "train/loss_spike") == [(48, 9.5)]
    assert points(tmp_path, "validation_by_source/tep/loss") == [(50, 4.0)]
    texts = read(tmp_path)
    (spike,) = texts.Tensors("train/loss_spike/text_summary")
    assert "12 (11.25)" in spike.tensor_proto.string_val[0].decode("utf-8")
    (mixture,) = texts.Tensors("data/mixture/text_summary")
    assert "| mizan | 10 | 1 | 66.67% | 10 |" in mixture.tensor_proto.string_val[0].decode("utf-8")
    assert texts.Tensors("validation/translations/text_summary")


def test_curves_that_belong_together_share_a_chart(tmp_path: Path) -> None:
    with Monitor(tmp_path, first_step=1):
        pass
    (event,) = read(tmp_path).Tensors("custom_scalars__config__")
    layout = Layout.FromString(event.tensor_proto.string_val[0])
    charts = {chart.title: list(chart.multiline.tag) for category in layout.category for chart in category.chart}
    assert charts["loss"][:2] == ["train/loss", "validation/loss"]
    assert charts["BLEU"] == ["validation/bleu", "test/bleu"]
    of_training, of_validation = charts["loss by source"]
    assert re.fullmatch(of_training, "loss_by_source/mizan")
    assert re.fullmatch(of_validation, "validation_by_source/mizan/loss")
    assert not re.fullmatch(of_validation, "validation_by_source/mizan/bleu")


def test_a_process_that_does_not_write_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    translator: Any = None  # not asked: drawing for nobody would cost time
    with Monitor(None, first_step=1) as monitor:
        monitor.scalars("train", {"loss": 1.0}, 1)
        monitor.translations([TranslatedPair("a", "ب", "پ")], 1)
        monitor.attention(translator, "I go.", 1)
        monitor.hparams(CONFIG, {"loss": 1.0})
    assert list(tmp_path.iterdir()) == []


def test_a_resumed_run_has_no_overlapping_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files of one second are read in the order of their names, which end in how many this process has written.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))
    with Monitor(tmp_path, first_step=1) as monitor:
        for step in range(1, 8):
            monitor.scalars("train", {"loss": 100.0 + step}, step)
    with Monitor(tmp_path, first_step=5) as monitor:  # the last checkpoint was that of step 4
        for step in range(5, 10):
            monitor.scalars("train", {"loss": 200.0 + step}, step)
    expected = [(step, 100.0 + step) for step in range(1, 5)] + [(step, 200.0 + step) for step in range(5, 10)]
    assert points(tmp_path, "train/loss") == expected


def test_translations_are_a_safe_table(tmp_path: Path) -> None:
    pairs = [TranslatedPair("A | <script>x</script>", "سلام. |", "سلام *دنیا*"), TranslatedPair("B\nC", "ب", "")]
    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.translations(pairs, 4)
        monitor.translations([], 5)
    (event,) = read(tmp_path).Tensors("validation/translations/text_summary")
    assert event.step == 4
    page = markdown_to_safe_html(event.tensor_proto.string_val[0].decode("utf-8"))
    assert page.count("<tr>") == 3
    assert page.count("<td>") == 6
    assert "<script" not in page
    assert "<em>" not in page
    assert "\u2067سلام. &#124;\u2069" in page


class Looking:
    """Stands in for a translator."""

    def attention(self, text: str) -> AttentionMap:
        assert text == "I go."
        return AttentionMap(["▁I", "▁go", "</s>"], ["▁می\u200cروم", "</s>"], np.full((2, 3), 1 / 3, dtype=np.float32))


def test_attention_is_an_image(tmp_path: Path) -> None:
    translator: Any = Looking()
    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.attention(translator, "I go.", 7)
    (event,) = read(tmp_path).Images("validation/attention")
    assert event.step == 7
    image = Image.open(io.BytesIO(event.encoded_image_string))
    assert image.size == (event.width, event.height)
    assert image.width > 100


CONFIG = {
    "run": {"seed": 3, "device": "cpu"},
    "training": {"learning_rate": 1e-3, "early_stopping": None},
    "corpus": {"sources": [{"name": "mizan"}], "filters": {"duplicates": True}},
    "evaluation": {"test_sets": []},
}


def test_hparams_lie_in_the_same_folder(tmp_path: Path) -> None:
    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.scalars("validation", {"loss": 3.0, "chrf": 41.0}, 20)
        monitor.hparams(CONFIG, {"loss": 3.0, "chrf": 41.0})
    assert [path.is_file() for path in tmp_path.iterdir()] == [True], "one event file, no second run"
    assert points(tmp_path, "validation/chrf") == [(20, 41.0)]
    content = read(tmp_path).summary_metadata
    starts = HParamsPluginData.FromString(content["_hparams_/session_start_info"].plugin_data.content)
    values = starts.session_start_info.hparams
    assert values["run.seed"].number_value == 3
    assert values["training.learning_rate"].number_value == 1e-3
    assert values["training.early_stopping"].string_value == "null"
    assert values["corpus.sources.0.name"].string_value == "mizan"
    assert values["corpus.filters.duplicates"].string_value == "true"
    assert values["evaluation.test_sets"].string_value == "[]"
    experiment = HParamsPluginData.FromString(content["_hparams_/experiment"].plugin_data.content).experiment
    assert [info.name.tag for info in experiment.metric_infos] == [
        *("test/bleu", "test/chrf", "validation/loss", "validation/chrf")
    ]


def test_test_scores_are_points_of_their_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files of one second are read in the order of their names, where the tenth writer comes before the ninth.
    monkeypatch.setattr(event_file_writer, "_global_uid", event_file_writer.AtomicCounter(0))

    def score(value: float, test_set: str, metric: MetricName, checkpoint: str, normalization: str = "raw") -> Score:
        return Score(
            test_set=test_set,
            metric=metric,
            score=value,
            signature="",
            normalization=normalization,
            checkpoint=checkpoint,
            sentences=1,
        )

    with Monitor(tmp_path, first_step=1) as monitor:
        monitor.scalars("validation", {"bleu": 41.0}, 20)
    scores = [
        score(30.0, "mizan", "bleu", "step-000020"),
        score(31.0, "mizan", "bleu", "step-000020", "normalizer-2 on both sides"),
        score(0.9, "mizan", "length_ratio", "step-000020"),
        score(10.0, "tep", "bleu", "step-000020"),
        score(33.0, "mizan", "bleu", "averaged"),
    ]
    show_test_scores(tmp_path, scores, own=True)
    assert set(read(tmp_path).Tags()["scalars"]) == {
        *("validation/bleu", "test/bleu", "test_by_set/mizan/bleu", "test_by_set/mizan/length_ratio"),
        "test_by_set/tep/bleu",
    }
    assert points(tmp_path, "test/bleu") == points(tmp_path, "test_by_set/mizan/bleu") == [(20, 30.0)]
    show_test_scores(tmp_path, scores[3:4], own=False)
    assert points(tmp_path, "test/bleu") == [(20, 30.0)], "a test set of elsewhere is no measure for comparing runs"


def test_test_scores_without_a_folder_are_left_out(tmp_path: Path) -> None:
    score = Score(metric="bleu", score=1.0, signature="", normalization="raw", checkpoint="step-000001", sentences=1)
    show_test_scores(tmp_path / "none", [score], own=True)
    show_test_scores(tmp_path, [], own=True)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Monitor(tmp_path, first_step=1) as monitor:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(monitor._writer, "add_scalar", full)
        with pytest.raises(StorageError, match=r"cannot write .*: the disk is full"):
            monitor.scalars("train", {"loss": 1.0}, 1)


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"cannot write .*file/tensorboard"):
        Monitor(tmp_path / "file" / "tensorboard", first_step=1)


def test_importing_the_monitor_does_not_load_tensorboard() -> None:
    program = "import sys, translator.training.monitor; sys.exit('tensorboard' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
