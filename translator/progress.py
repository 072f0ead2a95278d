"""One progress bar for every long stage, on standard error, so that results on standard output stay clean."""

import sys
from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress_bar(
    items: Iterable[Item] | None = None,
    *,
    description: str,
    total: int | None = None,
    initial: int = 0,
    unit: str = "it",
) -> "tqdm[Item]":
    """Return a tqdm bar over `items`, or one to be moved by hand when `items` is None; `initial` were done before.

    When standard error is not a terminal the bar is redrawn at most every 10 seconds, so that a log stays readable.
    """
    return tqdm(  # type: ignore[return-value]  # the stub gives a bar without items a type of its own
        items,
        desc=description,
        total=total,
        initial=initial,
        unit=unit,
        dynamic_ncols=True,
        file=sys.stderr,
        mininterval=0.2 if sys.stderr.isatty() else 10.0,
    )
