"""A file translated into a file, which appears only when it is complete; a stopped translation continues."""

import contextlib
import hashlib
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tqdm import tqdm

from translator import __version__
from translator.errors import InputError
from translator.inference.files.line_reader import FILE, Chunk, joined_chunks, read_lines
from translator.inference.files.line_translation import Work, choose_processes
from translator.inference.files.partial_output import PartialOutput
from translator.inference.files.stream import translate_stream
from translator.run.files import sha256_of_file, sha256_of_json, storage_errors
from translator.run.logging import LOGGER, progress_bar
from translator.run.output_paths import output_stream, refuse_input_as_output, resolve_output

if TYPE_CHECKING:  # a run-time import would slow the command line's help
    from translator.inference.translator import Translator


def check_source(source: Path, column: str | None = None) -> None:
    """Raise StorageError if `source` is missing or unreadable, CorpusError if it is no text; does not open a pipe.

    A table needs the `column` that is translated.
    """
    with storage_errors(source, "read"):
        mode = source.stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            source.open("rb").close()
    if source.is_file():
        next(read_lines(source, pace=FILE, column=column), None)


def translate_file(work: Work, source: Path, output: Path, earlier: str | None = None) -> str:
    """Translate the lines of `source` into `output`, replacing an older file at the end; return the hash of the work.

    Until completion, the text is in `OUTPUT.HASH.partial`. HASH covers input, weights, settings and device. If all are
    equal, a restart resumes a stopped translation there, and gives the same bytes as one uninterrupted translation. An
    `output` that is an open descriptor of this process is written directly.

    Args:
        work: how to translate.
        source: the text, one line for each translation.
        output: the file to write.
        earlier: the hash that an earlier call for this `output` returned. If this one has the same, the file stays.

    Raises:
        InputError: the input is not a file on disk, equals the output, has an unreadable line, or changes before its
            translation is complete; `output` may not be replaced; or another process is writing the same translation.
    """
    # 1. Refuse what cannot work before a model is loaded.
    check_source(source, work.column)
    if not source.is_file():
        raise InputError(f"the input {source} is not a file on disk; leave out --output, and redirect the output")
    refuse_input_as_output([source], output)
    place = resolve_output(output)
    if not isinstance(place, Path):
        with output_stream(output) as stream:
            translate_stream(work, work.load(), source, stream)
        return ""
    text = _hashed_text(source, work)

    # 2. Has this translation been made before?
    translator = work.load()
    fingerprint = _fingerprint(work, translator, text.sha256)
    if fingerprint == earlier:
        return fingerprint

    # 3. Translate what an earlier call has left, and put the whole in place.
    with contextlib.closing(PartialOutput(place, fingerprint)) as partial_output:
        if partial_output.lines:
            LOGGER.info("continuing after line %d of %s", partial_output.lines, source)
        _translate_remaining(work, translator, source, text, partial_output)
        partial_output.finish()
    return fingerprint


class HashedText(NamedTuple):
    """What a file held when it was hashed."""

    sha256: str  # of its bytes
    line_count: int
    chunk_hashes: list[bytes]  # of the texts of each chunk


def _hashed_text(source: Path, work: Work) -> HashedText:
    """Return the hashes of `source`; raise InputError if a line is unreadable, before hours of translation."""
    with storage_errors(source, "read"):
        sha256 = sha256_of_file(source)
    line_count = 0
    chunk_hashes = []
    for chunk in work.read(source, FILE):
        line_count += len(chunk.texts)
        chunk_hashes.append(_chunk_hash(chunk))
    # Only if no byte changed meanwhile are these the hashes of one text.
    with storage_errors(source, "read"):
        if sha256_of_file(source) != sha256:
            raise _changed(source)
    return HashedText(sha256=sha256, line_count=line_count, chunk_hashes=chunk_hashes)


def _chunk_hash(chunk: Chunk) -> bytes:
    return hashlib.sha256("\n".join(chunk.texts).encode("utf-8")).digest()


def _changed(source: Path) -> InputError:
    return InputError(
        f"{source} changed during its translation; run the same command again when no program writes it any more"
    )


def _unchanged_chunks(source: Path, work: Work, chunk_hashes: Sequence[bytes]) -> Iterator[Chunk]:
    """Yield the chunks of `source`; raise InputError before the first that is not the text that was hashed."""
    chunks = work.read(source, FILE)
    for chunk_hash in chunk_hashes:
        chunk = next(chunks, None)
        if chunk is None or _chunk_hash(chunk) != chunk_hash:
            raise _changed(source)
        yield chunk
    if next(chunks, None) is not None:
        raise _changed(source)


def _translate_remaining(
    work: Work, translator: "Translator", source: Path, text: HashedText, output: PartialOutput
) -> None:
    """Append the translations of the lines of `source` that `output` does not have yet."""
    # By the size of the whole input, even on resuming: another number may change the last digits of a score.
    processes = choose_processes(translator, source.stat().st_size)
    finished_lines = output.lines
    chunks = _unchanged_chunks(source, work, text.chunk_hashes)
    remaining_chunks = (chunk for chunk in chunks if chunk.first_line > finished_lines)
    batches = joined_chunks(remaining_chunks, translator.searcher.batch_rows)
    bar: tqdm[object] = progress_bar(
        description=f"translating {source.name}", total=text.line_count, initial=finished_lines, unit="lines"
    )
    with bar:
        for rendered in work.render_chunks(translator, batches, processes):
            output.add("".join(f"{line}\n" for line in rendered.lines), rendered.text_count)
            bar.update(rendered.text_count)
    assert output.lines == text.line_count, "a translation without all lines must not be finished"


def _fingerprint(work: Work, translator: "Translator", sha256: str) -> str:
    """Return the hash of all that decides the bytes of the output."""
    searcher = translator.searcher
    search = translator.search.model_dump(mode="json", exclude={"processes"})
    engine = [searcher.name, searcher.arithmetic, searcher.batch_rows]
    made_from = [__version__, sha256, work.column, work.paragraphs, translator.identity, engine, search]
    return sha256_of_json([*made_from, asdict(work.form)])
