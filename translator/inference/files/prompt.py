"""The prompt: a person types lines at a terminal and reads their translations."""

import contextlib
import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from translator.errors import Interrupted
from translator.inference.files.block_translation import translate_block
from translator.inference.files.display import Order, visual_lines
from translator.inference.files.document import Block
from translator.inference.files.line_reader import Lines
from translator.inference.files.output_formats import OutputForm
from translator.inference.files.paragraphs import joined_paragraphs
from translator.inference.translator import Translator
from translator.run.text import write_lines

_HISTORY_LINES: Final = 1000


def translate_texts(
    form: OutputForm,
    translator: Translator,
    texts: Sequence[str],
    output: TextIO,
    order: Order,
    first_line: int = 1,
) -> None:
    """Write the translations of `texts` to `output`.

    Args:
        form: what to write for each text.
        translator: the model.
        texts: source texts.
        output: a standard stream.
        order: logical or visual order of the characters, in plain text only.
        first_line: number of the first text.
    """
    block = Block(first_line, list(texts))
    lines = translate_block(translator, form, block)
    # Some terminals cannot order Arabic script, so they get it in visual order.
    if order == "visual" and form.format == "text":
        lines = list(itertools.chain.from_iterable(map(visual_lines, lines)))
    write_lines(output, lines)


def translate_interactively(
    form: OutputForm, translator: Translator, order: Order = "logical", *, paragraphs: bool = False
) -> None:
    """Prompt for text on standard error and print its translation on standard output, until the input ends.

    With `paragraphs`, an empty line ends a text, whose lines are joined as in a file.
    """
    language = translator.normalizer.languages[0]
    end = "Enter twice" if paragraphs else "Enter"
    sys.stderr.write(f"Type {language.name} and press {end}; Ctrl-D ends.\n")
    line_number = 1
    with _history():
        lines = _typed_lines(f"{language.code}> ")
        for text in joined_paragraphs(lines) if paragraphs else lines:
            if text and text.strip():
                translate_texts(form, translator, [text], sys.stdout, order, line_number)
                line_number += 1


def _typed_lines(prompt: str) -> Lines:
    """Yield each line that a person types; the prompt of the shell starts on a new line."""
    while True:
        try:
            line = _read_typed_line(prompt)
        except EOFError:
            sys.stderr.write("\n")
            return
        except Interrupted:
            sys.stderr.write("\n")
            raise
        yield line


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Enable line editing and a history file inside the block, if readline and a home folder exist."""
    try:
        import readline
    except ImportError:
        yield
        return
    # Where the XDG specification keeps the state of programs.
    path = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state", "translator", "history")
    with contextlib.suppress(RuntimeError, OSError):  # the home folder is unknown, or the file missing or unreadable
        path = path.expanduser()
        readline.read_history_file(path)
    readline.set_history_length(_HISTORY_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # the history is optional
            if path.is_absolute():  # relative if the home folder is unknown; the specification ignores relative ones
                path.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(path)
                path.chmod(0o600)  # private


def _read_typed_line(prompt: str) -> str:
    """Return a line typed after `prompt` on standard error; `input` alone would put it on standard output."""
    # `input` writes to descriptor 1, which therefore becomes standard error for a moment.
    sys.stderr.flush()
    output = sys.stdout.fileno()
    saved_output = os.dup(output)
    os.dup2(sys.stderr.fileno(), output)
    try:
        typed = input(prompt)
    finally:
        os.dup2(saved_output, output)
        os.close(saved_output)
    # Python decodes invalid UTF-8 from a terminal to lone surrogates.
    return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
