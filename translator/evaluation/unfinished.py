"""Translations of an evaluation that is not finished: held by one process, saved block by block, read after a stop.

Each line of a file `*.partial.jsonl` says which line of which test set it translates, and has a seal: a hash over that,
the model, the search settings and the translation. A torn, mixed or foreign line breaks its seal and does not count.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import filelock
from pydantic import BaseModel, TypeAdapter
from tqdm import tqdm

from translator.errors import RunError
from translator.evaluation.results import ModelScore, json_lines
from translator.inference.translator import Translator
from translator.run.files import sha256_of_json, storage_errors, write_bytes
from translator.run.logging import LOGGER, progress_bar
from translator.run.records import STRICT, RecordError, WholeNumber, read_record

_BLOCK: Final = 256  # sentences translated and saved at a time, at least


# --- one process at a time ---


@contextlib.contextmanager
def hold_results(folder: Path, name: str) -> Iterator[None]:
    """Hold the files `name`.* of an evaluation folder while the block runs, by a lock file that is removed afterwards.

    Raises RunError: another process holds them.
    """
    lock_file = folder / f".{name}.lock"
    lock = filelock.FileLock(lock_file, blocking=False)
    with storage_errors(lock_file):
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise RunError(
                f"another process is evaluating {name} in {folder}; wait for it or stop it, then repeat the "
                "command. Other checkpoints and search settings can be evaluated meanwhile"
            ) from error
        try:
            yield
        finally:
            lock_file.unlink(missing_ok=True)
            lock.release()


# --- the file of translations ---


class _SavedLine(BaseModel):
    model_config = STRICT

    seal: str
    line: WholeNumber  # of the test set, from 1
    translation: ModelScore


_SAVED_LINE: Final = TypeAdapter(_SavedLine)


class UnfinishedTranslations:
    """The file of the translations of one text by one system, of which any part may be there."""

    def __init__(self, path: Path, made_from: Mapping[str, Any], count: int) -> None:
        """Name the file; it need not exist.

        Args:
            made_from: all that decides the translations, as JSON values.
            count: number of lines of the text.
        """
        self._path = path
        self._key = sha256_of_json(made_from)
        self._count = count

    def read(self) -> dict[int, ModelScore]:
        """Return the saved translations by line, from 1; a line that is damaged or of something else is left out."""
        with storage_errors(self._path, "read"):
            if not self._path.exists():
                return {}
            content = self._path.read_bytes()
        # A file of another format, or torn in the middle, gives lines that are no records.
        translations = {}
        for json_line in content.split(b"\n"):
            try:
                saved = read_record(_SAVED_LINE, json_line)
            except RecordError:
                continue
            is_intact = saved.seal == self._seal(saved.line, saved.translation.to_json())
            if is_intact and 1 <= saved.line <= self._count:
                translations[saved.line] = saved.translation
        return translations

    def write(self, translations: Mapping[int, ModelScore]) -> None:
        """Replace the file by these translations, by line."""
        write_bytes(self._path, self._sealed(translations))

    def append(self, translations: Mapping[int, ModelScore]) -> None:
        """Append these translations, by line."""
        with storage_errors(self._path), self._path.open("ab") as stream:
            stream.write(self._sealed(translations))

    def _sealed(self, translations: Mapping[int, ModelScore]) -> bytes:
        rows = []
        for line, translation in translations.items():
            values = translation.to_json()
            rows.append({"seal": self._seal(line, values), "line": line, "translation": values})
        return json_lines(rows)

    def _seal(self, line: int, translation: Mapping[str, Any]) -> str:
        return sha256_of_json([self._key, line, translation])[:32]


# --- translating ---


def translate_resumably(
    sources: Sequence[str], translator: Translator, name: str, partial_file: Path
) -> list[ModelScore]:
    """Return the best translation of each source, and save it in `partial_file` at once; continue that file.

    A block of sentences is translated again unless all of it is saved. The reason: its sentences are searched together,
    and beside other sentences the last digits of their scores could differ.

    Args:
        sources: the text, a sentence each.
        name: what progress and messages call the text.
        partial_file: the file, which the caller holds, and deletes after saving the results.

    Raises StorageError: the file cannot be written.
    """
    made_from = {
        "model": [translator.label, translator.identity, translator.searcher.arithmetic],
        "search": translator.search.model_dump(mode="json"),
        "sources": hashlib.sha256("\n".join(sources).encode("utf-8", "replace")).hexdigest(),
    }
    unfinished = UnfinishedTranslations(partial_file, made_from, len(sources))

    # 1. Keep the whole blocks of an earlier evaluation that was stopped.
    saved = unfinished.read()
    translations: dict[int, ModelScore] = {}
    missing_blocks: list[range] = []
    block_size = max(_BLOCK, translator.searcher.batch_rows)
    for start in range(0, len(sources), block_size):
        lines = range(start + 1, min(start + block_size, len(sources)) + 1)
        if all(line in saved for line in lines):
            translations.update((line, saved[line]) for line in lines)
        else:
            missing_blocks.append(lines)
    if translations:
        LOGGER.info(
            "%s: continuing after %d of %d sentences, from %s", name, len(translations), len(sources), partial_file
        )
    unfinished.write(translations)

    # 2. Translate the other blocks.
    progress: tqdm[object] = progress_bar(
        description=f"translating {name}", total=len(sources), unit="lines", initial=len(translations)
    )
    with storage_errors(partial_file), progress:
        for lines in missing_blocks:
            block = sources[lines.start - 1 : lines.stop - 1]
            block_translations: dict[int, ModelScore] = {}
            results = translator.translations(block, first_line=lines.start)
            for line, ranked in zip(lines, results, strict=True):
                block_translations[line] = ModelScore.of(ranked[0])
            unfinished.append(block_translations)
            translations |= block_translations
            progress.update(len(lines))
    return [translations[line] for line in range(1, len(sources) + 1)]
