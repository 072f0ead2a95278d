"""`translator train` turns a recipe into a run: a folder with weights, curves, a log and scores."""

import time
from pathlib import Path

import pytest
import yaml

from tests.fence.files import contents, read_json
from tests.fence.short_runs import CHECKPOINT_FILES, short, steps
from tests.fence.small_language import all_pairs
from tests.support.command_line import succeed
from tests.support.event_files import curve, read_events

# --- what a run leaves ---


def test_a_run_has_its_recipe_and_its_circumstances(small_run: Path) -> None:
    recipe = yaml.safe_load((small_run / "config.yaml").read_text(encoding="utf-8"))
    assert recipe["run"]["directory"] == str(small_run)
    assert recipe["training"]["learning_rate"] == 8e-3
    assert recipe["training"]["label_smoothing"] is not None, "also the settings that the recipe leaves out"

    start = read_json(small_run / "run.json")["sessions"][0]
    assert (start["threads"], start["processes"]) == (1, 1)
    assert "torch" in str(start)


def test_a_checkpoint_has_safe_tensors_and_readable_state(small_run: Path) -> None:
    checkpoints = small_run / "checkpoints"
    assert steps(small_run) == [75, 150]
    assert (checkpoints / "last").resolve().name == "step-000150"
    assert (checkpoints / "best").resolve().parent == checkpoints.resolve()
    for step in (75, 150):
        folder = checkpoints / f"step-{step:06d}"
        assert {file.name for file in folder.iterdir()} == CHECKPOINT_FILES
        assert read_json(folder / "state.json")["state"]["step"] == step


def test_a_run_keeps_its_subword_models_and_its_held_out_text(small_run: Path) -> None:
    subword = {file.name for file in (small_run / "subword").iterdir()}
    assert subword >= {"source.model", "target.model", "normalizer.json"}
    for name, count in (("validation", 20), ("test", 30)):
        (held_out,) = read_json(small_run / "held_out" / f"{name}.json")["sets"]
        assert len(held_out["sources"]) == count
        pairs = zip(held_out["sources"], held_out["references"], strict=True)
        assert {(source, *references) for source, references in pairs} <= set(all_pairs())


def test_tensorboard_shows_that_the_losses_fall(small_run: Path) -> None:
    training = curve(small_run / "tensorboard", "loss/train")
    assert {step for step, _ in training} >= set(range(10, 71, 10))
    assert training[-1][0] == 150
    assert training[-1][1] < 0.5 * training[0][1]
    validation = curve(small_run / "tensorboard", "loss/validation")
    assert [step for step, _ in validation] == [75, 150]
    assert validation[1][1] < validation[0][1]


TAGS = {
    "loss": ["train", "validation"],
    "quality": ["bleu", "chrf", "test_bleu", "test_chrf"],
    "train": ["perplexity", "learning_rate", "gradient_norm", "epoch", "tokens_seen", "skipped_updates"],
    "speed": ["tokens_per_second", "padding", "data_wait", "memory_mib"],
    "validation": ["perplexity"],
    "train_by_source": ["small"],
    "test_by_set": ["small/bleu", "small/chrf++"],
}


def test_tensorboard_has_every_promised_tag(small_run: Path) -> None:
    tags = read_events(small_run / "tensorboard").Tags()
    promised = {f"{group}/{name}" for group, names in TAGS.items() for name in names}
    assert promised <= set(tags["scalars"])
    assert "validation/attention" in tags["images"]
    assert "validation/translations/text_summary" in tags["tensors"]


def test_a_second_training_of_a_finished_run_says_so_and_changes_nothing(small: Path, small_copy: Path) -> None:
    recipe = ("train", "--config", small / "small.yaml", "--set", f"run.directory={small_copy}")
    succeed(*recipe)  # its config.yaml has the path of the copy from here on
    before = contents(small_copy)
    again = succeed(*recipe)
    assert f"{small_copy} is finished" in again.out
    assert "training.max_steps=150 is reached" in again.out
    after = contents(small_copy)
    assert after.pop("log.txt").startswith(before.pop("log.txt"))
    assert after == before


# --- when training ends ---


def test_max_minutes_ends_training_by_the_clock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()

    def clock() -> float:
        nonlocal now
        now += 7.0  # seconds, at each look
        return now

    monkeypatch.setattr(time, "monotonic", clock)
    run = folder / "minutes"
    finished = succeed(*short(run, "training.max_minutes=1", "training.max_steps=60"))
    assert "training is over: training.max_minutes=1 is reached" in finished.err
    assert 1 <= steps(run)[-1] < 60


def test_early_stopping_ends_a_training_that_learns_nothing_more(folder: Path) -> None:
    run = folder / "early"
    text = ("corpus.split={validation: 4, test: 0}", "training.validation_sentences=1", "search.max_length_ratio=0.1")
    limits = ("training.learning_rate=1e-9", "training.validate_every=1", "training.early_stopping=1")
    finished = succeed(*short(run, *text, *limits))
    assert "has not improved for 1 validations (training.early_stopping=1)" in finished.err
    assert steps(run)[-1] == 2
