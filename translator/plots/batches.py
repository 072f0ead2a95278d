"""The picture of the token budget at work."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from translator.plots.batch_fill import BatchFill
from translator.plots.figure import COLOURS, PAGE_INCHES, house_style, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BUCKETS: Final = 12
"""Of the longest row, at most."""
_SOURCE, _TARGET, _PADDING = COLOURS[0], COLOURS[5], COLOURS[1]


@dataclass(frozen=True)
class Bucket:
    """The batches whose longest row has `first` to `last` tokens, and what a batch of them holds on average."""

    first: int
    last: int
    batches: int
    source: float
    """Real source tokens of a batch."""
    target: float
    """Real target tokens of a batch."""
    padding: float
    """Positions of a batch, both sides, without a token."""


def buckets_of(fill: BatchFill) -> list[Bucket]:
    """Return the batches by their longest row, in buckets of equal width; empty ones are left out."""
    longest = fill.longest
    low, high = int(longest.min()), int(longest.max())
    width = -(-(high - low + 1) // _BUCKETS)
    found = []
    for first in range(low, high + 1, width):
        inside = (longest >= first) & (longest < first + width)
        if inside.any():
            means = (float(column[inside].mean()) for column in (fill.source_tokens, fill.target_tokens, fill.padding))
            found.append(Bucket(first, min(first + width - 1, high), int(inside.sum()), *means))
    return found


@house_style()
def batches_figure(fill: BatchFill, name: str) -> "Figure":
    """Return the picture of how many rows fit into the budget, and of what the positions of a batch hold.

    Args:
        fill: the batches.
        name: of the recipe.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    figure = new_figure(PAGE_INCHES, 3.9)
    rows, content = figure.subplots(1, 2)
    of = "all" if fill.whole_epoch else "the first"
    share = fill.padding.sum() / fill.positions.sum()
    figure.suptitle(
        f"{shown(name)}: {of} {len(fill.rows):,} batches of an epoch, {share:.1%} of all positions are padding",
        fontsize=9.5,
    )
    longest = fill.longest
    lengths = np.arange(1, int(longest.max()) + 1)
    rows.plot(lengths, fill.budget / lengths, color=COLOURS[6], label=f"budget: {fill.budget:,} positions a side")
    rows.scatter(longest, fill.rows, s=12, color=COLOURS[2], alpha=0.45, linewidths=0, label="a batch")
    rows.set(
        xlabel="longest row of the batch, tokens",
        ylabel="sentence pairs in the batch",
        yscale="log",
        title="short sentences go together, and many of them",
        xlim=(0, None),
        ylim=(0.6 * float(fill.rows.min()), 1.6 * float(fill.rows.max())),
    )
    rows.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    rows.yaxis.set_major_formatter("{x:,.0f}")
    rows.yaxis.set_minor_locator(NullLocator())
    rows.grid(True)
    buckets = buckets_of(fill)
    ground: npt.NDArray[np.float64] = np.zeros(len(buckets))
    for colour, label, values in (
        (_SOURCE, "English tokens", [bucket.source for bucket in buckets]),
        (_TARGET, "Persian tokens", [bucket.target for bucket in buckets]),
        (_PADDING, "padding", [bucket.padding for bucket in buckets]),
    ):
        content.bar(range(len(buckets)), values, bottom=ground, color=colour, label=label, width=0.8)
        ground = ground + np.array(values)
    content.axhline(2 * fill.budget, color=COLOURS[6], linewidth=1.2)
    content.set_xticks(range(len(buckets)), [_range(bucket) for bucket in buckets], rotation=60)
    content.set(
        xlabel="longest row of the batch, tokens",
        ylabel="positions of a batch, both sides",
        title="what a batch holds, on average",
        ylim=(0, 2.15 * fill.budget),
    )
    content.yaxis.set_major_formatter("{x:,.0f}")
    content.grid(True, axis="y")
    figure.legend(loc="outside lower center", ncols=5)
    return figure


def _range(bucket: Bucket) -> str:
    return str(bucket.first) if bucket.first == bucket.last else f"{bucket.first}–{bucket.last}"
