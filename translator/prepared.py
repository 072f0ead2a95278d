"""Folders of prepared data: each is named by a fingerprint of all that made it, so that it is made once and reused."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from translator.errors import StorageError

DIGITS_IN_NAME: Final = 16


def fingerprint_of(made_from: Mapping[str, Any]) -> str:
    """Return SHA-256 over JSON values, 64 hexadecimal digits; the order of the keys does not count."""
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode("utf-8")).hexdigest()


def prepared_folder(prepared_directory: Path | str, kind: str, fingerprint: str) -> Path:
    """Return `<prepared_directory>/<kind>-<16 digits>`, the place of what has this fingerprint."""
    return Path(prepared_directory) / f"{kind}-{fingerprint[:DIGITS_IN_NAME]}"


def damaged(what: str, reason: str, folder: Path) -> StorageError:
    """Return the error that says that `what` inside the prepared `folder` is not what was written there."""
    return StorageError(
        f"{what} is damaged ({reason}); delete the folder {folder} and run the same command again: it is rebuilt"
    )
