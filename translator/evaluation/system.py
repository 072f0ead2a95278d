"""What is evaluated: a run at one of its checkpoints, or several runs as an ensemble."""

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.config import SearchConfig
from translator.inference import Translator
from translator.run_folder import RunFolder
from translator.storage import storage_errors

_LONGEST: Final = 100
"""Characters of an ensemble's name in a path; longer ones end with a hash."""


@dataclass(frozen=True)
class System:
    """One run, or several that are an ensemble, from one checkpoint."""

    runs: tuple[RunFolder, ...]
    checkpoint: str = "best"
    """`best`, `last`, `averaged` or a step number."""

    @property
    def folder(self) -> Path:
        """Where what comes of it is kept: the run's evaluation folder, of an ensemble a folder in the first run's."""
        folder = self.runs[0].evaluation_folder
        if len(self.runs) == 1:
            return folder
        name = "+".join(run.path.resolve().name for run in self.runs)
        if len(name) > _LONGEST:
            name = f"{name[:_LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        return folder / name


def claim_folder(folder: Path) -> None:
    """Make a folder, and make sure that it can be written: better now than after the translating.

    Raises:
        StorageError: it cannot.
    """
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


Loader = Callable[[System, Sequence[str]], Translator]
"""From a system and `key.path=value` overrides to its translator."""


def load_system(system: System, overrides: Sequence[str] = ()) -> Translator:
    """Return the translator of a system, computed by torch.

    Raises:
        RunError: a run or its checkpoint is missing or damaged, or the runs do not fit together.
        ConfigError: an override is wrong.
    """
    return Translator.load([run.path for run in system.runs], checkpoint=system.checkpoint, overrides=overrides)


def label_of(translator: Translator) -> str:
    """Return the name of how `translator` picks translations, for scores and file names."""
    return search_label(translator.search, translator.searcher.name)


def search_label(config: SearchConfig, engine: str = "torch") -> str:
    """Return a short name of all search settings that a translation depends on, fit for a file name.

    Args:
        config: the search settings.
        engine: what computes; torch goes without saying.
    """
    usual = SearchConfig()
    parts: list[str] = [config.method]
    if config.method == "beam":
        parts.append(str(config.beam_size))
        if config.length_penalty != usual.length_penalty:
            parts.append(f"penalty-{config.length_penalty:g}")
        if config.length_normalization != usual.length_normalization:
            parts.append(config.length_normalization)
    if config.method == "sampling":
        parts.append(f"seed-{config.seed}")
        if config.temperature != usual.temperature:
            parts.append(f"temperature-{config.temperature:g}")
        if config.top_k != usual.top_k:
            parts.append(f"top-k-{config.top_k}")
        if config.top_p != usual.top_p:
            parts.append(f"top-p-{config.top_p:g}")
    if config.max_length_ratio != usual.max_length_ratio:
        parts.append(f"ratio-{config.max_length_ratio:g}")
    if config.min_length_ratio != usual.min_length_ratio:
        parts.append(f"min-ratio-{config.min_length_ratio:g}")
    if config.no_repeat_ngram != usual.no_repeat_ngram:
        parts.append(f"no-repeat-{config.no_repeat_ngram}")
    if config.precision != usual.precision:
        parts.append(config.precision)
    if engine != "torch":
        parts.append(engine)
    return "-".join(parts)
