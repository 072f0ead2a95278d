"""What the verb evaluate leaves in TensorBoard."""

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from translator.cli import main


def shown(run: Path) -> dict[str, float]:
    # Files that one process writes in one second are read in no certain order, which would look like a restart.
    events = EventAccumulator(str(run / "tensorboard"), purge_orphaned_data=False)
    events.Reload()
    return {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"] if "test" in tag}


def evaluate(run: Path, *flags: str) -> None:
    assert main(["evaluate", "--run", str(run), "--no-report", *flags]) == 0


def test_evaluate_adds_test_scores_to_the_tensorboard_curves(trained: Path) -> None:
    # 1. Training has evaluated; evaluating again shows the same.
    before = shown(trained)
    assert {"quality/test_bleu", "quality/test_chrf", "test_by_set/toy/bleu"} <= before.keys()
    for file in (trained / "tensorboard").glob("*.test"):
        file.unlink()
    evaluate(trained)
    assert shown(trained) == before

    # 2. Another test set adds its curves, and the others stay.
    corpus = trained.parent / "other.tsv"
    corpus.write_text("a b c\tآ ب\nd e\tد ه\n", encoding="utf-8")
    evaluate(trained, "--test-set", f"other={corpus}")
    after = shown(trained)
    assert "test_by_set/other/bleu" in after
    assert before.items() <= after.items()
