"""What the command line of the benchmarks asks for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from translator.config import Config, load_config


@dataclass(frozen=True)
class Options:
    """Settings of a run of benchmarks; what a part does not need it ignores."""

    config: str | None = None
    """The recipe; None takes the one of the part."""
    overrides: Sequence[str] = ()
    """`key.path=value` changes of the recipe."""
    output: Path = Path("runs/bench")
    """Folder for what is written besides the report."""
    rounds: int = 5
    """Rounds that count."""
    steps: int = 6
    """Steps of each contestant in a round of training."""
    curve_steps: int = 150
    """Steps of each learning curve; 0 draws none."""
    only: Sequence[str] = field(default=())
    """Contestants, groups or sizes; none named are all."""

    def load(self, usual: str = "configs/sample.yaml") -> Config:
        """Return the recipe that was asked for, or `usual`.

        Raises:
            ConfigError: it cannot be used.
        """
        return load_config(self.config or usual, list(self.overrides))
