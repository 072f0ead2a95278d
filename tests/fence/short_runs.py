"""Trainings of a tiny model on the small language, a third of a second each: without validation and scores."""

from pathlib import Path

from tests.support.command_line import Finished, translator

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


def train_short(run: Path, *settings: str, allow_changed: bool = False) -> Finished:
    """Train the short run in the folder `run`, which is beside the recipe that `write_small_recipe` wrote."""
    recipe = run.parent / "small.yaml"
    arguments: list[str | Path] = ["train", "--config", recipe, "--set", f"run.directory={run}", *SHORT, *settings]
    if allow_changed:
        arguments.append("--allow-changed")
    return translator(*arguments)


def weights(run: Path) -> bytes:
    """Return the file of the last weights."""
    return (run / "checkpoints" / "last" / "model.safetensors").read_bytes()


def steps(run: Path) -> list[int]:
    """Return the steps of all checkpoints, in ascending order."""
    names = [folder.name.removeprefix("step-") for folder in (run / "checkpoints").glob("step-*")]
    return sorted(int(name) for name in names if name.isdigit())
