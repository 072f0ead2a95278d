"""Short pieces of work timed turn by turn: milliseconds a call, and how many times faster than the first."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUNDS = 11
ROUND_SECONDS = 0.02
"""A contestant repeats its call in every round until about so much time is spent."""

Work = Callable[[], object]


@dataclass(frozen=True)
class SpeedComparison:
    """Ways to compute the same thing; the first is what the others are compared with."""

    title: str
    ways: Mapping[str, Work]


@dataclass(frozen=True)
class Timing:
    """Seconds a call of one way, one value for each round."""

    name: str
    seconds: tuple[float, ...]

    def faster_than(self, other: "Timing") -> list[float]:
        """Return in each round how many times faster this one was."""
        return [theirs / ours for ours, theirs in zip(self.seconds, other.seconds, strict=True)]


def take_turns(ways: Mapping[str, Work], rounds: int = ROUNDS, round_seconds: float = ROUND_SECONDS) -> list[Timing]:
    """Call every way for a while in every round; a first call, and the choice of how often, do not count."""
    repeats = {}
    for name, work in ways.items():
        work()
        began = time.perf_counter()
        work()
        repeats[name] = max(1, round(round_seconds / (time.perf_counter() - began)))
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    gc.collect()
    for _ in range(rounds):
        for name, work in ways.items():
            began = time.perf_counter()
            for _ in range(repeats[name]):
                work()
            seconds[name].append((time.perf_counter() - began) / repeats[name])
    return [Timing(name, tuple(values)) for name, values in seconds.items()]


def report_comparison(
    comparison: SpeedComparison, rounds: int = ROUNDS, round_seconds: float = ROUND_SECONDS
) -> list[str]:
    """Return the lines that tell how the ways of `comparison` compare."""
    timings = take_turns(comparison.ways, rounds, round_seconds)
    lines = [comparison.title]
    for timing in timings:
        ratios = timing.faster_than(timings[0])
        best, middle = min(timing.seconds) * 1000, statistics.median(timing.seconds) * 1000
        ratio = f"{statistics.median(ratios):6.2f}×  ({min(ratios):.2f} to {max(ratios):.2f})"
        lines.append(f"  {timing.name:<46} {middle:9.3f} ms (best {best:9.3f})  {ratio}")
    return lines
