"""The subword models of both sides of a run."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic_core import from_json

from translator.errors import SubwordError
from translator.subword.files import (
    JOINT_FILE,
    RECORD_FILE,
    SOURCE_FILE,
    TARGET_FILE,
    WORDS_FILE,
    read_file,
    remedy,
)
from translator.subword.model import SubwordModel
from translator.subword.spelling import SpellingCorrector
from translator.subword.word_counts import read_word_counts


def _no_correction() -> SpellingCorrector:
    return SpellingCorrector({})


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; the same object if they are joint."""

    source: SubwordModel
    target: SubwordModel
    correct_spelling: SpellingCorrector = field(default_factory=_no_correction)

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def sha256(self) -> dict[str, str]:
        """The SHA-256 of each model by file name, as recorded in checkpoints."""
        if self.joint:
            return {JOINT_FILE: self.source.sha256}
        return {SOURCE_FILE: self.source.sha256, TARGET_FILE: self.target.sha256}

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Return the models in `folder`: `joint.model`, or `source.model` and `target.model`.

        If `subword.json` exists, the models must match it.

        Raises SubwordError: a file is missing, damaged, or differs from the trained one.
        """
        if (folder / JOINT_FILE).exists():
            source = target = SubwordModel.load(folder / JOINT_FILE)
        else:
            source = SubwordModel.load(folder / SOURCE_FILE)
            target = SubwordModel.load(folder / TARGET_FILE)
        word_counts = read_word_counts(folder / WORDS_FILE)
        pair = cls(source=source, target=target, correct_spelling=SpellingCorrector(word_counts))
        if (folder / RECORD_FILE).exists():
            pair._check_record(folder)
        return pair

    def _check_record(self, folder: Path) -> None:
        """Raise SubwordError if a model in `folder` is not the one that its record names."""
        record = folder / RECORD_FILE
        try:
            expected = dict(from_json(read_file(record))["sha256"])
        except (ValueError, KeyError, TypeError) as error:
            raise SubwordError(f"{record} is damaged; {remedy(record)}") from error
        for file, sha256 in self.sha256.items():
            if expected.get(file) != sha256:
                raise SubwordError(
                    f"{folder / file} is not the model that was trained (its SHA-256 differs from {RECORD_FILE}); "
                    f"{remedy(folder / file)}"
                )
