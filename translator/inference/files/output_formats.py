"""Output formats of translations: plain text, TSV, JSON Lines. Imports no torch."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from translator.errors import InputError
from translator.inference.translation import Translation

_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED: Final = re.compile(r"[\\\x00-\x1f\x7f\x85\u2028\u2029]")
_LINE_BREAKS: Final = re.compile(r"[\x7f\x85\u2028\u2029]")  # line breaks in some programs; JSON does not escape them


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
        for flag, is_requested in (("--scores", self.scores), ("--alignment", self.alignment)):
            if is_requested and self.format == "text":
                raise InputError(f"{flag} does not fit plain text; add --format tsv or --format jsonl")
        if self.attention and self.format != "jsonl":
            raise InputError(f"--attention is a matrix, which --format {self.format} cannot hold; use --format jsonl")

    def lines(self, first_line: int, texts: Sequence[str], translations: Sequence[Sequence[Translation]]) -> list[str]:
        """Return the output lines of several texts (docs/translating.md, "What is written").

        Args:
            first_line: number of the first text, from 1.
            texts: the sources.
            translations: those of each text, best first.
        """
        lines: list[str] = []
        for line, (text, text_translations) in enumerate(zip(texts, translations, strict=True), first_line):
            if self.format == "text":
                # Each text gets `count` lines, so that their numbers tell to which text they belong.
                lines += [translation.text for translation in text_translations]
                lines += [""] * (self.count - len(text_translations))
            elif self.format == "jsonl":
                lines.append(self._json_line(line, text, text_translations))
            else:
                for rank, translation in enumerate(text_translations, 1):
                    lines.append(self._tsv_row(line, rank, text, translation))
        return lines

    def _json_line(self, line: int, source: str, translations: Sequence[Translation]) -> str:
        objects = [self._json_object(translation) for translation in translations]
        record = {"line": line, "source": source, "translations": objects}
        return _LINE_BREAKS.sub(_escape, json.dumps(record, ensure_ascii=False))

    def _json_object(self, translation: Translation) -> dict[str, Any]:
        """Return the requested entries of a translation; all but three belong to its scores."""
        is_requested = {"text": True, "alignment": self.alignment, "attention": self.attention}
        requested_entries = {}
        for key, value in translation.to_json().items():
            if is_requested.get(key, self.scores):
                requested_entries[key] = value
        return requested_entries

    def _tsv_row(self, line: int, rank: int, source: str, translation: Translation) -> str:
        cells = [str(line), str(rank), _ESCAPED.sub(_escape, source), _ESCAPED.sub(_escape, translation.text)]
        if self.scores:
            cells += [f"{translation.score:.6f}", f"{translation.normalized_score:.6f}"]
        if self.alignment:
            cells.append(translation.alignment.pharaoh if translation.alignment is not None else "")
        return "\t".join(cells)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}")
