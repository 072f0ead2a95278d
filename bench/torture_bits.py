"""Whether two runs ended in the same bits."""

import json
import re
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from translator.checkpoint import STATE_FILE
from translator.run_folder import RunFolder


def differences(run: Path, whole: Path) -> list[str]:
    """Return in what the ends of two runs differ that must be the same, bit for bit."""
    found = []
    for link in ("last", "best"):
        ours, theirs = (
            (RunFolder(folder).checkpoints_folder / link).resolve(strict=True).name for folder in (run, whole)
        )
        if ours != theirs:
            found.append(f"{run.name}: {link} is {ours}, not {theirs}")
    if not found:
        checkpoints = [RunFolder(folder).checkpoints_folder / "last" for folder in (run, whole)]
        found += [f"{run.name}: {line}" for line in _checkpoint_differences(*checkpoints)]
    ours, theirs = ((RunFolder(folder).evaluation_folder / "scores.json").read_text() for folder in (run, whole))
    if json.loads(ours) != json.loads(theirs):
        found.append(f"{run.name}: scores.json differs")
    return found


def _checkpoint_differences(ours: Path, theirs: Path) -> list[str]:
    names = [sorted(file.name for file in folder.glob("*.safetensors")) for folder in (ours, theirs)]
    if names[0] != names[1]:
        return [f"files {names[0]}, not {names[1]}"]
    found = []
    for name in names[0]:
        mine, other = load_file(ours / name), load_file(theirs / name)
        unlike = [
            key
            for key in sorted(mine.keys() | other.keys())
            if key not in mine or key not in other or mine[key].tobytes() != other[key].tobytes()
        ]
        if unlike:
            found.append(f"{name}: {len(unlike)} tensors differ: {', '.join(unlike[:4])}")
    states = [_state(folder) for folder in (ours, theirs)]
    found += [
        f"{key}: {states[0].get(key)}, not {states[1].get(key)}"
        for key in sorted(states[0].keys() | states[1].keys())
        if states[0].get(key) != states[1].get(key)
    ]
    return found


def _state(checkpoint: Path) -> dict[str, Any]:
    """Return what `state.json` tells, but for time spent and the number of sittings."""
    state = json.loads((checkpoint / STATE_FILE).read_text(encoding="utf-8"))["state"]
    progress = {f"progress.{key}": value for key, value in state.pop("progress").items()}
    return {**state, **{key: value for key, value in progress.items() if not re.search("seconds|sittings", key)}}
