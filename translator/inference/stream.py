r"""Lines in, as many lines out: pipes and files, in this process or several side by side; a file whole or not there.

A line ends at "\n"; a "\r" before it, and a byte order mark before the first line, belong to no line.
"""

import codecs
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from tqdm import tqdm

from translator import __version__
from translator.errors import InputError, StorageError
from translator.inference.output import OutputForm, write_lines
from translator.run.logging import LOGGER, progress_bar
from translator.run.storage import output_stream, resolve_output, sha256_of_json, storage_errors, write_json, write_text
from translator.run.workers import available_cores, map_in_order

if TYPE_CHECKING:  # it brings torch, which the command line's help does without
    from translator.inference.translator import Translator

LONGEST_LINE = 4 << 20  # bytes of a line at most, without its end: a longer one is no text, and would fill the memory
BYTES_WORTH_PROCESSES: Final = 400_000  # bytes of text below which starting processes takes longer than they save


# --- lines in ---


class Pace(NamedTuple):
    """How many lines are translated together, and how many bytes are read at once."""

    at_first: int  # lines; then twice as many each time, so that the first results come soon
    at_most: int
    bytes: int


PIPE = Pace(256, 2048, 1 << 20)
FILE = Pace(512, 512, 1 << 20)


class Chunk(NamedTuple):
    """Lines that follow one another."""

    first_line: int  # number of the first, from 1
    texts: list[str]
    invalid: list[int]  # numbers of the lines that were not UTF-8; their invalid bytes have become U+FFFD


def read_lines(source: int, strict: bool = False, pace: Pace = PIPE) -> Iterator[Chunk]:
    """Yield the lines that a file descriptor gives, as they come; a file on disk gives the same chunks each time.

    This reads the descriptor itself, in the calling thread: a file object would wait until its buffer is full, and a
    thread that waits in its place would outlive a stop signal.

    Raises:
        InputError: a line is longer than any text or, if `strict`, not UTF-8; all lines before it have been yielded.
        StorageError: the input cannot be read.
    """
    mark, block = codecs.BOM_UTF8, b"\n"
    unfinished: list[bytes] = []  # parts of a line that has no end yet, joined once
    size, number, together = 0, 1, pace.at_first
    while block:
        with storage_errors("the input", "read"):
            select.select([source], [], [])  # some programs hand over an input that does not block
            block = os.read(source, pace.bytes)
        *lines, rest = block.split(b"\n")
        unfinished.append(lines[0] if lines else rest)
        size += len(unfinished[-1])
        if size > LONGEST_LINE:
            raise InputError(
                f"line {number} of the input is longer than {LONGEST_LINE >> 20} MiB, so it is no text; give text with "
                "one sentence, or one paragraph, a line"
            )
        if lines or not block:  # the end of the input ends the last line, too
            lines[:1] = [b"".join(unfinished).removeprefix(mark)]
            if not block and not lines[0]:
                return
            mark, unfinished, size = b"", [rest], len(rest)
        while lines:
            yield from _decoded(number, lines[:together], strict)
            number += len(lines[:together])
            lines = lines[together:]
            together = min(2 * together, pace.at_most)


def _decoded(first_line: int, lines: list[bytes], strict: bool) -> Iterator[Chunk]:
    texts: list[str] = []
    invalid: list[int] = []
    for number, line in enumerate(lines, first_line):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            if strict:
                if texts:
                    yield Chunk(first_line, texts, [])
                raise InputError(
                    f"line {number} of the input is not UTF-8 (byte {error.start + 1} of the line); convert the "
                    "input first, for example with iconv, or leave out --strict"
                ) from None
            invalid.append(number)
            text = line.decode("utf-8", "replace")
        texts.append(text.removesuffix("\r"))
    yield Chunk(first_line, texts, invalid)


# --- lines out ---


@dataclass(frozen=True)
class Work:
    """How texts are translated and written."""

    load: "Callable[[], Translator]"  # called once in each worker process, so it must be picklable
    form: OutputForm
    strict: bool = False  # refuse lines that are not UTF-8 instead of replacing their invalid bytes

    def render(self, translator: "Translator", texts: Sequence[str], first_line: int) -> list[str]:
        """Return the lines to be written for `texts`, the first of which has the number `first_line`."""
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
        """Yield for each chunk, in order, the number of its texts and the lines to be written; chunks are taken ahead.

        One process is this one, with `translator`; more have one thread each. Errors of `chunks` come after the lines
        of all chunks before; a StorageError says that a process was killed.
        """
        problems: list[InputError] = []

        def readable() -> Iterator[Chunk]:
            try:
                for chunk in chunks:
                    if bad := chunk.invalid:
                        more = f" and {len(bad) - 1} more up to line {bad[-1]}" if len(bad) > 1 else ""
                        LOGGER.warning(
                            f"not UTF-8 in line {bad[0]} of the input{more}: invalid bytes are translated as U+FFFD "
                            "(--strict refuses such lines)"
                        )
                    yield chunk
            except InputError as error:
                problems.append(error)

        if processes == 1:
            for chunk in readable():
                yield len(chunk.texts), self.render(translator, chunk.texts, chunk.first_line)
        else:
            try:
                for texts, lines, warnings in map_in_order(partial(_begin, self), readable(), processes):
                    for warning in warnings:
                        LOGGER.warning("%s", warning)
                    yield texts, lines
            except StorageError as error:
                if not isinstance(error.__cause__, BrokenExecutor):
                    raise
                advice = "use fewer (--processes 1), or close other programs"
                message = f"a process that translates was killed, most likely because memory ran out; {advice}"
                raise StorageError(message) from error
        if problems:
            raise problems[0]


def _begin(work: Work) -> Callable[[Chunk], tuple[int, list[str], list[str]]]:
    """Prepare a worker process with one thread; return what gives a chunk's number of texts, output and warnings."""
    heard: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    translator = work.load()
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)

    def render(chunk: Chunk) -> tuple[int, list[str], list[str]]:
        heard.clear()
        return len(chunk.texts), work.render(translator, chunk.texts, chunk.first_line), list(heard)

    return render


def choose_processes(translator: "Translator", size: int) -> int:
    """Return the number of processes for `size` bytes: `search.processes`, or one a core; other engines use threads."""
    engine, wanted = translator.searcher, translator.search.processes
    if wanted == 0:
        wanted = available_cores() if engine.on_one_core and size >= BYTES_WORTH_PROCESSES else 1
    return min(wanted, available_cores()) if engine.name == "torch" else 1


def translate_stream(work: Work, translator: "Translator", source: int, output: TextIO) -> None:
    """Write the translation of each line that file descriptor `source` gives to `output`, in order.

    Lines of a pipe that are there already are translated together; a line that comes alone is translated at once. A
    long file on disk may be shared by several processes. The translations of all lines before an error are written.

    Raises:
        InputError: a line cannot be read (see `read_lines`).
        StorageError: the input cannot be read, the output cannot be written, or a process was killed.
        BrokenPipeError: the reader of `output` has gone.
    """
    status, processes = os.fstat(source), 1
    if stat.S_ISREG(status.st_mode):
        processes = choose_processes(translator, status.st_size - os.lseek(source, 0, os.SEEK_CUR))
    chunks = read_lines(source, work.strict, PIPE if processes == 1 else FILE)
    for _, lines in work.render_chunks(translator, chunks, processes):
        write_lines(output, lines)


# --- a file into a file ---


def check_source(source: Path) -> None:
    """Raise StorageError where `source` is not there or cannot be read; a pipe is not opened."""
    with storage_errors(source, "read"):
        if stat.S_ISREG(mode := source.stat().st_mode) or stat.S_ISDIR(mode):
            source.open("rb").close()


def translate_file(work: Work, source: Path, output: Path, *, reuse: bool = False) -> bool:
    """Translate the lines of `source` into `output`, which appears when it is whole, in place of an older one.

    With `reuse` an `output` that was made like this before stays, and False is returned.

    Until then it grows in `OUTPUT.HASH.partial`. Started again with the same input, weights, settings and device, a
    stopped translation continues there, and ends in the same bytes as one that was never stopped. Anything else has
    another hash. An `output` that is an open descriptor of this process is written to as it goes.

    Raises InputError: the input is no file on disk or the output itself, one of its lines cannot be read, or another
    process makes the same output from the same input with the same settings.
    """
    check_source(source)
    if not source.is_file():
        raise InputError(f"the input {source} is not a file on disk; leave out --output, and redirect the output")
    place = resolve_output(output)
    if not isinstance(place, Path):
        with source.open("rb") as file, output_stream(output) as stream:
            translate_stream(work, work.load(), file.fileno(), stream)
        return True
    record = place.with_name(f".{place.name}.made-from")
    with storage_errors(output):
        if place.exists() and place.samefile(source):
            raise InputError(f"the output {output} is the input itself; give another output")
    with storage_errors(source, "read"), source.open("rb", buffering=0) as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        # A line that cannot be read is better known before hours of translating.
        total = sum(len(chunk.texts) for chunk in read_lines(file.fileno(), work.strict, FILE))
        file.seek(0)
        translator = work.load()
        fingerprint = _fingerprint(work, translator, sha256)
        if reuse and place.exists() and record.exists() and record.read_text(encoding="utf-8") == fingerprint:
            return False
        with contextlib.closing(PartialOutput(place, fingerprint)) as partial_output:
            if partial_output.lines:
                LOGGER.info("continuing after line %d of %s", partial_output.lines, source)
            _translate_rest(work, translator, file, partial_output, total)
            if partial_output.lines != total:
                raise InputError(f"{source} has changed while it was translated; run the same command again")
            record.unlink(missing_ok=True)
            partial_output.finish()
    if reuse:
        write_text(record, fingerprint)
    return True


def _translate_rest(work: Work, translator: "Translator", file: FileIO, output: "PartialOutput", total: int) -> None:
    """Append the translations of the lines of `file`, `total` in number, that `output` does not have."""
    done, name = output.lines, Path(file.name).name
    # By the whole input, also when resumed: the number of processes may change the last digits of a score.
    processes = choose_processes(translator, os.fstat(file.fileno()).st_size)
    left = (chunk for chunk in read_lines(file.fileno(), work.strict, FILE) if chunk.first_line > done)
    bar: tqdm[object] = progress_bar(description=f"translating {name}", total=total, initial=done, unit=" lines")
    with bar:
        for texts, lines in work.render_chunks(translator, left, processes):
            output.add("".join(f"{line}\n" for line in lines).encode("utf-8"), texts)
            bar.update(texts)


def _fingerprint(work: Work, translator: "Translator", sha256: str) -> str:
    engine, search = translator.searcher, translator.search.model_dump(mode="json", exclude={"processes"})
    made_of = [__version__, sha256, translator.identity, engine.name, engine.arithmetic, search, asdict(work.form)]
    return sha256_of_json(made_of)


class PartialOutput:
    """Holds `OUTPUT.HASH.partial` until it becomes `OUTPUT`; a `.json` beside it says how far it has come.

    One process at a time holds it. Bytes count once the place after them is saved; the rest is cut off on resuming.
    """

    def __init__(self, output: Path, fingerprint: str) -> None:
        self._output = output
        self._path = output.with_name(f"{output.name}.{fingerprint[:12]}.partial")
        self._place_file = output.with_name(f"{self._path.name}.json")
        self.lines = self._bytes = 0  # lines of the input that are done, and bytes that belong to them
        with storage_errors(self._path):
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The one who held it may just have renamed it.
                free = self._path.exists() and os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
            except OSError as error:  # a file system without locks gives another one
                free = not isinstance(error, BlockingIOError)
            if not free:
                self._file.close()
                raise InputError(f"another process is writing {output}; wait for it, or give another output")
            # A damaged place counts for nothing, and so does one of bytes that a power cut has taken.
            with contextlib.suppress(OSError, ValueError, TypeError):
                lines, size = map(int, json.loads(self._place_file.read_bytes()))
                if size <= os.fstat(self._file.fileno()).st_size:
                    self.lines, self._bytes = lines, size
            self._file.truncate(self._bytes)
            self._file.seek(self._bytes)

    def close(self) -> None:
        """Let another process hold the file; an empty one goes."""
        if not self.lines:
            self._path.unlink(missing_ok=True)
        self._file.close()

    def add(self, content: bytes, lines: int) -> None:
        """Append `content`, the output of the next `lines` of the input."""
        with storage_errors(self._path):
            self._file.write(content)
            self._file.flush()
            os.fsync(self._file.fileno())
        self.lines, self._bytes = self.lines + lines, self._bytes + len(content)
        write_json(self._place_file, [self.lines, self._bytes])

    def finish(self) -> None:
        """Put the whole file in its place."""
        with storage_errors(self._output):
            self._path.replace(self._output)
            self._place_file.unlink(missing_ok=True)
