"""Learning curves: what each contestant has learnt after the same number of tokens."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from bench.contestants import OURS, Contestant, start_contestants
from translator.config import Config
from translator.storage import write_bytes

POINTS = 5
"""Measured points of a curve."""

Curve = list[dict[str, float]]


def learning_curves(names: Sequence[str], config: Config, steps: int) -> dict[str, Curve]:
    """Train every contestant from the seed for `steps` steps and return its curve.

    One after the other, each in a fresh process: together they would not fit into memory, since what a library keeps
    for each shape of a batch adds up over so many steps.

    Each point has the target tokens and seconds of training so far, the mean training loss since the point before, and
    the loss on all validation pairs; both in nats for a token, without smoothing.
    """
    curves = {}
    for name in names:
        with start_contestants([name], config) as started:
            curves[name] = _learning_curve(started[name], steps)
        print(*format_curves({name: curves[name]})[1:], sep="\n", flush=True)
    return curves


def _learning_curve(contestant: Contestant, steps: int) -> Curve:
    contestant.ask("begin")
    curve: Curve = []
    ends = [steps * (point + 1) // POINTS for point in range(POINTS)]
    for begin, end in zip([0, *ends], ends, strict=False):
        if end == begin:
            continue
        answer = contestant.ask("train", steps=end - begin, watched=True)
        before = curve[-1] if curve else {"target_tokens": 0.0, "seconds": 0.0}
        curve.append(
            {
                "step": end,
                "target_tokens": before["target_tokens"] + answer["target_tokens"],
                "seconds": before["seconds"] + answer["seconds"],
                "training_loss": answer["loss"],
                "validation_loss": contestant.ask("validate")["loss"],
            }
        )
    return curve


def format_curves(curves: Mapping[str, Curve]) -> list[str]:
    """Return a table of losses by tokens, and how ours ended beside each other contestant."""
    lines = ["  loss in nats for a token, training / validation, after so many thousand target tokens"]
    for name, curve in curves.items():
        points = (
            f"{point['target_tokens'] / 1000:,.1f}k {point['training_loss']:.3f} / {point['validation_loss']:.3f}"
            for point in curve
        )
        lines.append(f"    {name:<36} " + "   ".join(points))
    if OURS in curves:
        ours = curves[OURS][-1]["validation_loss"]
        for name, curve in curves.items():
            if name != OURS:
                lines.append(f"    {OURS} − {name:<36} {ours - curve[-1]['validation_loss']:+.3f} validation loss")
    return lines


def draw_curves(curves: Mapping[str, Curve], path: Path) -> None:
    """Draw validation loss over tokens and over seconds of training."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for place, (key, label) in enumerate((("target_tokens", "target tokens"), ("seconds", "seconds of training"))):
        axes = figure.add_subplot(1, 2, place + 1)
        for name, curve in curves.items():
            losses = [point["validation_loss"] for point in curve]
            axes.plot([point[key] for point in curve], losses, marker="o", markersize=3, label=name)
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 20k, not 20000: neighbours would touch
        axes.set_ylabel("validation loss, nats for a token")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(fontsize="small")
    page = io.BytesIO()
    figure.savefig(page, format="svg", metadata={"Date": None})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, page.getvalue())
