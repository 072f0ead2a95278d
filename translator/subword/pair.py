"""The subword models of both languages, as a folder holds them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.errors import SubwordError
from translator.subword.model import SubwordModel, read_model, remedy_for

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
RECORD_FILE: Final = "subword.json"


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; one and the same object when they are joint."""

    source: SubwordModel
    target: SubwordModel

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def sha256(self) -> dict[str, str]:
        """The hash of each model by file name, as checkpoints record it."""
        if self.joint:
            return {JOINT_FILE: self.source.sha256}
        return {SOURCE_FILE: self.source.sha256, TARGET_FILE: self.target.sha256}

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Load `joint.model`, or `source.model` and `target.model`; `subword.json`, if there, must agree with them.

        Raises:
            SubwordError: a file is missing, damaged, or not the one that was trained.
        """
        if (folder / JOINT_FILE).exists():
            joint = SubwordModel.load(folder / JOINT_FILE)
            pair = cls(joint, joint)
        else:
            pair = cls(SubwordModel.load(folder / SOURCE_FILE), SubwordModel.load(folder / TARGET_FILE))
        if (folder / RECORD_FILE).exists():
            expected = _read_record(folder / RECORD_FILE)
            for file, sha256 in pair.sha256.items():
                if expected.get(file) != sha256:
                    raise SubwordError(
                        f"{folder / file} is not the model that was trained (its SHA-256 differs from "
                        f"{RECORD_FILE}); {remedy_for(folder / file)}"
                    )
        return pair


def _read_record(path: Path) -> dict[str, str]:
    """Return the hashes that were recorded when the models of a folder were trained."""
    try:
        recorded = json.loads(read_model(path))["sha256"]
        return {str(file): str(sha256) for file, sha256 in recorded.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SubwordError(f"{path} is damaged; {remedy_for(path)}") from error
