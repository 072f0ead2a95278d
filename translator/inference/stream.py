"""Line by line translation of pipes and files, in one process or several; an output file appears only when complete."""

import contextlib
import hashlib
import logging
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from tqdm import tqdm

from translator import __version__
from translator.corpus.compression import read_blocks
from translator.corpus.encoding import encoding_advice, first_invalid_byte, is_utf8, refuse_other_encoding
from translator.corpus.lines import whole_lines
from translator.errors import CorpusError, InputError, RunError, StorageError
from translator.inference.output import OutputForm, write_lines
from translator.inference.partial_output import PartialOutput
from translator.run.logging import LOGGER, progress_bar
from translator.run.made_files import MadeFiles
from translator.run.output_paths import output_stream, refuse_input_as_output, resolve_output
from translator.run.storage import sha256_of_json, storage_errors
from translator.run.workers import available_cores, map_in_order

if TYPE_CHECKING:  # a run-time import would slow the command line's help
    from translator.inference.translator import Translator

LONGEST_LINE = 4 << 20  # maximum bytes of a line, without its end; longer ones could exhaust memory
BYTES_WORTH_PROCESSES: Final = 400_000  # below this size in bytes, starting processes costs more time than it saves


# --- lines in ---


class Pace(NamedTuple):
    """The number of lines translated together, and of bytes read at once."""

    at_first: int  # lines of the first chunk; doubled for each later one, so that first results come early
    at_most: int
    bytes: int


PIPE = Pace(256, 2048, 1 << 20)
FILE = Pace(512, 512, 1 << 20)


class Chunk(NamedTuple):
    """Consecutive lines."""

    first_line: int  # number of the first, from 1
    texts: list[str]
    invalid: list[int]  # numbers of lines that were not UTF-8; U+FFFD stands for their invalid bytes


def read_lines(source: int | Path, strict: bool = False, pace: Pace = PIPE) -> Iterator[Chunk]:
    r"""Yield the lines of a file, or of a descriptor as they arrive; a file on disk gives the same chunks each time.

    The text is in UTF-8, or in UTF-16 with a byte order mark, which is dropped; a file may also be compressed. A line
    ends at "\n" or "\r\n", or at "\r" if there is no "\n" (see `newline_blocks`).

    Args:
        source: a file on disk, or a descriptor.
        strict: refuse a line that is not UTF-8, instead of replacing its invalid bytes.
        pace: numbers of lines and bytes.

    Raises:
        InputError: a line exceeds `LONGEST_LINE` or, if `strict`, is not UTF-8; all lines before it have been yielded.
        CorpusError: the text is in another encoding, or is none, or the file is damaged.
        StorageError: the input cannot be read.
    """
    blocks = read_blocks(source, size=pace.bytes) if isinstance(source, Path) else _arriving_blocks(source, pace.bytes)
    label = str(source) if isinstance(source, Path) else "the input"
    number, together = 1, pace.at_first
    all_ascii = True
    for data in whole_lines(blocks, label, LONGEST_LINE):
        # The first characters beyond ASCII show whether the text is UTF-8.
        if all_ascii and not strict and not (data.isascii() and b"\0" not in data):
            refuse_other_encoding(data, label)
            all_ascii = False
        lines = data.removesuffix(b"\n").split(b"\n")
        while lines:
            yield from _decoded(number, lines[:together], strict)
            number += len(lines[:together])
            lines = lines[together:]
            together = min(2 * together, pace.at_most)


def _arriving_blocks(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield blocks of at most `size` bytes as they arrive.

    Reads the descriptor directly, in the calling thread: a file object would block until its buffer is full, and a
    reader thread would outlive a stop signal.
    """
    while True:
        with storage_errors("the input", "read"):
            select.select([descriptor], [], [])  # the descriptor may be non-blocking
            block = os.read(descriptor, size)
        if not block:
            return
        yield block


def _decoded(first_line: int, lines: list[bytes], strict: bool) -> Iterator[Chunk]:
    """Yield the text of `lines`, which may end in "\\r"; see `read_lines`."""
    texts: list[str] = []
    invalid: list[int] = []
    problem = ""
    for number, raw_line in enumerate(lines, first_line):
        line = raw_line.removesuffix(b"\r")
        if len(line) > LONGEST_LINE:
            problem = (
                f"line {number} of the input is longer than {LONGEST_LINE >> 20} MiB; give text with one sentence, or "
                "one paragraph, per line"
            )
            break
        text = line.decode("utf-8", "replace").replace("\0", "\ufffd")
        if "\ufffd" in text and not is_utf8(line):
            if strict:
                advice = f"{encoding_advice(line)}, or leave out --strict"
                place = first_invalid_byte(line) + 1
                problem = f"line {number} of the input is not UTF-8 (byte {place} of the line); {advice}"
                break
            invalid.append(number)
        texts.append(text)
    if texts:
        yield Chunk(first_line, texts, invalid)
    if problem:
        raise InputError(problem)


# --- lines out ---


@dataclass(frozen=True)
class Work:
    """A translation task: how to load the translator, and how to read and write texts."""

    load: "Callable[[], Translator]"  # called once in each worker process, so it must be picklable
    form: OutputForm
    strict: bool = False  # refuse lines that are not UTF-8 instead of leaving out their invalid bytes

    def render(self, translator: "Translator", texts: Sequence[str], first_line: int) -> list[str]:
        """Return the output lines of `texts`; the first text has line number `first_line`."""
        form = self.form
        found = translator.translations(
            texts,
            count=form.count,
            prefixes=[form.prefix] * len(texts) if form.prefix else None,
            attention=form.attention or form.alignment,
            first_line=first_line,
            scored=form.scores,
        )
        numbered = enumerate(zip(texts, found, strict=True), first_line)
        return [line for number, (text, of_text) in numbered for line in form.render(number, text, of_text)]

    def render_chunks(
        self, translator: "Translator", chunks: Iterable[Chunk], processes: int
    ) -> Iterator[tuple[int, list[str]]]:
        """Yield for each chunk, in order, the number of its texts and its output lines; `chunks` is read ahead.

        With one process, this one uses `translator`; several are workers with one thread each. An error of `chunks`
        is raised after the lines of all earlier chunks.

        Raises:
            RunError: a worker process loaded other weights than those of `translator`.
            StorageError: a worker process was killed.
        """
        problems: list[InputError | CorpusError] = []

        def readable() -> Iterator[Chunk]:
            try:
                for chunk in chunks:
                    if bad := chunk.invalid:
                        more = f" and {len(bad) - 1} more up to line {bad[-1]}" if len(bad) > 1 else ""
                        LOGGER.warning(
                            f"not UTF-8 in line {bad[0]} of the input{more}: invalid bytes are left out (--strict "
                            "rejects such lines)"
                        )
                    yield chunk
            except (InputError, CorpusError) as error:
                problems.append(error)

        if processes == 1:
            for chunk in readable():
                yield len(chunk.texts), self.render(translator, chunk.texts, chunk.first_line)
        else:
            try:
                for texts, lines, warnings in map_in_order(
                    partial(_begin, self, translator.identity), readable(), processes
                ):
                    for warning in warnings:
                        LOGGER.warning("%s", warning)
                    yield texts, lines
            except StorageError as error:
                if not isinstance(error.__cause__, BrokenExecutor):
                    raise
                advice = "use fewer (--processes 1), or close other programs"
                message = f"a worker process was killed, most likely because memory ran out; {advice}"
                raise StorageError(message) from error
        if problems:
            raise problems[0]


def _begin(work: Work, identity: str) -> Callable[[Chunk], tuple[int, list[str], list[str]]]:
    """Prepare a worker process; return a function from a chunk to its number of texts, output lines and warnings.

    Raises RunError: the loaded weights do not have this `identity`.
    """
    heard: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    translator = work.load()
    if translator.identity != identity:
        raise RunError(
            "a worker process found other weights than this command began with, since a training moved `best` or "
            "`last` meanwhile; run the same command again, with --checkpoint STEP while that training runs"
        )
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)

    def render(chunk: Chunk) -> tuple[int, list[str], list[str]]:
        heard.clear()
        return len(chunk.texts), work.render(translator, chunk.texts, chunk.first_line), list(heard)

    return render


def choose_processes(translator: "Translator", size: int) -> int:
    """Return the number of processes for `size` bytes: `search.processes`, or one per core; 1 for threaded engines."""
    engine, wanted = translator.searcher, translator.search.processes
    if wanted == 0:
        wanted = available_cores() if engine.on_one_core and size >= BYTES_WORTH_PROCESSES else 1
    return min(wanted, available_cores()) if engine.name == "torch" else 1


def translate_stream(work: Work, translator: "Translator", source: int | Path, output: TextIO) -> None:
    """Write the translation of each line of a file on disk, or of a file descriptor, to `output`, in order.

    Lines already waiting in a pipe are translated together; a line that arrives alone is translated immediately. A
    long file on disk may be divided among processes. The translations of all lines before an error are written.

    Raises:
        InputError, CorpusError: a line, or the whole text, cannot be read (see `read_lines`).
        StorageError: the input cannot be read, the output cannot be written, or a process was killed.
        BrokenPipeError: the reader of `output` has closed it.
    """
    processes = 1
    if isinstance(source, Path):
        processes = choose_processes(translator, source.stat().st_size)
    elif stat.S_ISREG((status := os.fstat(source)).st_mode):
        processes = choose_processes(translator, status.st_size - os.lseek(source, 0, os.SEEK_CUR))
    chunks = read_lines(source, work.strict, PIPE if processes == 1 else FILE)
    for _, lines in work.render_chunks(translator, chunks, processes):
        write_lines(output, lines)


# --- a file into a file ---


def check_source(source: Path) -> None:
    """Raise StorageError if `source` is missing or unreadable, CorpusError if it is no text; does not open a pipe."""
    with storage_errors(source, "read"):
        if stat.S_ISREG(mode := source.stat().st_mode) or stat.S_ISDIR(mode):
            source.open("rb").close()
    if source.is_file():
        next(read_lines(source, pace=FILE), None)


def translate_file(work: Work, source: Path, output: Path, made_files: MadeFiles | None = None) -> bool:
    """Translate the lines of `source` into `output`, replacing an older file at the end; return whether it was written.

    Until completion, the text is in `OUTPUT.HASH.partial`. HASH covers input, weights, settings and device. If all are
    equal, a restart resumes a stopped translation there, and gives the same bytes as one uninterrupted translation. An
    `output` that is an open descriptor of this process is written directly.

    Args:
        work: how to translate.
        source: the text, one line for each translation.
        output: the file to write.
        made_files: the record of the folder of `output`, if the program fills it. An `output` that by this record
            comes from the same translation stays, and the result is False; one that is not recorded is never replaced.

    Raises:
        InputError: the input is not a file on disk, equals the output or has an unreadable line; `output` may not be
            replaced; or another process is writing the same translation.
    """
    check_source(source)
    if not source.is_file():
        raise InputError(f"the input {source} is not a file on disk; leave out --output, and redirect the output")
    refuse_input_as_output([source], output)
    place = resolve_output(output)
    if not isinstance(place, Path):
        with output_stream(output) as stream:
            translate_stream(work, work.load(), source, stream)
        return True
    if made_files is not None:
        made_files.refuse_strangers([output])
    with storage_errors(source, "read"), source.open("rb", buffering=0) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    # Find unreadable lines before hours of translation.
    total = sum(len(chunk.texts) for chunk in read_lines(source, work.strict, FILE))
    translator = work.load()
    fingerprint = _fingerprint(work, translator, sha256)
    if made_files is not None and made_files.is_current(output, fingerprint):
        return False
    with contextlib.closing(PartialOutput(place, fingerprint)) as partial_output:
        if partial_output.lines:
            LOGGER.info("continuing after line %d of %s", partial_output.lines, source)
        _translate_rest(work, translator, source, partial_output, total)
        if partial_output.lines != total:
            raise InputError(f"{source} changed during its translation; run the same command again")
        noted = made_files.writing(output, fingerprint) if made_files is not None else contextlib.nullcontext()
        with noted:
            partial_output.finish()
    return True


def _translate_rest(work: Work, translator: "Translator", source: Path, output: PartialOutput, total: int) -> None:
    """Append the translations of the lines of `source`, `total` in all, that `output` does not have yet."""
    done, name = output.lines, source.name
    # By the size of the whole input, even on resuming: another number may change the last digits of a score.
    processes = choose_processes(translator, source.stat().st_size)
    left = (chunk for chunk in read_lines(source, work.strict, FILE) if chunk.first_line > done)
    bar: tqdm[object] = progress_bar(description=f"translating {name}", total=total, initial=done, unit=" lines")
    with bar:
        for texts, lines in work.render_chunks(translator, left, processes):
            output.add("".join(f"{line}\n" for line in lines), texts)
            bar.update(texts)


def _fingerprint(work: Work, translator: "Translator", sha256: str) -> str:
    engine, search = translator.searcher, translator.search.model_dump(mode="json", exclude={"processes"})
    made_of = [__version__, sha256, translator.identity, engine.name, engine.arithmetic, search, asdict(work.form)]
    return sha256_of_json(made_of)
