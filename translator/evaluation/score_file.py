"""evaluation/scores.json: every score that a run has got, the newest first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from translator.errors import RunError
from translator.evaluation.metrics import Score
from translator.run_folder import RunFolder
from translator.storage import storage_errors, write_json

_ENTRIES: Final = TypeAdapter(list[Score])


def scores_file(run: RunFolder) -> Path:
    """Return where the scores of `run` are kept."""
    return run.evaluation_folder / "scores.json"


def saved_scores(run: RunFolder) -> list[Score]:
    """Return the scores of `run`, the newest first; none if it was never evaluated.

    Raises:
        RunError: the file is damaged.
        StorageError: the file cannot be read.
    """
    path = scores_file(run)
    if not path.exists():
        return []
    with storage_errors(path, "read"):
        content = path.read_bytes()
    try:
        return _ENTRIES.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{part}]" for part in first["loc"])
        raise RunError(f"{path} is damaged ({first['msg']} {where}); delete it and evaluate again") from error


def add_scores(run: RunFolder, scores: Sequence[Score]) -> list[Score]:
    """Put `scores` before those saved, in place of older ones of the same setting, and return all.

    Raises:
        RunError: the file is damaged; it is left as it is.
        StorageError: the file cannot be written.
    """
    replaced = {score.setting for score in scores}
    merged = [*scores, *(score for score in saved_scores(run) if score.setting not in replaced)]
    write_json(scores_file(run), [score.to_json() for score in merged])
    return merged
