"""The folder of one run: where each thing lies in it, and whether it belongs to the configuration at hand."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from translator.changes import NO_CHANGES, Changes, compare_settings, flatten
from translator.config import Config, load_config, parse_config, resolved_yaml
from translator.errors import ConfigError, RunError
from translator.foreign_folder import why_no_run
from translator.storage import new_folder, storage_errors, write_bytes, write_json, write_text

MARK = "# The settings of this run, as resolved by translator."
"""First line of config.yaml, by which a run folder knows its own."""
_MACHINE = ("versions", "hardware", "processes", "threads", "choices")
"""What of a sitting in run.json can change the bits of a result."""
_PRECISIONS = ("choices.precision", "choices.matmul_precision")
"""Of these, what can change more than the last ones."""


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

    @property
    def has_checkpoint(self) -> bool:
        """Whether training has got as far as its first checkpoint."""
        return any(self.checkpoints_folder.glob("step-*"))

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Return the run folder at `path`.

        Raises:
            RunError: there is no run there; the message says what there is.
            StorageError: it cannot be looked into.
        """
        folder = cls(Path(path))
        with storage_errors(path, "read"):
            there = folder.config_file.is_file()
        if not there:
            raise RunError(why_no_run(folder.path, folder.config_file.name))
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
        text = self.config_file.read_text(encoding="utf-8-sig")
        changed = parse_config(text, f"what is set for {self.path}", overrides)  # the file itself is right
        refused = [change for change in compare_settings(config, changed).items if change.effect.kind != "harmless"]
        if refused:
            rows = "\n".join(f"  {change}" for change in refused)
            raise ConfigError(f"a trained run cannot take these settings (saved → given):\n{rows}")
        return changed

    def check(self, config: Config, allow_changed: bool = False) -> Changes:
        """Make sure that a run with the settings `config` can be put here, or go on here; return what has changed.

        Before the first checkpoint of a run all settings may change, and nothing is said of it.

        Args:
            config: of the sitting that is about to begin.
            allow_changed: also accept changes that make the run end otherwise than it would have.

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
        if not self.config_file.is_file() or not self.has_checkpoint:
            return Changes()
        changes = compare_settings(self.config(), config)
        refusal = changes.refusal(self.path, allow_changed=allow_changed)
        if refusal is not None:
            raise RunError(refusal)
        return changes

    def write(self, config: Config) -> None:
        """Save the resolved configuration.

        Raises:
            StorageError: the folder cannot be written.
        """
        write_text(self.config_file, f"{MARK}\n{resolved_yaml(config)}")

    def note_sitting(self, environment: dict[str, Any], changes: Changes = NO_CHANGES) -> None:
        """Add versions, git commit, hardware, command and changed settings of a sitting that trains to run.json.

        Raises:
            StorageError: the folder cannot be written.
        """
        sitting = environment | ({"changed": changes.to_json()} if changes.items else {})
        write_json(self.info_file, {"sittings": [*self.sittings(), sitting]})

    def moved(self, environment: dict[str, Any]) -> list[str]:
        """Return, for the log, what the last sitting had otherwise in versions and hardware, and what that means.

        Args:
            environment: of the sitting that is about to begin, as `describe_environment` gives it; not noted yet.
        """
        sittings = self.sittings()
        if not sittings or not isinstance(sittings[-1], dict):
            return []
        before, now = ({key: sitting.get(key) for key in _MACHINE} for sitting in (sittings[-1], environment))
        old, new = flatten(before), flatten(now)
        return [
            f"since the last sitting {key} has changed: {old.get(key)} → {new.get(key)}; "
            f"{'what' if key in _PRECISIONS else 'the last bits of what'} is computed may differ from here on"
            for key in dict.fromkeys([*old, *new])
            if old.get(key) != new.get(key) and not key.startswith("choices.reasons")
        ]

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
