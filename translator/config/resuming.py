"""Which settings must agree: those of a run and of its resumption, and those of the ranks of one training."""

import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from translator.config.keys import Effect, effects
from translator.config.sections import Config
from translator.config.writing import settings

EFFECTS: Final = {key: effect for key, effect in effects(Config) if effect is not None}
"""The effect of every key of a recipe; paths omit list indices."""
_KEYS_OF_ONE_MACHINE: Final = frozenset(
    {
        "run.directory",
        "run.device",
        "run.threads",
        "training.processes",
        "corpus.workers",
        "search.processes",
    }
)
"""Keys that each machine of a training may set for itself, as it may all paths."""
_KEYS_OF_BATCHES: Final = re.compile(r"batching\..+|training\.augmentation\..+|run\.seed|corpus\.sources\.\d+\.weight")
"""Keys that decide the batches of an epoch."""


@dataclass(frozen=True)
class Change:
    """One setting whose value differs from before."""

    key: str
    old: Any
    new: Any
    effect: Effect

    def __str__(self) -> str:
        old = json.dumps(self.old, ensure_ascii=False)
        new = json.dumps(self.new, ensure_ascii=False)
        return f"{self.key}: {old} → {new}"


Changes = tuple[Change, ...]


def refusal(changes: Changes, folder: Path, *, allow_changed: bool) -> str | None:
    """Return why the run in `folder` cannot continue with these changes, and what to do; None if it can."""
    refused = [change for change in changes if change.effect is Effect.REFUSED]
    to_confirm = [change for change in changes if change.effect is Effect.RESULT and not allow_changed]
    if not refused and not to_confirm:
        return None

    # 1. The changes.
    lines = [f"{folder} contains a run with different settings (old → new)"]
    if refused:
        lines.append("an existing run cannot change these:")
        lines += [f"  {change}" for change in refused]
    if to_confirm:
        lines.append("these change the result of training and need --allow-changed:")
        lines += [f"  {change}" for change in to_confirm]

    # 2. What to do: repeat the command with --allow-changed, if that suffices, or take another way.
    way_out = "restore the old settings, or start a new run with the new ones (run.directory=runs/OTHER)"
    if refused:
        way_out += f"; training.initialize_from={folder} starts it from these weights, as far as they fit"
    else:
        # Another verb, or a program, may have started the training.
        typed_command = shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["train"] else "train ..."
        lines.append(f"to accept them, run: translator {typed_command} --allow-changed")
    lines.append(way_out)
    return "\n".join(lines)


def compare_settings(old: Config, new: Config) -> Changes:
    """Return the differences between the settings of a run and the new ones; paths are compared as absolute."""
    # A run may be resumed from another current folder, where a relative path means another place.
    old_values = flatten(settings(old, absolute=True))
    new_values = flatten(settings(new, absolute=True))
    changes = []
    for key in old_values | new_values:
        old_value, new_value = old_values.get(key), new_values.get(key)
        if old_value != new_value:
            changes.append(Change(key=key, old=old_value, new=new_value, effect=_effect(key, new)))
    return tuple(changes)


def shared_settings(config: Config) -> dict[str, Any]:
    """Return the settings that all ranks of a training must share, by dotted key; each path is an empty text.

    The same file may have another path on another machine; the ranks compare the prepared text itself.
    """
    values = flatten(config.model_dump(mode="json", context=lambda path: ""))
    return {key: value for key, value in values.items() if key not in _KEYS_OF_ONE_MACHINE}


def _effect(key: str, new: Config) -> Effect:
    """Return the effect of a key; the end of a schedule has the effect RESULT, as it decides every learning rate."""
    ends_of_schedule = {"training.max_steps"}
    if new.training.schedule_clock == "minutes":
        ends_of_schedule.add("training.max_minutes")
    if new.training.schedule_ends and key in ends_of_schedule:
        return Effect.RESULT
    # The keys of EFFECTS have no list indices: an item of a list has the effect of any other.
    without_indices = [part for part in key.split(".") if not part.isdigit()]
    return EFFECTS[".".join(without_indices)]


def batch_settings(config: Config) -> dict[str, Any]:
    """Return the settings that determine the batches of an epoch, for the same data, by dotted key."""
    values = flatten(settings(config))
    return {key: value for key, value in values.items() if _KEYS_OF_BATCHES.fullmatch(key)}


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested sections and lists as one level of dotted keys; empty ones stay unchanged.

    >>> flatten({"run": {"seed": 1}, "corpus": {"sources": [{"name": "mizan"}]}})
    {'run.seed': 1, 'corpus.sources.0.name': 'mizan'}
    """
    if not isinstance(value, dict | list) or not value:
        return {prefix: value}
    # Items of a list have their index, from 0, as the key.
    children = value.items() if isinstance(value, dict) else enumerate(value)
    flat: dict[str, Any] = {}
    for key, child in children:
        flat |= flatten(child, f"{prefix}.{key}" if prefix else str(key))
    return flat
