"""Output of translations: plain text, TSV, JSON Lines, visual order for terminals; the prompt. Imports no torch."""

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO

from translator.errors import InputError, Interrupted
from translator.run.storage import explain_os_error

if TYPE_CHECKING:
    from translator.inference.segments import Translation
    from translator.inference.stream import Work
    from translator.inference.translator import Translator

Display = Literal["auto", "logical", "visual"]
Order = Literal["logical", "visual"]

_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED: Final = re.compile(r"[\\\x00-\x1f\x7f\x85\u2028\u2029]")
_LINE_BREAKS: Final = re.compile(r"[\x7f\x85\u2028\u2029]")  # line breaks in some programs; JSON does not escape them
_DO_NOT_ORDER: Final = ("vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper", "tmux", "alacritty", "kitty")
"""TERM_PROGRAM of terminals that show (or in old versions showed) Persian unjoined and from left to right."""
_VARIABLES_OF_THOSE: Final = ("KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "ALACRITTY_LOG", "WT_SESSION", "XTERM_VERSION")


@dataclass(frozen=True)
class OutputForm:
    """The requested outputs for each text, and their format."""

    format: Literal["text", "jsonl", "tsv"] = "text"
    count: int = 1  # translations of each text
    scores: bool = False
    alignment: bool = False
    attention: bool = False
    prefix: str = ""  # the beginning of each translation

    def check(self) -> None:
        """Raise InputError if the format cannot hold the requested outputs."""
        if self.count < 1:
            raise InputError(f"--n-best {self.count} is too small; give 1 or more")
        for flag, asked in (("--scores", self.scores), ("--alignment", self.alignment)):
            if asked and self.format == "text":
                raise InputError(f"{flag} does not fit plain text; add --format tsv or --format jsonl")
        if self.attention and self.format != "jsonl":
            raise InputError(f"--attention is a matrix, which --format {self.format} cannot hold; use --format jsonl")

    def render(self, line: int, source: str, translations: "Sequence[Translation]") -> list[str]:
        """Return the output lines of one text (docs/translating.md, "What is written")."""
        if self.format == "text":
            return [translation.text for translation in translations] + [""] * (self.count - len(translations))
        if self.format == "jsonl":
            optional = {"text": True, "alignment": self.alignment, "attention": self.attention}
            objects = [
                {key: value for key, value in one.to_json().items() if optional.get(key, self.scores)}
                for one in translations
            ]
            record = {"line": line, "source": source, "translations": objects}
            return [_LINE_BREAKS.sub(_escape, json.dumps(record, ensure_ascii=False))]
        rows = []
        for rank, one in enumerate(translations, 1):
            cells = [str(line), str(rank), *(_ESCAPED.sub(_escape, text) for text in (source, one.text))]
            if self.scores:
                cells += [f"{one.score:.6f}", f"{one.normalized_score:.6f}"]
            if self.alignment:
                cells.append(one.alignment.pharaoh if one.alignment is not None else "")
            rows.append("\t".join(cells))
        return rows


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}")


def write_lines(output: TextIO, lines: Sequence[str]) -> None:
    """Write `lines` to standard output and flush; raise StorageError if that fails."""
    try:
        output.writelines(f"{line}\n" for line in lines)
        output.flush()
    except BaseException as error:
        # Discard the rest: otherwise the interpreter's flush at exit blocks, or fails again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, output.fileno())
        os.close(nowhere)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise explain_os_error(error, "standard output", "write") from error
        raise


def choose_display(asked: Display, output: TextIO, environment: Mapping[str, str]) -> Order:
    """Return the character order for `output`: `logical` (as stored; the fallback) or `visual` (as displayed)."""
    if asked != "auto" or not output.isatty():
        return "visual" if asked == "visual" and output.isatty() else "logical"
    program, version = environment.get("TERM_PROGRAM", ""), environment.get("VTE_VERSION", "")
    if version.isdigit() and program != "tmux":
        return "logical" if int(version) >= 5800 else "visual"  # VTE (GNOME Terminal) reorders Persian since 0.58
    known = program in _DO_NOT_ORDER or any(environment.get(name) for name in _VARIABLES_OF_THOSE)
    return "visual" if known or environment.get("TERM") == "linux" else "logical"


def visual_lines(text: str, columns: int | None = None) -> list[str]:
    """Return `text` as lines of at most `columns`, with joined letter shapes in visual order, left to right."""
    from bidi.algorithm import get_display  # `bidi.get_display` does not mirror brackets

    from translator.run.arabic_shaping import shaped

    width = columns or shutil.get_terminal_size().columns
    printable = "".join(letter for letter in text if unicodedata.category(letter) != "Cf" or letter in "\u200c\u200d")
    # Wrap before reordering: a terminal that wraps a reordered line shows its end before its beginning.
    lines = textwrap.wrap(printable, width, break_on_hyphens=False) or [""]
    return [get_display(shaped(line), base_dir="R") for line in lines]


def translate_texts(
    work: "Work", translator: "Translator", texts: Sequence[str], output: TextIO, order: Order, first_line: int = 1
) -> None:
    """Write the translations of `texts` to `output`; `order` applies to plain text only."""
    lines = work.render(translator, texts, first_line)
    if order == "visual" and work.form.format == "text":
        lines = [part for line in lines for part in visual_lines(line)]
    write_lines(output, lines)


def translate_interactively(work: "Work", translator: "Translator", order: Order = "logical") -> None:
    """Prompt for text on standard error and print its translation on standard output, until the input ends."""
    sys.stderr.write(f"Type {translator.normalizer.languages[0].name} and press Enter; Ctrl-D ends.\n")
    number = 0
    with _history():
        while True:
            try:
                text = _ask(translator.normalizer.languages[0].code)
            except (EOFError, Interrupted) as error:
                sys.stderr.write("\n")  # the next message starts on a new line
                if isinstance(error, EOFError):
                    return
                raise
            if text.strip():
                number += 1
                translate_texts(work, translator, [text], sys.stdout, order, number)


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Enable line editing and a history file inside the block, if readline and a home folder exist."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state", "translator", "history")
    with contextlib.suppress(OSError, RuntimeError):  # the history is optional
        path = path.expanduser()
        readline.read_history_file(path)
    readline.set_history_length(1000)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.is_absolute():  # a home folder exists
                path.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(path)
                path.chmod(0o600)  # private


def _ask(code: str) -> str:
    """Return a line typed at a prompt on standard error; `input` alone would put the prompt on standard output."""
    sys.stderr.flush()
    output = sys.stdout.fileno()
    kept = os.dup(output)
    os.dup2(sys.stderr.fileno(), output)
    try:
        # Python decodes invalid UTF-8 from a terminal to lone surrogates.
        return input(f"{code}> ").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    finally:
        os.dup2(kept, output)
        os.close(kept)
