"""Interleaved timing: on a shared machine two things are compared only if they were measured turn by turn."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 5


@dataclass(frozen=True)
class Rates:
    """The rate of one contestant in each round."""

    name: str
    unit: str
    values: list[float]

    @property
    def median(self) -> float:
        """The middle rate."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        return f"  {self.name:<34} {self.median:>12,.0f} {self.unit}   ({low:,.0f} to {high:,.0f})"


def measure(contestants: Mapping[str, Callable[[], float]], unit: str, rounds: int = ROUNDS) -> dict[str, Rates]:
    """Run each contestant once a round, after one round that does not count; a rate is amount returned ÷ seconds."""
    values: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, work in contestants.items():
            began = time.perf_counter()
            amount = work()
            rate = amount / (time.perf_counter() - began)
            if number:
                values[name].append(rate)
    return {name: Rates(name, unit, rates) for name, rates in values.items()}


def ratio(ours: Rates, theirs: Rates) -> str:
    """Return the ratio of two contestants: the median over rounds, and its spread."""
    ratios = [a / b for a, b in zip(ours.values, theirs.values, strict=True)]
    return (
        f"  {ours.name} ÷ {theirs.name}: {statistics.median(ratios):.2f}× "
        f"({min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds)"
    )
