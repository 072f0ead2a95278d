"""Translating a file into a file: whole or not there, and resumed where it was killed."""

import contextlib
import hashlib
import json
import logging
import stat
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from translator import __version__
from translator.errors import InputError
from translator.progress import progress_bar
from translator.storage import storage_errors
from translator.streaming.lines import Chunk, chunks, survey
from translator.streaming.partial import PartialOutput
from translator.streaming.work import Work, choose_processes

if TYPE_CHECKING:
    from tqdm import tqdm

    from translator.inference import Translator

LOGGER = logging.getLogger("translator")


def check_source(source: Path) -> None:
    """Make sure that `source` is there and can be read; a pipe is taken at its word.

    Raises:
        StorageError: it cannot be read.
    """
    with storage_errors(source, "read"):
        if stat.S_ISREG(mode := source.stat().st_mode) or stat.S_ISDIR(mode):
            source.open("rb").close()


def check_output(source: Path, output: Path) -> Path:
    """Make sure that `output` can become a file beside `source`; return the file that it means, links followed.

    Raises:
        InputError: it is the input, one of the two is no file on disk, its folder is not there, or its
            links run in a circle.
    """
    if not source.is_file():
        raise InputError(f"the input {source} is not a file on disk; leave out --output, and redirect the output")
    with storage_errors(output):
        place = _followed(output)
        if place.exists() and place.samefile(source):
            raise InputError(f"the output {output} is the input itself; give another output")
        if place.is_dir():
            raise InputError(f"the output {output} is a folder; give the name of a file in it")
        if place.exists() and not place.is_file():
            raise InputError(f"the output {output} is not a file on disk; leave out --output, and redirect the output")
        if not place.parent.is_dir():
            raise InputError(f"the folder of the output {output} is not there; make it first: mkdir -p {output.parent}")
    return place


def _followed(output: Path) -> Path:
    """Return the file that `output` means.

    Raises:
        InputError: its links run in a circle.
    """
    with contextlib.suppress(RuntimeError):  # what `resolve` makes of a circle before Python 3.13
        if not (place := output.resolve()).is_symlink():
            return place
    raise InputError(f"cannot write {output}: the symbolic links of this path run in a circle; choose another path")


def translate_file(work: Work, source: Path, output: Path, *, processes: int | None = None) -> None:
    """Translate the lines of `source` into `output`, which appears when it is whole, in place of an older one.

    Until then it grows in `OUTPUT.partial`. Killed and started again with the same input, weights, settings and device,
    it goes on there, and the result has the same bytes as if it had never been killed.

    Args:
        work: how texts are translated and written; its translator is loaded here.
        source: the input.
        output: the file to be written.
        processes: in place of `search.processes`.

    Raises:
        InputError: the input is not UTF-8, or the files are no such files (see `check_source`, `check_output`).
        StorageError: a file cannot be read or written, or a process was killed.
    """
    check_source(source)
    place = check_output(source, output)
    with PartialOutput(place) as partial:
        found = survey(source)
        translator = work.load()
        if partial.resume(_fingerprint(work, translator, found.sha256)):
            LOGGER.warning(
                "%s was of another input, other weights, other settings or another device: translating from the "
                "beginning",
                partial.path,
            )
        elif partial.place.lines:
            LOGGER.info("going on after line %d of %s", partial.place.lines, source)
        # By the whole input, also when resumed: how many processes there are may change the last digits of a score.
        count = choose_processes(translator, found.size, processes)
        progress: tqdm[object] = progress_bar(
            description=f"translating {source.name}", total=found.lines, initial=partial.place.lines, unit=" lines"
        )
        with storage_errors(source, "read"):
            file = source.open("rb")
            file.seek(partial.place.input_bytes)
        with file, progress:
            waiting: list[Chunk] = []

            def handed_out() -> Iterator[Chunk]:
                for chunk in chunks(file, partial.place.lines + 1):
                    if chunk.problem is not None:
                        raise chunk.problem
                    waiting.append(chunk)
                    yield chunk

            for lines in work.render_chunks(translator, handed_out(), count):
                chunk = waiting.pop(0)
                partial.add(lines, len(chunk.texts), chunk.end)
                progress.update(len(chunk.texts))
        if partial.place.lines != found.lines:
            raise InputError(f"{source} has changed while it was translated; run the same command again")
        partial.finish()


def _fingerprint(work: Work, translator: "Translator", sha256: str) -> str:
    """Return what tells this output from all others; how many processes make it changes nothing."""
    made_of = {
        "input": sha256,
        "weights": translator.identity,
        "engine": translator.searcher.name,
        "arithmetic": translator.arithmetic,
        "search": translator.search.model_dump(mode="json", exclude={"processes"}),
        "form": asdict(work.form),
        "version": __version__,
    }
    return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
