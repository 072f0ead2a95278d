"""Exported folders: export.json records the origin of a folder and the checksums of its files."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from translator import __version__
from translator.checkpoint.state import CheckpointState
from translator.errors import RunError
from translator.run.storage import sha256_of_file, sha256_of_json, storage_errors, write_json

INDEX_FILE: Final = "export.json"
CARD_FILE: Final = "README.md"  # has no checksum, so that its owner may edit it
_VERSION: Final = 1


@dataclass(frozen=True)
class ExportIndex:
    """The content of export.json: the format and origin of an exported folder."""

    format: str
    quantization: str  # type of the weights
    run: str  # its name
    identity: str  # hash of the weights of the run's checkpoint
    state: CheckpointState


def is_export(folder: Path) -> bool:
    """Return whether an export wrote `folder`, damaged or not."""
    return (folder / INDEX_FILE).is_file()


def write_index(folder: Path, index: ExportIndex) -> None:
    """Write export.json with the checksums of the files now in `folder`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (CARD_FILE, INDEX_FILE))
    content = {
        "version": _VERSION,
        "translator": __version__,
        **asdict(index),
        "sha256": {path.relative_to(folder).as_posix(): sha256_of_file(path) for path in files},
    }
    write_json(folder / INDEX_FILE, content | {"own_sha256": sha256_of_json(content)})


def read_index(folder: Path, *, verify: bool = True) -> ExportIndex:
    """Return the content of export.json; with `verify`, raise RunError if a checksum of `folder` does not match."""
    file, advice = folder / INDEX_FILE, "copy the folder again, or export the run again"
    with storage_errors(file, "read"):
        text = file.read_bytes()
    try:
        content: dict[str, Any] = json.loads(text)
        if content.pop("own_sha256") != sha256_of_json(content):
            raise ValueError("checksum differs")
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}, and this program reads {_VERSION}")
        about = {name: content[name] for name in ("format", "quantization", "run", "identity")}
        index = ExportIndex(**about, state=CheckpointState(**content["state"]))
        listed: dict[str, str] = dict(content["sha256"]) if verify else {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"damaged export: cannot read {file} ({error}); {advice}") from error
    for path, digest in ((folder / name, digest) for name, digest in listed.items()):
        if not path.is_file():
            raise RunError(f"damaged export: {path} is missing; {advice}")
        with storage_errors(path, "read"):
            if sha256_of_file(path) != digest:
                raise RunError(f"damaged export: {path} does not match its checksum; {advice}")
    return index
