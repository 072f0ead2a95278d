"""What is evaluated: a run at one of its checkpoints, or several runs as an ensemble."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.config import SearchConfig
from translator.inference import Translator
from translator.run_folder import RunFolder
from translator.storage import storage_errors

_LONGEST: Final = 100
"""Characters of an ensemble's name in a path; of longer ones these are kept."""
_USUAL: Final = SearchConfig()
_DETAILS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "beam": (("length_penalty", "penalty-"), ("length_normalization", "")),
    "sampling": (("temperature", "temperature-"), ("top_k", "top-k-"), ("top_p", "top-p-")),
    "": (
        ("max_length_ratio", "ratio-"),
        ("min_length_ratio", "min-ratio-"),
        ("no_repeat_ngram", "no-repeat-"),
        ("precision", ""),
    ),
}
"""For each method, and then for all of them, the settings that are named where they are not the usual ones, in order:
key, and what stands before its value."""


@dataclass(frozen=True)
class System:
    """One run, or several that are an ensemble, from one checkpoint."""

    runs: tuple[RunFolder, ...]
    checkpoint: str = "best"
    """`best`, `last`, `averaged` or a step number."""

    @property
    def folder(self) -> Path:
        """Where what comes of it is kept: the run's evaluation folder, of an ensemble a folder in the first run's.

        That is named by the runs. Where their names alone may mean other runs too, or are too long, a hash of where
        they lie beside the first tells them apart.
        """
        folder = self.runs[0].evaluation_folder
        if len(self.runs) == 1:
            return folder
        paths = [run.path.resolve() for run in self.runs]
        places = [os.path.relpath(path, paths[0].parent) for path in paths]
        names = [path.name for path in paths]
        name = "+".join(names)
        if places != names or len(name) > _LONGEST or any("+" in one for one in names):
            name = f"{name[:_LONGEST]}-{hashlib.sha256('//'.join(places).encode()).hexdigest()[:8]}"
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
    parts: list[str] = [config.method]
    if config.method == "beam":
        parts.append(str(config.beam_size))
    if config.method == "sampling":
        parts.append(f"seed-{config.seed}")
    for key, prefix in (*_DETAILS.get(config.method, ()), *_DETAILS[""]):
        value = getattr(config, key)
        if value != getattr(_USUAL, key):
            parts.append(f"{prefix}{value:g}" if isinstance(value, float) else f"{prefix}{value}")
    if engine != "torch":
        parts.append(engine)
    return "-".join(parts)
