"""Draw the loss and chrF of a run over its steps: python scripts/plot_learning_curve.py RUN_FOLDER PICTURE.png"""

import argparse
import sys
from pathlib import Path

from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

CURVES = {"loss": ("train/loss", "validation/loss"), "chrF": ("validation/chrf",), "BLEU": ("validation/bleu",)}
"""Panels, and the TensorBoard curves in each."""


def main() -> int:
    """Read the event files and write the picture."""
    parser = argparse.ArgumentParser(description="Draw the learning curve of a run.")
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    events = EventAccumulator(str(options.run / "tensorboard"))
    events.Reload()
    there = events.Tags()["scalars"]
    if not there:
        print(f"no TensorBoard events in {options.run}/tensorboard; name the folder of a trained run", file=sys.stderr)
        return 2
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    for axes, (title, names) in zip(figure.subplots(1, len(CURVES)), CURVES.items(), strict=True):
        for name in (name for name in names if name in there):
            points = events.Scalars(name)
            axes.plot([point.step for point in points], [point.value for point in points], label=name)
        axes.set(title=title, xlabel="step")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(options.picture, dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main())
