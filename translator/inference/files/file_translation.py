"""A file translated into a file, which appears only when it is complete; a stopped translation continues."""

import contextlib
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from translator import __version__
from translator.errors import InputError
from translator.inference.files.block_translation import LINES_AT_ONCE, Load, translate_stream, translated_blocks
from translator.inference.files.document import Document
from translator.inference.files.partial_output import PartialOutput
from translator.inference.translator import Translator
from translator.run.files import sha256_of_file, sha256_of_json, storage_errors
from translator.run.logging import LOGGER, progress_bar
from translator.run.output_paths import output_stream, refuse_input_as_output, resolve_output


def translate_file(load: Load, document: Document, output: Path, earlier: str | None = None) -> str:
    """Translate a document into `output`, replacing an older file at the end; return the hash of the translation.

    Until completion, the text is in `OUTPUT.HASH.partial`. HASH covers input, weights, settings and device. If all are
    equal, a restart resumes a stopped translation there, and gives the same bytes as one uninterrupted translation. An
    `output` that is an open descriptor of this process is written directly; the hash is then empty.

    Args:
        load: loads the translator, also once in each worker process, so it must be picklable.
        document: a file on disk.
        output: the file to write.
        earlier: the hash that an earlier call for this `output` returned. If the hash is the same now, `output` stays.

    Raises:
        InputError: the input is not a file on disk, equals the output, has an unreadable line, or changes before its
            translation is complete; or `output` may not be replaced.
        StorageError, CorpusError: the input cannot be read, or the output cannot be written.
    """
    # 1. Refuse what cannot work before the model is loaded.
    source = document.source
    assert isinstance(source, Path)
    document.check()
    if not source.is_file():
        raise InputError(f"the input {source} is not a file on disk; leave out --output, and redirect the output")
    refuse_input_as_output([source], output)
    place = resolve_output(output)
    if not isinstance(place, Path):  # an open descriptor
        with output_stream(output) as stream:
            translate_stream(load, load(), document, stream)
        return ""
    with storage_errors(source, "read"):
        sha256 = sha256_of_file(source)
    state_before = _state(source)
    # This reads every line, so an unreadable one is refused now, not after hours of translation.
    total = sum(len(block.texts) for block in document.blocks(LINES_AT_ONCE))

    # 2. Has the earlier call made this very translation?
    translator = load()
    fingerprint = _fingerprint(translator, document, sha256)
    if fingerprint == earlier:
        return fingerprint

    # 3. Translate what an earlier call has left, and put the whole in place.
    with contextlib.closing(PartialOutput(place, fingerprint)) as partial_output:
        finished = partial_output.lines
        if finished:
            LOGGER.info("continuing after line %d of %s", finished, source)
        bar: tqdm[object] = progress_bar(
            description=f"translating {source.name}", total=total, initial=finished, unit="lines"
        )
        with bar:
            for block, lines in translated_blocks(load, translator, document, finished):
                partial_output.add("".join(f"{line}\n" for line in lines), len(block.texts))
                bar.update(len(block.texts))
        if _state(source) != state_before or partial_output.lines != total:
            partial_output.discard()
            raise InputError(
                f"{source} changed during its translation; run the same command again when no program writes it any "
                "more"
            )
        partial_output.finish()
    return fingerprint


def _state(file: Path) -> tuple[int, int]:
    """Return what changes when a program writes to `file`."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def _fingerprint(translator: Translator, document: Document, sha256: str) -> str:
    """Return the hash of all that decides the bytes of the output; `sha256` is that of the input."""
    searcher = translator.searcher
    engine = [searcher.name, searcher.arithmetic, searcher.batch_rows]
    search = translator.search.model_dump(mode="json", exclude={"processes"})
    reading = [document.column, document.paragraphs, asdict(document.form)]
    terms = dict(translator.glossary.terms)
    return sha256_of_json([__version__, sha256, translator.identity, engine, search, terms, reading])
