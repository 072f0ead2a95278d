"""Folders of prepared data: their names, by fingerprint, and the error for a damaged one."""

from pathlib import Path
from typing import Final

from translator.errors import StorageError

DIGITS_IN_NAME: Final = 16  # of a fingerprint, in the name of a folder


def prepared_folder(prepared_directory: Path | str, kind: str, fingerprint: str) -> Path:
    """Return `<prepared_directory>/<kind>-<16 digits>`, the folder of prepared data with this fingerprint."""
    return Path(prepared_directory) / f"{kind}-{fingerprint[:DIGITS_IN_NAME]}"


def damaged(what: str, reason: str, folder: Path) -> StorageError:
    """Return the error for a damaged file `what` inside the prepared `folder`."""
    advice = f"delete the folder {folder} and run the same command again, which rebuilds it"
    return StorageError(f"{what} is damaged ({reason}); {advice}")
