"""Translating for a person at a prompt, who finds earlier lines again with the arrow keys."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from translator.errors import Interrupted
from translator.streaming.display import shown
from translator.streaming.output import write_lines
from translator.streaming.work import Work

if TYPE_CHECKING:
    from translator.inference import Translator

PROMPT = "en> "
LINES_KEPT: Final = 1000
"""Lines of history at most."""


def translate_interactively(
    work: Work, translator: "Translator", display: Literal["logical", "visual"] = "logical"
) -> None:
    """Prompt for English on standard error and print Persian on standard output, until the input ends.

    Args:
        work: what is written for each line.
        translator: translates.
        display: whether plain text is written as it is stored, or as it is to be seen.
    """
    sys.stderr.write("Type English and press Enter; Ctrl-D ends.\n")
    with _history():
        number = 0
        while True:
            try:
                text = _ask()
            except EOFError:
                sys.stderr.write("\n")
                return
            except Interrupted:
                sys.stderr.write("\n")  # what is said of it does not go on the line that was typed
                raise
            if not text.strip():
                continue
            number += 1
            write_lines(sys.stdout, shown(work.render(translator, [text], number), work.form, display))


def history_file() -> Path:
    """Return where earlier lines are kept: the user's state folder (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    # The specification has relative paths ignored.
    folder = Path(state) if os.path.isabs(state) else Path("~/.local/state").expanduser()  # noqa: PTH117
    return folder / "translator" / "history"


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Give the prompt editing and a history inside the block; it works without where there is neither."""
    try:
        import readline
    except ImportError:
        yield
        return
    path: Path | None = None
    with contextlib.suppress(OSError, RuntimeError):  # no home, or none that may be read
        path = history_file()
        readline.read_history_file(path)
    readline.set_history_length(LINES_KEPT)
    try:
        yield
    finally:
        if path is not None:
            with contextlib.suppress(OSError):  # a history is no reason to fail
                path.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(path)
                path.chmod(0o600)  # what a person typed is theirs alone


def _ask() -> str:
    """Return a line typed at the prompt, which appears on standard error.

    `input` offers history and editing only if it may prompt on standard output. So standard error takes its place
    while the person types, and a file that standard output goes to gets translations alone.
    """
    sys.stderr.flush()
    output = sys.stdout.fileno()
    kept = os.dup(output)
    os.dup2(sys.stderr.fileno(), output)
    try:
        return input(PROMPT)
    finally:
        os.dup2(kept, output)
        os.close(kept)
