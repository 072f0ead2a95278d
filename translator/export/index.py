"""export.json: what an exported folder says of itself, and the checksums by which damage is recognised."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from translator import __version__
from translator.checkpoint import CheckpointState
from translator.errors import RunError
from translator.export.formats import FORMATS, Format
from translator.storage import storage_errors, write_json

INDEX_FILE: Final = "export.json"
CARD_FILE: Final = "README.md"
"""The one file that its owner may edit: it has no checksum."""
_VERSION: Final = 1


@dataclass(frozen=True)
class ExportIndex:
    """What is in an exported folder, and where it comes from."""

    format: Format
    quantization: str
    """Type of the weights."""
    run: str
    """Name of the run."""
    identity: str
    """Tells the weights of the run's checkpoint from all others."""
    state: CheckpointState
    """What that checkpoint says of itself."""


def is_export(folder: Path) -> bool:
    """Return whether `folder` was written by an export, damaged or not."""
    return (folder / INDEX_FILE).is_file()


def write_index(folder: Path, index: ExportIndex) -> None:
    """Write export.json for all that lies in `folder` now.

    Raises:
        StorageError: the folder cannot be written.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (CARD_FILE, INDEX_FILE))
    content = {
        "version": _VERSION,
        "translator": __version__,
        **asdict(index),
        "sha256": {path.relative_to(folder).as_posix(): _sha256(path) for path in files},
    }
    write_json(folder / INDEX_FILE, content | {"own_sha256": _own_sha256(content)})


def read_index(folder: Path) -> ExportIndex:
    """Read export.json and compare every file of `folder` with its checksum.

    Raises:
        RunError: a file is missing or is not what was written, or another version wrote it.
        StorageError: a file cannot be read.
    """
    file = folder / INDEX_FILE
    with storage_errors(file, "read"):
        text = file.read_bytes()
    try:
        content: dict[str, Any] = json.loads(text)
        if content.pop("own_sha256") != _own_sha256(content):
            raise ValueError("checksum differs")
        if content["version"] != _VERSION:
            raise RunError(
                f"{file} has version {content['version']}, this version of translator reads {_VERSION}; export again"
            )
        listed: dict[str, str] = dict(content["sha256"])
        index = ExportIndex(
            FORMATS[FORMATS.index(content["format"])],
            content["quantization"],
            content["run"],
            content["identity"],
            CheckpointState.from_json(content["state"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"damaged export: cannot read {file} ({error}); {_ADVICE}") from error
    for name, digest in listed.items():
        path = folder / name
        if not path.is_file():
            raise RunError(f"damaged export: {path} is missing; {_ADVICE}")
        if _sha256(path) != digest:
            raise RunError(f"damaged export: {path} is not what was written (checksum differs); {_ADVICE}")
    return index


_ADVICE: Final = "copy the folder again, or export the run again"


def _sha256(path: Path) -> str:
    with storage_errors(path, "read"), path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _own_sha256(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
