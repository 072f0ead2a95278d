"""The folder of one run: where each thing lies in it, and whether it belongs to the configuration at hand."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translator.config import Config, load_config, resolved_yaml
from translator.errors import ConfigError, RunError
from translator.storage import new_folder, storage_errors, write_bytes, write_json, write_text

MARK = "# The settings of this run, as resolved by translator."
"""First line of config.yaml, by which a run folder knows its own."""

CHANGEABLE = frozenset(
    {
        "run.directory",
        "run.device",
        "run.threads",
        "corpus.prepared_directory",
        "corpus.workers",
        "training.max_steps",
        "training.max_minutes",
        "training.log_every",
        "training.validate_every",
        "training.validation_sentences",
        "training.sample_translations",
        "training.checkpoint_every",
        "training.keep_checkpoints",
        "training.early_stopping",
        "search",
        "evaluation.metrics",
        # What lies in the files is held by the fingerprint of the data; where they lie may change.
        "corpus.sources.path",
        "corpus.sources.source_path",
        "corpus.sources.target_path",
        "corpus.sources.obtain",
        "evaluation.test_sets.path",
        "evaluation.test_sets.source_path",
        "evaluation.test_sets.target_path",
        "evaluation.test_sets.obtain",
    }
)
"""Settings (or whole sections) that may change between two sittings of one run: a step does not depend on them.

One of them bends this: under the cosine schedule the learning rate looks ahead to `training.max_steps`.
"""


@dataclass(frozen=True)
class RunFolder:
    """Names of the things inside a run folder."""

    path: Path

    @property
    def config_file(self) -> Path:
        """The resolved configuration."""
        return self.path / "config.yaml"

    @property
    def info_file(self) -> Path:
        """Versions, git commit, hardware and command of each sitting."""
        return self.path / "run.json"

    @property
    def subword_folder(self) -> Path:
        """The subword models, copied in."""
        return self.path / "subword"

    @property
    def preparation_folder(self) -> Path:
        """What preparing the corpus told, as JSON and as a page."""
        return self.path / "preparation"

    @property
    def checkpoints_folder(self) -> Path:
        """One folder per checkpoint, and the links `best` and `last`."""
        return self.path / "checkpoints"

    @property
    def tensorboard_folder(self) -> Path:
        """Event files."""
        return self.path / "tensorboard"

    @property
    def evaluation_folder(self) -> Path:
        """Scores and hypotheses."""
        return self.path / "evaluation"

    @property
    def log_file(self) -> Path:
        """Everything the run said."""
        return self.path / "log.txt"

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Return the run folder at `path`.

        Raises:
            RunError: there is no run there.
        """
        folder = cls(Path(path))
        with storage_errors(path, "read"):
            there = folder.config_file.is_file()
        if not there:
            parent = folder.path.parent
            runs = sorted(str(file.parent) for file in parent.glob("*/config.yaml")) if parent.is_dir() else []
            hint = f"runs there: {', '.join(runs)}" if runs else "train one first: make train"
            raise RunError(f"no run at {folder.path} (it has no config.yaml); {hint}")
        return folder

    def config(self, overrides: Sequence[str] = ()) -> Config:
        """Return the configuration of the run, with `key.path=value` overrides of settings that may change.

        Raises:
            RunError: config.yaml is damaged, or was written by a version with other keys.
            ConfigError: an override is wrong, or would change what the run was trained with.
        """
        try:
            config = load_config(self.config_file)
        except ConfigError as error:
            raise RunError(
                f"the configuration saved in the run is not usable; restore it from a copy, or delete {self.path} and "
                f"train again. {error}"
            ) from error
        if not overrides:
            return config
        changed = load_config(self.config_file, overrides)
        refused = [line for key, line in changed_settings(config, changed).items() if not _may_change(key)]
        if refused:
            rows = "\n".join(f"  {line}" for line in refused)
            raise ConfigError(f"a trained run cannot take these settings (saved → given):\n{rows}")
        return changed

    def check(self, config: Config) -> None:
        """Make sure that a run with the settings `config` can be put here, or go on here.

        Settings in `CHANGEABLE` may differ from those of the run that is there; before its first checkpoint all may.

        Raises:
            RunError: the folder holds a run with other settings (the message lists each with old and new value), or
                things that are no run at all.
            StorageError: the folder cannot be written.
        """
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):  # better now than after the preparation
                pass
            strange = [entry.name for entry in self.path.iterdir() if not entry.name.startswith(".")]  # ours begin so
        if strange and not self.config_file.is_file():
            raise RunError(f"{self.path} is not empty and holds no run; choose another folder (run.directory=...)")
        if strange and not self.config_file.read_text(encoding="utf-8", errors="replace").startswith(MARK):
            raise RunError(
                f"{self.config_file} was not written by a run, and training would overwrite it; choose another folder "
                "(run.directory=...)"
            )
        if self.config_file.is_file() and any(self.checkpoints_folder.glob("step-*")):
            refused = [line for key, line in changed_settings(self.config(), config).items() if not _may_change(key)]
            if refused:
                rows = "\n".join(f"  {line}" for line in refused)
                raise RunError(
                    f"{self.path} holds a run with other settings (old → new):\n{rows}\n"
                    "Give the new run its own folder (run.directory=runs/OTHER), restore the old settings, "
                    f"or delete {self.path} if it is not needed."
                )

    def write(self, config: Config) -> None:
        """Save the resolved configuration.

        Raises:
            StorageError: the folder cannot be written.
        """
        write_text(self.config_file, f"{MARK}\n{resolved_yaml(config)}")

    def note_sitting(self, environment: dict[str, Any]) -> None:
        """Add versions, git commit, hardware and command of a sitting that trains to run.json.

        Raises:
            StorageError: the folder cannot be written.
        """
        write_json(self.info_file, {"sittings": [*self.sittings(), environment]})

    def sittings(self) -> list[dict[str, Any]]:
        """Return what run.json says of each sitting; nothing if it is not there or not readable."""
        try:
            found = json.loads(self.info_file.read_text(encoding="utf-8"))["sittings"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return found if isinstance(found, list) else []

    def keep_subword(self, folder: Path) -> None:
        """Copy the subword models from `folder` into the run, in place of others from before its first checkpoint."""
        files = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
        there = sorted(self.subword_folder.iterdir()) if self.subword_folder.is_dir() else []
        if files != {file.name: file.read_bytes() for file in there}:
            with new_folder(self.subword_folder) as beside:
                for name, content in files.items():
                    write_bytes(beside / name, content)


def changed_settings(old: Config, new: Config) -> dict[str, str]:
    """Return, for each key path whose value differs, a line `key: old → new`."""
    before, after = flatten(old.model_dump(mode="json")), flatten(new.model_dump(mode="json"))
    keys = [*before, *(key for key in after if key not in before)]
    return {
        key: f"{key}: {_show(before.get(key))} → {_show(after.get(key))}"
        for key in keys
        if before.get(key) != after.get(key)
    }


def _show(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _may_change(key: str) -> bool:
    parts = [part for part in key.split(".") if not part.isdigit()]  # corpus.sources.0.path is corpus.sources.path
    return any(".".join(parts[:count]) in CHANGEABLE for count in range(1, len(parts) + 1))


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return nested sections and lists as one level of dotted keys; an empty one stays as it is."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, child in items:
        flat |= flatten(child, f"{prefix}.{key}" if prefix else str(key))
    return flat
