"""A real training on a GPU, for as long as time is left: `bench/gpu-four-corpora.yaml`, evaluated and timed."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch

from bench.processes import TRANSLATOR, run_command
from translator.config import load_config
from translator.inference.translator import Translator
from translator.plots.curves import read_curves
from translator.run.folder import RunFolder

RECIPE: Final = Path("bench/gpu-four-corpora.yaml")
_RESERVE: Final = 75.0  # seconds beside the training: start, preparation, compilation, evaluation
_CURVES: Final = {"tokens_per_second": "speed/tokens_per_second", "data_wait": "speed/data_wait"}


def bench_training(
    folder: Path, device: torch.device, ends_at: float, results: dict[str, Any], recipe: Path = RECIPE
) -> Iterator[str]:
    """Yield the scores of a training on real text, and the speed of its model.

    Args:
        folder: where the run is made.
        ends_at: by the monotonic clock, when all must be done.
        results: gets all figures.

    Raises:
        RunError: the training failed.
    """
    if not _has_corpora(recipe):
        yield f"  the training is left out: the corpora of {recipe} are not here"
        return

    # 1. Train, and evaluate.
    run = RunFolder(folder / "training")
    minutes = max(0.02, (ends_at - time.monotonic() - _RESERVE) / 60)
    train = [*TRANSLATOR, "train", "--config", str(recipe), "--set", f"run.directory={run.path}"]
    train += [f"run.device={device.type}", f"training.max_minutes={minutes:.3f}"]
    train += ["evaluation.metrics=[bleu,chrf]"]  # TER takes longer than all translations
    began = time.monotonic()
    run_command(train, folder / "log.txt")
    seconds = time.monotonic() - began
    scores = json.loads((run.path / "evaluation" / "scores.json").read_text(encoding="utf-8"))
    curves = read_curves(run.path)
    figures = {name: curves[tag][1].tolist() for name, tag in _CURVES.items()}
    updates = int(max(curves["speed/tokens_per_second"][0]))
    results["training"] = {"minutes": minutes, "seconds": seconds, "updates": updates, "scores": scores, **figures}
    yield f"  {recipe}, {minutes:.1f} minutes of training, {seconds:.0f} s in all, {updates:,} updates"
    for score in scores:
        if score["metric"] in ("bleu", "chrf") and score["normalization"] == "raw":
            yield f"    {score['test_set']}: {score['metric']} {score['score']:.2f} ({score['search']})"

    # 2. Translate a test set, text to text.
    name = scores[0]["test_set"]
    lines = (run.path / "evaluation" / name / "source.txt").read_text(encoding="utf-8").splitlines()
    results["translation"] = {}
    for method in ("beam", "greedy"):
        translator = Translator.load(
            run.path, engine="torch", device=device.type, overrides=[f"search.method={method}"]
        )
        translator.translate_lines(lines[:64])  # warm-up
        began = time.monotonic()
        translator.translate_lines(lines)
        speed = len(lines) / (time.monotonic() - began)
        results["translation"][method] = speed
        yield f"    {method}: {speed:,.0f} lines a second of {name}, text to text, in one process"


def _has_corpora(recipe: Path) -> bool:
    """Return whether the corpora of a recipe are here."""
    sources = load_config(recipe).corpus.sources
    return all(Path(str(source.path or source.source_path)).exists() for source in sources)
