"""Which settings must agree: those of a run and of its resumption, and those of the ranks of one training."""

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from translator.config.keys import Effect, effects
from translator.config.loading import settings
from translator.config.sections import Config

EFFECTS: Final = {key: effect for key, effect in effects(Config) if effect is not None}
"""The effect of every key of a recipe; paths omit list indices."""
_OF_ONE_MACHINE: Final = frozenset(
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


@dataclass(frozen=True)
class Change:
    """One setting whose value differs from before."""

    key: str
    old: Any
    new: Any
    effect: Effect

    def __str__(self) -> str:
        old, new = (json.dumps(value, ensure_ascii=False) for value in (self.old, self.new))
        return f"{self.key}: {old} → {new}" + (f" ({self.effect.why})" if self.effect.why else "")


Changes = tuple[Change, ...]
NO_CHANGES: Final[Changes] = ()


def refusal(changes: Changes, folder: Path, *, allow_changed: bool) -> str | None:
    """Return why the run in `folder` cannot continue with these changes, and what to do; None if it can."""
    refused = [change for change in changes if change.effect.kind == "refused"]
    changing = [change for change in changes if change.effect.kind == "changes_result" and not allow_changed]
    if not refused and not changing:
        return None
    lines = [f"{folder} contains a run with different settings (old → new)"]
    for title, changed in (
        ("an existing run cannot change these:", refused),
        ("these change the result of training and need --allow-changed:", changing),
    ):
        lines += [title, *(f"  {change}" for change in changed)] if changed else []
    way_out = "restore the old settings, or start a new run with the new ones (run.directory=runs/OTHER)"
    if refused:
        way_out += f"; training.initialize_from={folder} starts it from these weights, as far as they fit"
    else:
        typed = shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["train"] else "train ..."
        lines.append(f"to accept them, run: translator {typed} --allow-changed")
    return "\n".join([*lines, way_out])


def compare_settings(old: Config, new: Config) -> Changes:
    """Return the differences between the settings of a run and the new ones; paths are compared as absolute."""
    before, after = (flatten(settings(config, absolute=True)) for config in (old, new))
    changed = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
    return tuple(Change(key, before.get(key), after.get(key), _effect(key, new)) for key in changed)


def shared_settings(config: Config) -> dict[str, Any]:
    """Return the settings that all ranks of a training must share, by dotted key; each path is an empty text.

    The same file may have another path on another machine; the ranks compare the prepared text itself.
    """
    values = flatten(config.model_dump(mode="json", context=lambda path: ""))
    return {key: value for key, value in values.items() if key not in _OF_ONE_MACHINE}


def _effect(key: str, new: Config) -> Effect:
    """Return the effect of a key; a key that ends a cosine schedule has a special one."""
    training = new.training
    if training.schedule_clock == "minutes" and key in ("training.max_steps", "training.max_minutes"):
        return Effect.CLOCK
    if training.schedule == "cosine" and key == "training.max_steps":
        return Effect.COSINE
    return EFFECTS[".".join(part for part in key.split(".") if not part.isdigit())]


def fingerprint_of(made_from: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON values as 64 hexadecimal digits; the order of keys has no effect.

    Keys that are null or false are ignored, so a new key that is off by default keeps old fingerprints valid.
    """
    return hashlib.sha256(json.dumps(_switched_on(made_from), sort_keys=True).encode("utf-8")).hexdigest()


def _switched_on(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _switched_on(child) for key, child in value.items() if child is not None and child is not False}
    return [_switched_on(child) for child in value] if isinstance(value, list | tuple) else value


def batch_order(config: Config) -> str:
    """Return a fingerprint of the settings that determine the batches of an epoch, for the same data."""
    values = flatten(settings(config))
    return fingerprint_of(
        {key: value for key, value in values.items() if value and _effect(key, config) is Effect.BATCHES}
    )


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested sections and lists as one level of dotted keys; empty ones stay unchanged.

    >>> flatten({"run": {"seed": 1}, "corpus": {"sources": [{"name": "mizan"}]}})
    {'run.seed': 1, 'corpus.sources.0.name': 'mizan'}
    """
    if not isinstance(value, dict | list) or not value:
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        flat |= flatten(child, f"{prefix}.{key}" if prefix else str(key))
    return flat
