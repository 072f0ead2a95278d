"""The table of all runs: state, best score and speed of each, read from small files and not from tensors."""

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from translator.config import Config
from translator.errors import InputError, OtherVersionError, TranslatorError
from translator.run.folder import RunFolder
from translator.run.locks import is_held
from translator.run.records import WholeNumber, read_record
from translator.run.text import excerpt, text_table

_COLUMNS: Final = ("run", "state", "steps", "epochs", "minutes", "best", "tokens/s", "BLEU", "chrF", "last change")
_LONGEST_CELL: Final = 80  # characters
_METRIC_COLUMNS: Final = {"BLEU": "bleu", "chrF": "chrf"}
_LAST_TIME: Final = datetime(9999, 1, 1).timestamp()  # a time stamp can be later, a date cannot


# --- the part of state.json and scores.json that the table shows: other keys may come from newer versions ---

_SHOWN: Final = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class _Progress(BaseModel):
    model_config = _SHOWN

    step: WholeNumber = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    target_tokens: WholeNumber = 0
    best_score: float | None = None
    best_step: WholeNumber | None = None
    validations_without_gain: WholeNumber = 0


class _State(BaseModel):
    model_config = _SHOWN

    step: WholeNumber
    position: dict[str, WholeNumber] = Field(default_factory=dict)
    progress: _Progress


class _Checkpoint(BaseModel):
    model_config = _SHOWN

    state: _State


class _Score(BaseModel):
    model_config = _SHOWN

    test_set: str
    metric: str
    score: float
    normalization: str


_CHECKPOINT: Final = TypeAdapter(_Checkpoint)  # state.json
_SCORES: Final = TypeAdapter(list[_Score])  # scores.json


# --- the table ---


def format_run_list(folder: Path | str = "runs") -> str:
    """Return the table of all runs in `folder` and its subfolders, newest first.

    Raises InputError: `folder` does not exist.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"no folder {folder}; give the folder of the runs: translator runs FOLDER")
    rows = [_row(run, folder) for run in _runs_below(folder)]
    if not rows:
        return f"no runs in {folder}; train one first: make train, or translator train --config sample"
    rows.sort(key=lambda row: row["last change"], reverse=True)
    cells = []
    for row in rows:
        cells.append([excerpt(row.get(column, "-"), _LONGEST_CELL) for column in _COLUMNS])
    return text_table(_COLUMNS, cells, text_columns=2)


def _runs_below(folder: Path) -> Iterator[RunFolder]:
    """Yield the runs in `folder`, which may be a run itself; hidden folders are left out."""
    for place, names, _ in os.walk(folder):
        run = RunFolder(Path(place))
        if run.has_checkpoint or run.is_marked:
            names.clear()  # runs are not nested
            yield run
        names[:] = [name for name in names if not name.startswith(".")]


def _row(run: RunFolder, folder: Path) -> dict[str, str]:
    """Return the cells of a run by column; damage is a state, so that it stops no other row."""
    row = {
        "run": run.path.name if run.path == folder else run.path.relative_to(folder).as_posix(),
        "state": _state_without_progress(run),
    }
    file = run.config_file  # the one that is read, for the message
    try:
        config = run.config()
        if run.has_checkpoint:
            file = _newest_checkpoint(run) / "state.json"
            row |= _progress_cells(read_record(_CHECKPOINT, file.read_bytes()).state, config)
        file = run.evaluation_folder / "scores.json"
        if file.exists():
            row |= _score_cells(read_record(_SCORES, file.read_bytes()))
    except OtherVersionError:
        row["state"] = "of another version of translator"
    except (TranslatorError, OSError, ValueError):
        row["state"] = f"damaged: {file.parent.name}/{file.name}"
    # A running training may be in the middle of writing, so this state comes before all others.
    if is_held(run.path):
        row["state"] = "running"
    row["last change"] = _last_change(run)
    return row


def _state_without_progress(run: RunFolder) -> str:
    if run.has_checkpoint:
        return "stopped"
    return "stopped before a checkpoint" if run.sessions() else "only prepared"


def _newest_checkpoint(run: RunFolder) -> Path:
    last = run.checkpoints_folder / "last"
    return last.resolve() if last.exists() else max(run.checkpoints_folder.glob("step-*"))


def _progress_cells(state: _State, config: Config) -> dict[str, str]:
    progress = state.progress
    step = max(progress.step, state.step)
    cells = {"steps": f"{step:,}", "minutes": f"{progress.seconds / 60:.1f}"}
    if "epoch" in state.position:
        cells["epochs"] = f"{state.position['epoch']:,}"
    if progress.seconds > 0:
        cells["tokens/s"] = f"{progress.target_tokens / progress.seconds:,.0f}"
    if progress.best_score is not None:
        cells["best"] = f"{config.training.best_metric} {progress.best_score:.2f} at {progress.best_step}"
    # The training makes the same test after each update.
    if reason := config.training.finished(step, progress.seconds, progress.validations_without_gain):
        cells["state"] = f"finished: {reason}"
    return cells


def _score_cells(entries: list[_Score]) -> dict[str, str]:
    """Return the newest scores on raw text of the test set that was scored last."""
    scores = {}
    for entry in reversed(entries):  # the newest come first
        if entry.test_set == entries[0].test_set and entry.normalization == "raw":
            scores[entry.metric] = f"{entry.score:.2f}"
    return {column: scores[metric] for column, metric in _METRIC_COLUMNS.items() if metric in scores}


def _last_change(run: RunFolder) -> str:
    """Return the time of the last change of an entry of the run folder, in local time."""
    newest = 0.0
    with contextlib.suppress(OSError):  # an entry was deleted meanwhile
        newest = max(entry.lstat().st_mtime for entry in run.path.iterdir())
    return datetime.fromtimestamp(min(newest, _LAST_TIME)).isoformat(sep=" ", timespec="seconds")
