"""evaluation/scores.json: every score that a run has got, the newest first."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.lock import exclusive
from translator.run_folder import RunFolder
from translator.storage import storage_errors, write_json

_ENTRIES: Final = TypeAdapter(list[Score])
_TRIES: Final = 600
_PAUSE: Final = 0.05
"""Seconds between two tries: another process has the folder for as long as it reads and writes one file."""


def scores_file(folder: Path) -> Path:
    """Return where the scores of an evaluation folder are kept."""
    return folder / "scores.json"


def saved_scores(run: RunFolder) -> list[Score]:
    """Return the scores of `run`, the newest first; none if it was never evaluated.

    Raises:
        RunError: the file is damaged.
        StorageError: the file cannot be read.
    """
    return read_scores(run.evaluation_folder)


def read_scores(folder: Path) -> list[Score]:
    """Return the scores kept in an evaluation folder, as `saved_scores` does.

    Raises:
        RunError: the file is damaged.
        StorageError: the file cannot be read.
    """
    path = scores_file(folder)
    with storage_errors(path, "read"):
        if not path.exists():
            return []
        content = path.read_bytes()
    try:
        return _ENTRIES.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f" [{part}]" for part in first["loc"])
        raise RunError(f"{path} is damaged ({first['msg']}{where}); delete it and evaluate again") from error


def add_scores(folder: Path, scores: Sequence[Score], *, first: bool = True) -> list[Score]:
    """Put `scores` among those saved in `folder`, in place of older ones of the same setting, and return all.

    Args:
        folder: the evaluation folder.
        scores: new ones.
        first: whether they stand before the others; scores on text that is not the run's own stand behind.

    Raises:
        RunError: the file is damaged; it is left as it is. Or another process keeps the folder to itself.
        StorageError: the file cannot be written.
    """
    replaced = {score.setting for score in scores}
    with sole_writer(folder):
        kept = [score for score in read_scores(folder) if score.setting not in replaced]
        merged = [*scores, *kept] if first else [*kept, *scores]
        write_json(scores_file(folder), [score.to_json() for score in merged])
    return merged


@contextlib.contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Hold an evaluation folder while one of its files is read, changed and written; waits while another one has it.

    Raises:
        RunError: another process does not give it back.
        StorageError: the folder cannot be made or opened.
    """
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for _ in range(_TRIES):
        with exclusive(folder) as free:
            if free:
                yield
                return
        time.sleep(_PAUSE)
    raise RunError(f"another process has {folder} to itself and does not give it back; wait for it, or stop it")
