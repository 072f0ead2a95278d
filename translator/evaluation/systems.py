"""Systems to evaluate, and the folders of their results."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.run.folder import RunFolder

_LONGEST_NAME: Final = 100  # characters of the names of an ensemble's runs


@dataclass(frozen=True)
class System:
    """A system to evaluate: a run at one of its checkpoints, or several runs as an ensemble."""

    runs: tuple[RunFolder, ...]
    checkpoint: str = "best"  # `best`, `last`, `averaged` or a step number
    results: Path | None = None  # folder of the results, instead of that of the runs

    @property
    def folder(self) -> Path:
        """Folder of the results; by default that of the first run, or for an ensemble a folder in it."""
        if self.results is not None:
            return self.results
        folder = self.runs[0].evaluation_folder
        if len(self.runs) == 1:
            return folder
        # The name has a hash of the paths, since runs in other folders may have the same names.
        paths = [run.path.resolve() for run in self.runs]
        places = "//".join(os.path.relpath(path, paths[0].parent) for path in paths)
        name = "+".join(path.name for path in paths)[:_LONGEST_NAME]
        return folder / f"{name}-{hashlib.sha256(places.encode()).hexdigest()[:8]}"
