"""Options of the benchmarks' command line, and formatting of figures."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from translator.config import Config, load_config
from translator.errors import ConfigError


class FailedError(Exception):
    """A part found a failure: exit code 1."""


@dataclass(frozen=True)
class Options:
    """Settings of a run of benchmarks. A part ignores settings it does not need."""

    config: str | None = None  # recipe or plan; None uses the part's default
    overrides: Sequence[str] = ()  # `key.path=value` changes of the recipe
    output: Path = Path("runs/bench")  # for runs and exports
    only: Sequence[str] = ()  # contestants, sizes, variants or scenarios; empty means all
    rounds: int = 5
    steps: int = 6  # updates of each contestant in a round of training
    kills: int = 25  # of each case of `torture` and `verbs`
    seed: int = 1
    table: bool = False  # only print the table of finished work

    def load(self, *usual: str) -> Config:
        """Return the requested recipe, else the first of `usual` with available corpora, else the last.

        Raises:
            ConfigError: the recipe is invalid.
        """
        for recipe in [self.config] if self.config else usual:
            config = load_config(recipe, list(self.overrides))
            paths = [Path(str(source.path or source.source_path)) for source in config.corpus.sources]
            if all(path.exists() for path in paths):
                break
        return config

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return the requested ones of `names`.

        Raises:
            ConfigError: a requested name is not among them.
        """
        names = list(names)
        for name in self.only:
            if name not in names:
                raise ConfigError(f"`--only {name}` is unknown; choose from: {', '.join(names)}")
        return [name for name in names if name in self.only or not self.only]


def in_turns(names: Sequence[str], rounds: int) -> Iterator[str]:
    """Yield all names in each round; another one comes first in each."""
    for number in range(rounds):
        turn = number % len(names)
        yield from (*names[turn:], *names[:turn])


def spread(values: Sequence[float], form: str) -> str:
    """Return `median (lowest to highest)`."""
    median, lowest, highest = statistics.median(values), min(values), max(values)
    return f"{form.format(median)} ({form.format(lowest)} to {form.format(highest)})"


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return the ratio of two rates: the median over the rounds, and its spread."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)], "{:.2f}") + "×"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        lines.append(f"| {' | '.join(row)} |")
    return lines
