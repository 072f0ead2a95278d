"""The folder of one run: its files, its settings, and the check of new settings against them."""

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from translator.config import Config, load_config, parse_config, resolved_yaml
from translator.config.keys import Effect
from translator.config.resuming import Changes, compare_settings, refusal
from translator.errors import ConfigError, RunError
from translator.run.files import new_folder, storage_errors, write_bytes, write_json, write_text
from translator.run.records import RecordError, read_record

_SESSIONS: Final = TypeAdapter(dict[Literal["sessions"], list[dict[str, Any]]])  # run.json
MARK: Final = "# The settings of this run, as resolved by translator."  # first line of config.yaml in every run


@dataclass(unsafe_hash=True)
class RunFolder:
    """Paths inside a run folder."""

    path: Path

    def __post_init__(self) -> None:
        self.config_file = self.path / "config.yaml"  # as resolved
        self.info_file = self.path / "run.json"  # versions, commit, hardware and command of each start
        self.subword_folder = self.path / "subword"  # copies of the subword models
        self.normalizer_file = self.subword_folder / "normalizer.json"  # the rules of the training text
        self.preparation_folder = self.path / "preparation"  # the report on the corpus, as JSON and as a page
        self.held_out_folder = self.path / "held_out"  # the validation and test text, as it was read
        self.checkpoints_folder = self.path / "checkpoints"  # one folder each, and the links `best` and `last`
        self.tensorboard_folder = self.path / "tensorboard"
        self.evaluation_folder = self.path / "evaluation"  # scores and hypotheses
        self.confidence_file = self.path / "confidence.json"  # how sure the best checkpoint is of a translation
        self.log_file = self.path / "log.txt"

    @property
    def has_checkpoint(self) -> bool:
        """Whether training has reached its first checkpoint."""
        return any(self.checkpoints_folder.glob("step-*"))

    @property
    def is_marked(self) -> bool:
        """Whether a run has written its config.yaml."""
        with contextlib.suppress(OSError):
            return self.config_file.read_bytes().startswith(MARK.encode())
        return False

    def owns(self, file: Path) -> bool:
        """Return whether `file`, a path below this folder, is where only this program writes."""
        # All attributes but the folder itself are files or folders inside it.
        places = [place for place in vars(self).values() if place != self.path]
        return any(file.is_relative_to(place) for place in places)

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Return the run folder at `path`; raise `RunError` if it is not a run."""
        folder = cls(Path(path))
        with storage_errors(path, "read"):
            if not folder.config_file.is_file():
                raise RunError(_why_no_run(folder.path))
        return folder

    def config(self, overrides: Sequence[str] = ()) -> Config:
        """Return the configuration of the run, changed by overrides (`key.path=value`) of FREE settings only.

        Raises `RunError` if config.yaml is damaged, `ConfigError` if an override would change what was trained.
        """
        config = self._saved_config()
        if not overrides:
            return config

        # 1. The settings with the overrides. The file itself is valid, so a mistake is in an override.
        text = self.config_file.read_text(encoding="utf-8-sig")
        changed_config = parse_config(text, f"the changed configuration of {self.path}", overrides)

        # 2. Refuse those that would change what was trained.
        refused = [change for change in compare_settings(config, changed_config) if change.effect is not Effect.FREE]
        if refused:
            rows = "\n".join(f"  {change}" for change in refused)
            raise ConfigError(f"a trained run cannot take these settings (saved → given):\n{rows}")
        return changed_config

    def _saved_config(self) -> Config:
        """Return the content of config.yaml; raise RunError if it is damaged or of another version."""
        try:
            return load_config(self.config_file)
        except ConfigError as error:
            raise RunError(
                f"the configuration in the run folder is damaged, or of another version of translator; restore it from "
                f"a copy, use the version that wrote it (see run.json), or train again into another folder. {error}"
            ) from error

    def check(self, config: Config, allow_changed: bool = False) -> Changes:
        """Return the changed settings, if a run with the settings `config` can start or continue here.

        Before the first checkpoint of a run all settings may change, without a report. `allow_changed` accepts changes
        that affect the result. Raises `RunError` with the old and new values of refused settings.
        """
        # 1. Check that the folder can be written, before a long preparation, and that it is empty or a run.
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.path).close()
            # Hidden files, such as `.lock`, do not count.
            is_used = any(not entry.name.startswith(".") for entry in self.path.iterdir())
        if is_used and not self.is_marked:
            raise RunError(f"{self.path} is not empty and not a run; choose another folder (run.directory=...)")

        # 2. Compare the settings. Before the first checkpoint there are no weights to lose, so all may change.
        if not self.has_checkpoint:
            return ()
        changes = compare_settings(self.config(), config)
        if reason := refusal(changes, self.path, allow_changed=allow_changed):
            raise RunError(reason)
        return changes

    def write(self, config: Config) -> None:
        """Save the resolved configuration with absolute paths, so that it is valid from any current folder."""
        write_text(self.config_file, f"{MARK}\n{resolved_yaml(config, absolute=True)}")

    def keep_subword(self, folder: Path, normalizer: str) -> None:
        """Copy the subword models from `folder` into the run, replacing those of an earlier start.

        `normalizer` is the content of the file with the rules of the normalizer.
        """
        contents = {file.name: file.read_bytes() for file in folder.iterdir()}
        contents[self.normalizer_file.name] = normalizer.encode()
        old_contents = {file.name: file.read_bytes() for file in self.subword_folder.glob("*") if file.is_file()}
        # If the run has all of these files already, a resumed run writes nothing.
        if not contents.items() <= old_contents.items():
            with new_folder(self.subword_folder) as replacement:
                for name, content in contents.items():
                    write_bytes(replacement / name, content)

    def note_session(self, environment: dict[str, Any], changes: Changes = ()) -> None:
        """Add the environment and the changed settings of a training session to run.json."""
        session = dict(environment)
        if changes:
            session["changed"] = {change.key: {"old": change.old, "new": change.new} for change in changes}
        write_json(self.info_file, {"sessions": [*self.sessions(), session]})

    def sessions(self) -> list[dict[str, Any]]:
        """Return the entries of run.json; empty if it is missing or unreadable."""
        with contextlib.suppress(OSError, RecordError):
            return read_record(_SESSIONS, self.info_file.read_bytes())["sessions"]
        return []


def run_that_wrote(file: Path) -> RunFolder | None:
    """Return the run, or the export, to which `file`, an absolute path, belongs; None for any other file."""
    # Runs are not nested, so the nearest run upwards is the only one.
    for folder in file.parents:
        run = RunFolder(folder)
        if run.is_marked and run.owns(file):
            return run
    return None


def _why_no_run(path: Path) -> str:
    """Return a message that says what is at `path`, and what to give instead."""
    if path.is_file():
        return f"{path} is a single file; give a run folder of translator"
    runs = sorted(str(file.parent) for file in path.parent.glob("*/config.yaml") if file.is_file())
    hint = f"runs there: {', '.join(runs)}" if runs else "train one first: make train"
    reason = "it has no config.yaml" if path.is_dir() else "the folder does not exist"
    return f"no run at {path} ({reason}); {hint}"
