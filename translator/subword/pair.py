"""The subword models of both sides of a run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from translator.subword.model import SubwordModel
from translator.subword.spelling import NO_CORRECTION, SpellingCorrector, read_word_counts

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
WORDS_FILE: Final = "words.tsv"  # the words of the English training text with their counts


@dataclass(frozen=True)
class SubwordPair:
    """The models of both sides; the same object if they are joint."""

    source: SubwordModel
    target: SubwordModel
    correct_spelling: SpellingCorrector = NO_CORRECTION

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

        Raises SubwordError: a file is missing or damaged.
        """
        if (folder / JOINT_FILE).exists():
            source = target = SubwordModel.load(folder / JOINT_FILE)
        else:
            source = SubwordModel.load(folder / SOURCE_FILE)
            target = SubwordModel.load(folder / TARGET_FILE)
        word_counts = read_word_counts(folder / WORDS_FILE)
        return cls(source=source, target=target, correct_spelling=SpellingCorrector(word_counts))
