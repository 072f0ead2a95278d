"""The folder of one run: its files, provenance and check against a configuration; a table of all runs."""

import contextlib
import filecmp
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from translator.config import Config, load_config, parse_config, resolved_yaml
from translator.config.resuming import NO_CHANGES, Changes, compare_settings, flatten, refusal
from translator.config.sections import REMOVED_KEYS
from translator.errors import ConfigError, InputError, OtherVersionError, RunError, StorageError, TranslatorError
from translator.run.logging import LOGGER
from translator.run.records import RecordError, WholeNumber, read_record
from translator.run.storage import is_held, new_folder, storage_errors, write_json, write_text
from translator.run.text import excerpt, text_table

_SESSIONS: Final = TypeAdapter(dict[Literal["sessions"], list[dict[str, Any]]])  # run.json
MARK: Final = "# The settings of this run, as resolved by translator."  # first line of config.yaml in every run
DIGITS_IN_NAME: Final = 16  # of a fingerprint, in the name of a folder
_PICKLES: Final = (".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".joblib")
"""Suffixes of pickled weights, which can run any code when they are loaded."""
_RECOGNISED: Final = (
    ({"export.json", "source.spm"}, "an export for Hugging Face, which `transformers` loads (see its README.md)"),
    ({"export.json"}, "a damaged export; copy it again, or export the run again"),
    ({"config.json"}, "a model of another program, such as Hugging Face or CTranslate2"),
)
"""Typical files of folders that are not runs, and a description of each kind."""
_MACHINE: Final = ("versions", "hardware", "processes", "threads", "choices")  # may change the bits of a result
_PACKAGES: Final = ("translator", "torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic")
"""Packages whose version can change a score."""
_SHOWN: Final = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)
"""For the classes of what the table of runs shows: other keys are ignored."""
_LAST_TIME: Final = datetime(9999, 1, 1).timestamp()  # a time stamp can be later, a date cannot
_COLUMNS: Final = ("run", "state", "steps", "epochs", "minutes", "best", "tokens/s", "BLEU", "chrF", "last change")


def prepared_folder(prepared_directory: Path | str, kind: str, fingerprint: str) -> Path:
    """Return `<prepared_directory>/<kind>-<16 digits>`, the folder of prepared data with this fingerprint."""
    return Path(prepared_directory) / f"{kind}-{fingerprint[:DIGITS_IN_NAME]}"


def damaged(what: str, reason: str, folder: Path) -> StorageError:
    """Return the error for a damaged file `what` inside the prepared `folder`."""
    advice = f"delete the folder {folder} and run the same command again, which rebuilds it"
    return StorageError(f"{what} is damaged ({reason}); {advice}")


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

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Return the run folder at `path`; raise `RunError` if it is not a run."""
        folder = cls(Path(path))
        with storage_errors(path, "read"):
            if not folder.config_file.is_file():
                raise RunError(_why_no_run(folder.path))
        return folder

    def config(self, overrides: Sequence[str] = ()) -> Config:
        """Return the configuration of the run with `key.path=value` overrides of harmless settings only.

        Raises `RunError` if config.yaml is damaged, `ConfigError` if an override would change what was trained.
        """
        try:
            config = load_config(self.config_file)
        except ConfigError as error:
            if any(message in str(error) for message in REMOVED_KEYS.values()):
                raise OtherVersionError(
                    f"{self.path} was trained by an earlier version of translator, whose batches were made otherwise; "
                    "use the version that wrote it (see run.json), or train again into another folder "
                    "(run.directory=runs/OTHER)"
                ) from error
            if error.newer:
                raise OtherVersionError(
                    f"{self.config_file} was made by a newer version of translator, or changed by hand; use the "
                    f"version that wrote it (see run.json), or correct it. {error}"
                ) from error
            advice = f"restore it from a copy, or delete {self.path} and train again"
            raise RunError(f"the configuration in the run folder is damaged; {advice}. {error}") from error
        if not overrides:
            return config
        text = self.config_file.read_text(encoding="utf-8-sig")
        changed = parse_config(text, f"the changed configuration of {self.path}", overrides)  # the file itself is valid
        refused = [change for change in compare_settings(config, changed) if change.effect.kind != "harmless"]
        if refused:
            rows = "\n".join(f"  {change}" for change in refused)
            raise ConfigError(f"a trained run cannot take these settings (saved → given):\n{rows}")
        return changed

    def check(self, config: Config, allow_changed: bool = False) -> Changes:
        """Return the changed settings, if a run with the settings `config` can start or continue here.

        Before the first checkpoint of a run all settings may change, without a report. `allow_changed` accepts changes
        that affect the result. Raises `RunError` with the old and new values of refused settings, `ConfigError` if the
        settings could not be read again.
        """
        _check_readable(config)
        with storage_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.path).close()  # fail before the preparation, not after it
            used = any(not entry.name.startswith(".") for entry in self.path.iterdir())
        if used and not self.is_marked:
            raise RunError(f"{self.path} is not empty and not a run; choose another folder (run.directory=...)")
        if not self.has_checkpoint:
            return NO_CHANGES
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
        names = [file.name for file in folder.iterdir()]
        same, _, _ = filecmp.cmpfiles(folder, self.subword_folder, names, shallow=False)
        has_rules = self.normalizer_file.is_file() and self.normalizer_file.read_bytes() == normalizer.encode()
        if len(same) < len(names) or not has_rules:
            with new_folder(self.subword_folder) as beside:
                for name in names:
                    shutil.copyfile(folder / name, beside / name)
                write_text(beside / self.normalizer_file.name, normalizer)

    def note_session(self, environment: dict[str, Any], changes: Changes = NO_CHANGES) -> None:
        """Add the environment and the changed settings of a training session to run.json."""
        self._set_unreadable_info_aside()
        changed = {change.key: {"old": change.old, "new": change.new} for change in changes}
        session = environment | ({"changed": changed} if changed else {})
        write_json(self.info_file, {"sessions": [*self.sessions(), session]})

    def _set_unreadable_info_aside(self) -> None:
        """Rename a run.json that cannot be read, with a warning: a new one would replace all that it says."""
        try:
            content = self.info_file.read_bytes()
            read_record(_SESSIONS, content)
        except FileNotFoundError:
            return
        except RecordError as error:
            digest = hashlib.sha256(content).hexdigest()[:8]
            aside = self.info_file.with_name(f"run.unreadable-{digest}.json")
            with storage_errors(aside):
                self.info_file.rename(aside)
            LOGGER.warning(error.about(self.info_file, f"it is kept as {aside.name}, and a new one begins"))

    def sessions(self) -> list[dict[str, Any]]:
        """Return the entries of run.json; none if it is missing or unreadable."""
        with contextlib.suppress(OSError, RecordError):
            return read_record(_SESSIONS, self.info_file.read_bytes())["sessions"]
        return []

    def environment_changes(self, environment: dict[str, Any]) -> list[str]:
        """Return the differences between the last session and `environment`, one line each."""
        if not (sessions := self.sessions()):
            return []
        old, new = (flatten({key: found.get(key) for key in _MACHINE}) for found in (sessions[-1], environment))
        return [
            f"since the last start of this run {key} has changed: {old.get(key)} → {new.get(key)}; results may differ"
            for key in dict.fromkeys([*old, *new])
            if old.get(key) != new.get(key) and not key.startswith("choices.reasons")
        ]


def _check_readable(config: Config) -> None:
    """Raise ConfigError if config.yaml, with absolute paths, could not be read: the run could never be opened."""
    try:
        text = resolved_yaml(config, absolute=True)
        text.encode("utf-8")
        parse_config(text, "config.yaml of this run")
    except (ConfigError, UnicodeEncodeError) as error:
        raise ConfigError(
            f"this run could not be opened again: the path of the current folder, {str(Path.cwd())!r}, or of another "
            "that the settings name has a character like a line break or a tab; rename that folder, or start from "
            f"another one. {error}"
        ) from error


def _why_no_run(place: Path) -> str:
    """Return a message that says what `place` is and what to give instead; opens no file of it."""
    wanted = "give a run folder of translator"
    names = [entry.name for entry in ([place] if place.is_file() else place.glob("*"))]
    for files, what in _RECOGNISED:
        if files.issubset(names):
            return f"{place} is not a run, but {what}; {wanted}"
    if pickles := sorted(name for name in names if Path(name).suffix.lower() in _PICKLES):
        return f"{place} is not a run; pickles like {pickles[0]} are never loaded, since they can run code; {wanted}"
    if place.is_file():
        return f"{place} is a single file; {wanted}"
    runs = sorted(str(file.parent) for file in place.parent.glob("*/config.yaml") if file.is_file())
    there = f"runs there: {', '.join(runs)}" if runs else "train one first: make train"
    what = "it has no config.yaml" if place.is_dir() else "the folder does not exist"
    return f"no run at {place} ({what}); {there}"


# --- provenance ---


def describe_environment() -> dict[str, Any]:
    """Return versions, git commit and hardware as JSON values; unknown values are null."""
    import torch

    processor = platform.processor() or None
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), processor)
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "versions": {"python": platform.python_version(), **package_versions()},
        "git": _git_commit(),
        "hardware": {
            "system": platform.platform(),
            "cpu": processor,
            "cores": os.cpu_count(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "gpus": [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())],
        },
    }


def package_versions() -> dict[str, str]:
    """Return the version of each installed package that can change a score."""
    versions: dict[str, str] = {}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions


def code_fingerprint() -> str:
    """Return the SHA-256, as hexadecimal digits, of the Python files of this program, with their names."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _git_commit() -> str | None:
    """Return the commit of the checkout with this code, and `-dirty` if it has changes; None outside a checkout."""

    def ask(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        ask("ls-files", "--error-unmatch", Path(__file__).name)  # fails inside another repository
        return ask("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    return None


# --- the table of runs, read from small files, not from tensors ---


def format_run_list(folder: Path | str = "runs") -> str:
    """Return the table of all runs in `folder` and its subfolders, newest first."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"no folder {folder}; give the folder of the runs: translator runs FOLDER")
    rows = sorted((_row(run, folder) for run in _runs(folder)), key=lambda row: row["last change"], reverse=True)
    if not rows:
        return f"no runs in {folder}; train one first: make train, or translator train --config sample"
    cells = [[excerpt(row.get(name, "-"), 80) for name in _COLUMNS] for row in rows]
    return text_table(_COLUMNS, cells, text_columns=2)


def _runs(folder: Path) -> Iterator[RunFolder]:
    for place, names, _ in os.walk(folder):
        run = RunFolder(Path(place))
        if run.has_checkpoint or run.is_marked:
            names.clear()  # runs are not nested
            yield run
        names[:] = [name for name in names if not name.startswith(".")]


def _row(run: RunFolder, folder: Path) -> dict[str, str]:
    row = {"run": run.path.name if run.path == folder else run.path.relative_to(folder).as_posix()}
    begun = "stopped before a checkpoint" if run.sessions() else "only prepared"
    row["state"] = "stopped" if run.has_checkpoint else begun
    file = run.config_file
    try:
        config = run.config()
        if run.has_checkpoint:
            last = run.checkpoints_folder / "last"
            newest = last.resolve() if last.exists() else max(run.checkpoints_folder.glob("step-*"))
            file = newest / "state.json"
            row |= _progress(read_record(_CHECKPOINT, file.read_bytes()).state, config)
        file = run.evaluation_folder / "scores.json"
        if file.exists():
            row |= _scores(read_record(_SCORES, file.read_bytes()))
    except OtherVersionError:
        row["state"] = "of another version of translator"
    except (TranslatorError, OSError, ValueError):
        row["state"] = f"damaged: {file.parent.name}/{file.name}"
    if is_held(run.path):
        row["state"] = "running"
    changed = 0.0
    with contextlib.suppress(OSError):  # an entry was deleted meanwhile
        changed = max(entry.lstat().st_mtime for entry in run.path.iterdir())
    last_change = datetime.fromtimestamp(min(changed, _LAST_TIME)).isoformat(sep=" ", timespec="seconds")
    return row | {"last change": last_change}


# Only what the table shows: it lists the runs of newer versions as well.


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


def _progress(state: _State, config: Config) -> dict[str, str]:
    progress = state.progress
    step = max(progress.step, state.step)
    row = {"steps": f"{step:,}", "minutes": f"{progress.seconds / 60:.1f}"}
    if "epoch" in state.position:
        row["epochs"] = f"{state.position['epoch']:,}"
    if progress.seconds > 0:
        row["tokens/s"] = f"{progress.target_tokens / progress.seconds:,.0f}"
    if progress.best_score is not None:
        row["best"] = f"{config.training.best_metric} {progress.best_score:.2f} at {progress.best_step}"
    if reason := config.training.finished(step, progress.seconds, progress.validations_without_gain):
        row["state"] = f"finished: {reason}"
    return row


def _scores(entries: list[_Score]) -> dict[str, str]:
    scores = {}
    for entry in reversed(entries):  # the newest come first
        if entry.test_set == entries[0].test_set and entry.normalization == "raw":
            scores[entry.metric] = f"{entry.score:.2f}"
    return {column: scores[metric] for column, metric in (("BLEU", "bleu"), ("chrF", "chrf")) if metric in scores}
