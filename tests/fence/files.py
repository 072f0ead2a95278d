"""Files of users and of runs, as the tests of the fence write and read them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    """Write one text per line, and return the path."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[str]:
    """Return the texts of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def read_json(path: Path) -> Any:
    """Return the values in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def scores_of(folder: Path, **values: str) -> list[dict[str, Any]]:
    """Return the entries of the scores in a folder of an evaluation that have these values."""
    entries: list[dict[str, Any]] = read_json(folder / "scores.json")
    return [entry for entry in entries if values.items() <= entry.items()]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder by its path in it, but the locks of runs."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
