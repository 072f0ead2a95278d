"""Exported folders: export.json records the origin of a folder and the checksums of its files.

A run keeps the CTranslate2 exports of its checkpoints in its folder `export`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, with_config

from translator import __version__
from translator.checkpoint.state import CheckpointState, PinnedCheckpoint
from translator.errors import RunError, StorageError
from translator.inference.engines.ctranslate2_library import require
from translator.inference.engines.run_subword import load_subword
from translator.run.files import new_folder, sha256_of_file, storage_errors, write_json
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.records import STRICT, RecordError, read_signed_record, sign

INDEX_FILE: Final = "export.json"
CARD_FILE: Final = "README.md"  # has no checksum, so that its owner may edit it


@with_config(STRICT)
@dataclass(frozen=True)
class ExportIndex:
    """The content of export.json: the format and origin of an exported folder."""

    format: str  # a name in `export.package.QUANTIZATIONS`
    quantization: str  # type of the weights
    run: str  # its name
    identity: str  # hash of the weights of the run's checkpoint
    state: CheckpointState
    version: Literal[1] = 1
    translator: str = __version__  # that wrote it
    sha256: dict[str, str] = field(default_factory=dict)  # by path inside the folder; written by `write_index`


_INDEX: Final = TypeAdapter(ExportIndex)


def is_export(folder: Path) -> bool:
    """Return whether an export wrote `folder`, damaged or not."""
    return (folder / INDEX_FILE).is_file()


def write_index(folder: Path, index: ExportIndex) -> None:
    """Write export.json with the checksums of the files now in `folder`."""
    checksums = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in (CARD_FILE, INDEX_FILE):
            checksums[path.relative_to(folder).as_posix()] = sha256_of_file(path)
    content = vars(index) | {"state": index.state.to_json(), "sha256": checksums}
    write_json(folder / INDEX_FILE, sign(content))


def read_index(folder: Path) -> ExportIndex:
    """Return the content of export.json.

    Raises:
        RunError: export.json is damaged, or a file is missing or does not match its checksum.
        StorageError: a file cannot be read.
    """
    file = folder / INDEX_FILE
    advice = f"delete {folder}, and copy it again, or export the run again"
    with storage_errors(file, "read"):
        content = file.read_bytes()
    try:
        index = read_signed_record(_INDEX, content)
    except RecordError as error:
        raise RunError(f"damaged export: {error.about(file, advice)}") from error
    for name, checksum in index.sha256.items():
        path = folder / name
        if not path.is_file():
            raise RunError(f"damaged export: {path} is missing; {advice}")
        with storage_errors(path, "read"):
            if sha256_of_file(path) != checksum:
                raise RunError(f"damaged export: {path} does not match its checksum; {advice}")
    return index


def exported_beside(run: RunFolder, checkpoint: PinnedCheckpoint) -> Path:
    """Return the folder of the run's CTranslate2 export of a checkpoint; create it if it is missing.

    Raises:
        InputError: CTranslate2 is not installed, or does not support the model.
        StorageError: the run's folder cannot be written.
    """
    require("ctranslate2")
    folder = run.path / "export" / f"ctranslate2-{checkpoint.state.name}-{checkpoint.identity[:12]}"
    if not is_export(folder):
        try:
            _export(run, checkpoint, folder)
        except StorageError:
            # Another process may have written the folder meanwhile: the same one, as the name identifies the weights.
            if not is_export(folder):
                raise
    return folder


def _export(run: RunFolder, checkpoint: PinnedCheckpoint, folder: Path) -> None:
    """Write the export of a checkpoint into a new `folder`."""
    # Imported here, because a run with a finished export needs no torch.
    import torch

    from translator.checkpoint.files import load_model
    from translator.inference.engines.ctranslate2_writer import write_ctranslate2

    state = checkpoint.state
    LOGGER.debug("exporting %s for ctranslate2 into %s; later calls reuse it", state.name, folder)
    with new_folder(folder, replace=False) as unfinished:
        model = load_model(checkpoint, torch.device("cpu"))
        write_ctranslate2(unfinished, model, state.model, load_subword(run, state))
        index = ExportIndex(
            format="ctranslate2",
            quantization="float32",
            run=run.path.resolve().name,
            identity=checkpoint.identity,
            state=state,
        )
        write_index(unfinished, index)
