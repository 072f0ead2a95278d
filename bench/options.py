"""What the command line of the benchmarks asks for, and how figures are printed."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from translator.config import Config, load_config
from translator.errors import ConfigError


class FailedError(Exception):
    """A part found that the product does not do what it must: exit code 1."""


@dataclass(frozen=True)
class Options:
    """Settings of a run of benchmarks. A part ignores what it does not need."""

    config: str | None = None  # recipe or plan; None takes the one of the part
    overrides: Sequence[str] = ()  # `key.path=value` changes of the recipe
    output: Path = Path("runs/bench")  # for files of results
    only: Sequence[str] = ()  # contestants, sizes, variants or scenarios; none named are all
    rounds: int = 5
    steps: int = 6  # updates of each contestant in a round of training, or of the training of a newcomer
    kills: int | None = None  # of each scenario of `torture`; None takes its own number
    seed: int = 1
    table: bool = False  # only print the table of what is finished
    dist: Path = Path("dist")  # folder of the distributions that `newcomer` installs

    def load(self, *usual: str) -> Config:
        """Return the recipe that was asked for, else the first of `usual` whose corpora are here, else the last.

        Raises:
            ConfigError: the recipe cannot be used.
        """
        for recipe in [self.config] if self.config else usual:
            config = load_config(recipe, list(self.overrides))
            if all(Path(str(one.path or one.source_path)).exists() for one in config.corpus.sources):
                break
            if recipe != usual[-1]:
                print(f"bench: the corpora of {recipe} are not here", flush=True)
        return config

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that were asked for.

        Raises:
            ConfigError: a name that was asked for is not among them.
        """
        names = list(names)
        if unknown := [name for name in self.only if name not in names]:
            raise ConfigError(f"`--only {unknown[0]}` is unknown here; there are: {', '.join(names)}")
        return [name for name in names if name in self.only or not self.only]


def spread(values: Sequence[float], form: str) -> str:
    """Return `median (lowest to highest)`."""
    return "{} ({} to {})".format(*map(form.format, (statistics.median(values), min(values), max(values))))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return the ratio of two rates: the median over the rounds, and its spread."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)], "{:.2f}") + "×"


def model_sizes(config: Config) -> str:
    """Return the sizes of the model in words."""
    model = config.model
    return (
        f"d {model.d_model}, {model.heads} heads, {model.encoder_layers}+{model.decoder_layers} layers, "
        f"feed-forward {model.feed_forward}, vocabulary {config.subword.vocabulary_size:,}"
    )
