"""A folder that the ranks of a machine share: one makes the files of an epoch, and all map them into memory."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_POLL: Final = 0.05  # seconds between two looks for a folder that another rank makes


@dataclass(frozen=True)
class MachineFolder:
    """A folder of this machine alone, seen by one of its ranks."""

    path: Path
    local_rank: int = 0
    local_world_size: int = 1  # ranks on this machine

    @property
    def is_maker(self) -> bool:
        """True on the rank that makes the content of the folder."""
        return self.local_rank == 0

    def wait_for(self, folder: Path, check: Callable[[], None]) -> None:
        """Wait until the maker has given `folder` its name; `check` may raise to stop."""
        while not folder.is_dir():
            check()
            time.sleep(_POLL)

    def release(self, folder: Path) -> None:
        """Note that this rank has mapped all files of `folder`, and delete it after the last rank.

        A mapped file outlives its name.
        """
        mark = f"mapped-by-{self.local_rank}"
        (folder / mark).touch()
        marks = [folder / f"mapped-by-{rank}" for rank in range(self.local_world_size)]
        if all(path.exists() for path in marks):
            # Two ranks may both find that they are the last.
            shutil.rmtree(folder, ignore_errors=True)
