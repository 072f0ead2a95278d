"""The CTranslate2 exports that a run keeps in its own folder, one for each checkpoint that was used."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import filelock

from translator.checkpoint.state import PinnedCheckpoint
from translator.errors import RunError
from translator.inference.engines.ctranslate2_library import require
from translator.inference.engines.exported import ExportIndex, is_export, read_index, write_index
from translator.inference.engines.run_subword import load_subword
from translator.run.files import new_folder, storage_errors
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER

_SILENT_SECONDS: Final = 1.0  # of waiting for another process before a message says so


def exported_beside(run: RunFolder, checkpoint: PinnedCheckpoint) -> tuple[Path, ExportIndex]:
    """Return the run's CTranslate2 export of a checkpoint; create it if it is missing or damaged.

    Raises:
        InputError: CTranslate2 is not installed, or does not support the model.
        StorageError: the run's folder cannot be written.
    """
    require("ctranslate2")
    exports = run.path / "export"
    folder = exports / f"ctranslate2-{checkpoint.state.name}-{checkpoint.identity[:12]}"
    with contextlib.suppress(RunError):
        if is_export(folder):  # needs no lock, so it works in a read-only run
            return folder, read_index(folder)
    with storage_errors(exports):
        exports.mkdir(exist_ok=True)
    # Several processes may need the same export at once: one makes it, and the others wait for it.
    with storage_errors(exports), _export_lock(exports / ".lock"):
        if is_export(folder):  # damaged, or just created by another process
            try:
                return folder, read_index(folder)
            except RunError as error:
                LOGGER.warning("%s: exporting again", error)
        # What is still there is damaged.
        shutil.rmtree(folder, ignore_errors=True)
        return folder, _export(run, checkpoint, folder)


def _export(run: RunFolder, checkpoint: PinnedCheckpoint, folder: Path) -> ExportIndex:
    """Write the export of a checkpoint into a new `folder`."""
    # Imported here, because a run with a finished export needs no torch.
    import torch

    from translator.checkpoint.files import load_model
    from translator.inference.engines.ctranslate2_writer import write_ctranslate2

    state = checkpoint.state
    LOGGER.debug("exporting %s for ctranslate2 into %s; later calls reuse it", state.name, folder)
    model = load_model(checkpoint, torch.device("cpu"))
    subword = load_subword(run, state)
    index = ExportIndex(
        format="ctranslate2",
        quantization="float32",
        run=run.path.resolve().name,
        identity=checkpoint.identity,
        state=state,
    )
    with new_folder(folder) as unfinished:
        write_ctranslate2(unfinished, model, state.model, subword)
        write_index(unfinished, index)
    return index


@contextlib.contextmanager
def _export_lock(file: Path) -> Iterator[None]:
    """Hold the lock `file` while the block runs; say what is waited for if another process holds it."""
    lock = filelock.FileLock(file)
    try:
        lock.acquire(timeout=_SILENT_SECONDS)
    except filelock.Timeout:
        LOGGER.info("waiting for another process that exports this run (lock: %s)", file)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
