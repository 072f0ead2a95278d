"""Trainings of a tiny model on the small language, a third of a second each: without validation and scores."""

from pathlib import Path

SHORT = (
    "corpus.split={validation: 0, test: 0}",
    "batching.tokens_per_batch=1280",
    "model.d_model=16",
    "model.heads=2",
    "model.feed_forward=32",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "training.initialization=random",
    "training.schedule=constant",
    "training.checkpoint_every=4",
    "training.max_steps=8",
    "training.log_every=2",
)
"""What makes a run of the small recipe short: 8 updates, with a checkpoint after 4; an epoch has 6."""
FEW_STEPS = (
    "training.max_steps=4",
    "training.warmup_steps=1",
    "training.validate_every=4",
    "training.checkpoint_every=2",
    "training.validation_sentences=4",
)
"""What makes a run that a verb derives from another short."""
STUDENT = (
    *FEW_STEPS,
    "training.precision=float32",
    "subword.vocabulary_size=61",
    "model.d_model=32",
    "model.heads=2",
    "model.feed_forward=64",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
)
"""What makes a student short and small."""
CHECKPOINT_FILES = {"model.safetensors", "optimizer.safetensors", "state.json"}


def short(run: Path, *settings: str) -> tuple[str | Path, ...]:
    """Return the command that trains the short run in the folder `run`, beside the recipe of `write_small_recipe`."""
    return ("train", "--config", run.parent / "small.yaml", "--set", f"run.directory={run}", *SHORT, *settings)


def weights(run: Path) -> bytes:
    """Return the file of the last weights."""
    return (run / "checkpoints" / "last" / "model.safetensors").read_bytes()


def steps(run: Path) -> list[int]:
    """Return the steps of all checkpoints, in ascending order."""
    names = [folder.name.removeprefix("step-") for folder in (run / "checkpoints").glob("step-*")]
    return sorted(int(name) for name in names if name.isdigit())
