"""What the verb evaluate leaves in TensorBoard."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from translator.cli import main


def shown(run: Path) -> dict[str, float]:
    # Files that one process writes in one second are read in no certain order, which would look like a restart.
    events = EventAccumulator(str(run / "tensorboard"), purge_orphaned_data=False)
    events.Reload()
    return {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"] if tag.startswith("test")}


def test_evaluate_adds_test_scores_to_the_tensorboard_curves(trained: Path) -> None:
    before = shown(trained)
    assert {"test/bleu", "test/chrf", "test_by_set/toy/bleu"} <= before.keys(), "training has evaluated"
    for file in (trained / "tensorboard").glob("*.test"):
        file.unlink()
    assert main(["evaluate", "--run", str(trained), "--no-report"]) == 0
    assert shown(trained) == before
    other = trained.parent / "other.tsv"
    other.write_text("a b c\tآ ب\nd e\tد ه\n", encoding="utf-8")
    assert main(["evaluate", "--run", str(trained), "--no-report", "--test-set", f"other={other}"]) == 0
    after = shown(trained)
    assert "test_by_set/other/bleu" in after and before.items() <= after.items()
