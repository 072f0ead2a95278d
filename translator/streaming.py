"""Translating as lines come: from a pipe, a line out for each line in, and from a person at a prompt."""

import contextlib
import queue
import sys
import threading
from typing import BinaryIO, TextIO

from translator.errors import InputError
from translator.inference import Translator

LINES_AT_ONCE = 1024
"""Lines waiting at most, so that memory stays flat however long the input is."""


def translate_stream(translator: Translator, source: BinaryIO, output: TextIO) -> None:
    """Write one translated line to `output` for each line of `source`, in order.

    Lines that are waiting are translated together; a line that comes alone is translated at once.

    Raises:
        InputError: a line is not UTF-8; the translations of all lines before it are written.
    """
    waiting: queue.Queue[bytes | None] = queue.Queue(LINES_AT_ONCE)

    def read() -> None:
        for line in source:  # a binary stream ends its lines at "\n" alone
            waiting.put(line)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    number, ended = 0, False
    while not ended:
        lines: list[str] = []
        first = number + 1
        problem: InputError | None = None
        entry = waiting.get()
        while True:
            if entry is None:
                ended = True
                break
            number += 1
            try:
                lines.append(entry.decode("utf-8").removesuffix("\n").removesuffix("\r"))
            except UnicodeDecodeError as error:
                problem = InputError(f"line {number} of the input is not UTF-8 (byte {error.start + 1} of the line)")
                break
            if len(lines) == LINES_AT_ONCE or waiting.empty():
                break
            entry = waiting.get()
        for translation in translator.translate_lines(lines, first_line=first):
            output.write(translation + "\n")
        output.flush()
        if problem is not None:
            raise problem


def translate_interactively(translator: Translator) -> None:
    """Prompt for English and print Persian until the input ends; the prompt itself goes to standard error."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it gives `input` a history and line editing
    sys.stderr.write("Type English and press Enter; Ctrl-D ends.\n")
    while True:
        try:
            text = input("en> ")
        except EOFError:
            sys.stderr.write("\n")
            return
        if text.strip():
            sys.stdout.write(translator.translate(text) + "\n")
            sys.stdout.flush()
