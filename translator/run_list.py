"""A table of the runs below a folder: how far each has come, how good it is, and whether somebody is at work in it.

Everything is read from the small files of a run, never from its tensors; what is damaged is said in the row of its run.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from translator.checkpoint import STATE_FILE, find_checkpoint
from translator.config import Config
from translator.errors import CheckpointError, InputError, TranslatorError
from translator.lock import folder_holder, left_behind
from translator.run_folder import MARK, RunFolder
from translator.storage import explain_os_error
from translator.text_table import excerpt, text_table
from translator.training.progress import TrainingProgress

_HEADER: Final = (
    *("run", "state", "steps", "epochs", "minutes", "best", "tokens/s", "BLEU", "chrF", "size", "last change"),
)
_TEXT_COLUMNS: Final = 2
_NOTHING: Final = "-"
_LONGEST: Final = 80
"""Characters of a state."""


@dataclass(frozen=True)
class _Row:
    """One run."""

    changed: float
    """Time of the last change of any of its files, in seconds since 1970."""
    cells: tuple[str, ...]


def format_run_list(folder: Path | str = "runs") -> str:
    """Return the table of all runs in `folder` and the folders below it, the newest first.

    Raises:
        InputError: there is no such folder.
        StorageError: it may not be read.
    """
    folder = Path(folder)
    try:
        os.scandir(folder).close()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"no folder {folder}; name the one that holds the runs: translator runs FOLDER") from error
    except OSError as error:
        raise explain_os_error(error, folder, "read") from error
    rows = sorted((_row(run, folder) for run in _runs(folder)), key=lambda row: -row.changed)
    if not rows:
        return f"no runs in {folder}; train one first: make train, or translator train --config sample"
    return text_table(_HEADER, [row.cells for row in rows], text_columns=_TEXT_COLUMNS)


def _runs(folder: Path) -> Iterator[RunFolder]:
    """Yield the run folders in `folder`, itself included; links are not followed."""
    for place, names, files in os.walk(folder):
        run = RunFolder(Path(place))
        if run.has_checkpoint or (run.config_file.name in files and _begins_with_mark(run.config_file)):
            names.clear()  # no run lies inside another
            yield run
        names[:] = [name for name in names if not name.startswith(".")]


def _begins_with_mark(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(len(MARK)) == MARK.encode()
    except OSError:
        return False


def _row(run: RunFolder, folder: Path) -> _Row:
    """Return the row of a run, whatever state it is in."""
    name = run.path.name if run.path == folder else run.path.relative_to(folder).as_posix()
    size, changed = _size_and_change(run.path)
    problems: list[str] = []
    config = _config(run, problems)
    state = _state(run, problems)
    progress = _progress(state, problems)
    position = state.get("position", {})
    epoch = position.get("epoch") if isinstance(position, dict) else None
    rate = progress.target_tokens / progress.seconds if progress is not None and progress.seconds > 0 else None
    bleu, chrf = _scores(run, problems)
    cells = (
        name,
        _describe_state(run, config, progress, problems),
        _NOTHING if progress is None else f"{progress.step:,}",
        f"{epoch:,}" if isinstance(epoch, int) else _NOTHING,
        _NOTHING if progress is None else f"{progress.seconds / 60:.1f}",
        _best(config, progress),
        _NOTHING if rate is None else f"{rate:,.0f}",
        bleu,
        chrf,
        _show_size(size),
        datetime.fromtimestamp(changed).isoformat(sep=" ", timespec="minutes"),
    )
    return _Row(changed, tuple(excerpt(cell, _LONGEST) for cell in cells))


def _describe_state(
    run: RunFolder, config: Config | None, progress: TrainingProgress | None, problems: list[str]
) -> str:
    """Return the state in words, what is damaged after it."""
    owner, dead = folder_holder(run.path), left_behind(run.path)
    reason = progress.finished(config.training) if progress is not None and config is not None else None
    if owner is not None:
        state = f"running ({owner.pid} on {owner.host})"
    elif reason is not None:
        state = f"finished: {reason}"
    elif dead is not None:
        state = f"killed ({dead.pid} on {dead.host})"
    elif progress is not None:
        state = "stopped"
    else:
        state = "stopped before a checkpoint" if run.sittings() else "only prepared"
    return f"damaged: {', '.join(problems)}" if problems and owner is None else "; ".join([state, *problems])


def _config(run: RunFolder, problems: list[str]) -> Config | None:
    try:
        return run.config()
    except TranslatorError:
        problems.append(run.config_file.name)
        return None


def _state(run: RunFolder, problems: list[str]) -> dict[str, Any]:
    """Return the state of the last checkpoint; nothing if there is none, or none that can be read."""
    try:
        path = find_checkpoint(run.checkpoints_folder, "last")
    except (CheckpointError, OSError):
        return {}
    try:
        state = json.loads((path / STATE_FILE).read_text(encoding="utf-8"))["state"]
        if isinstance(state, dict):
            return state
    except (OSError, ValueError, KeyError, TypeError):
        pass
    problems.append(f"{path.name}/{STATE_FILE}")
    return {}


def _progress(state: dict[str, Any], problems: list[str]) -> TrainingProgress | None:
    """Return how far training had come at the last checkpoint."""
    if not state:
        return None
    try:
        progress = TrainingProgress(**state.get("progress", {}))
        progress.step = max(int(progress.step), int(state.get("step", 0)))
        progress.seconds, progress.target_tokens = float(progress.seconds), int(progress.target_tokens)
        progress.best_score = None if progress.best_score is None else float(progress.best_score)
        progress.validations_without_gain = int(progress.validations_without_gain)
    except (TypeError, ValueError):
        problems.append("progress of the last checkpoint")
        return None
    return progress


def _best(config: Config | None, progress: TrainingProgress | None) -> str:
    if config is None or progress is None or progress.best_score is None:
        return _NOTHING
    return f"{config.training.best_metric} {progress.best_score:.2f} at {progress.best_step}"


def _scores(run: RunFolder, problems: list[str]) -> tuple[str, str]:
    """Return BLEU and chrF of the first test set, of the newest evaluation, on raw text."""
    file = run.evaluation_folder / "scores.json"
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
        first = entries[0]["test_set"] if entries else None
        found = {
            entry["metric"]: f"{entry['score']:.2f}"
            for entry in reversed(entries)  # the newest stand first
            if entry["test_set"] == first and entry["normalization"] == "raw"
        }
    except FileNotFoundError:
        return _NOTHING, _NOTHING
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        problems.append(f"{run.evaluation_folder.name}/{file.name}")
        return _NOTHING, _NOTHING
    return found.get("bleu", _NOTHING), found.get("chrf", _NOTHING)


def _size_and_change(folder: Path) -> tuple[int, float]:
    """Return the bytes of all files in `folder` and the time of the last change; a file that vanishes is left out."""
    size, changed = 0, 0.0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                found = (Path(place) / name).lstat()
            except OSError:
                continue
            size, changed = size + found.st_size, max(changed, found.st_mtime)
    return size, changed


def _show_size(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"
