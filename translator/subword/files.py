"""The files of a folder of subword models."""

from pathlib import Path
from typing import Final

from translator.errors import SubwordError
from translator.run.storage import storage_errors

SOURCE_FILE: Final = "source.model"
TARGET_FILE: Final = "target.model"
JOINT_FILE: Final = "joint.model"
RECORD_FILE: Final = "subword.json"  # what the models were made from, and their SHA-256
WORDS_FILE: Final = "words.tsv"  # the words of the English training text with their counts


def read_file(path: Path) -> bytes:
    """Return the content of a file of subword models; raise SubwordError if it is missing."""
    with storage_errors(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise SubwordError(f"no subword model at {path}; {remedy(path)}") from None


def remedy(path: Path) -> str:
    """Return what a user can do about a missing or damaged file."""
    return f"restore it from a backup, or delete the folder {path.parent} and prepare again"
