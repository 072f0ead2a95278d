"""What is written for each text: plain translations, tab-separated columns, or JSON lines."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from translator.errors import InputError

if TYPE_CHECKING:  # at run time it would bring torch, and the command line's help is to come at once
    from translator.inference import Translation

Format = Literal["text", "jsonl", "tsv"]

_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ESCAPED: Final = re.compile(r"[\\\x00-\x1f\x7f\x85\u2028\u2029]")
_LINE_BREAKS: Final = re.compile(r"[\x7f\x85\u2028\u2029]")
"""Where programs may end a line, and JSON lets them stand."""


@dataclass(frozen=True)
class OutputForm:
    """What is asked of each text, and how it is written."""

    format: Format = "text"
    count: int = 1
    """Translations of each text."""
    scores: bool = False
    alignment: bool = False
    """Also which words belong together."""
    attention: bool = False
    """Also where the model looked, piece by piece."""
    prefix: str = ""
    """What each translation begins with."""

    def check(self) -> None:
        """Make sure that the format can hold what is asked for.

        Raises:
            InputError: it cannot.
        """
        if self.count < 1:
            raise InputError(f"--n-best {self.count}: a text has at least one translation; give 1 or more")
        for flag, asked in (("--scores", self.scores), ("--alignment", self.alignment)):
            if asked and self.format == "text":
                raise InputError(f"{flag} has no place in plain text; add --format tsv or --format jsonl")
        if self.attention and self.format != "jsonl":
            raise InputError(f"--attention, a matrix, has no place in --format {self.format}; add --format jsonl")

    def render(self, line: int, source: str, translations: "Sequence[Translation]") -> list[str]:
        """Return the lines that are written for one text.

        Text: each translation, filled up with empty lines to `count`. TSV: a row for each translation: line number,
        rank from 1, source, translation; with `scores` the score and the normalized score; with `alignment` that.
        JSON: one object.

        Args:
            line: number of the text.
            source: the text.
            translations: best first.
        """
        source = source.encode("utf-8", "replace").decode("utf-8")
        if self.format == "text":
            return [translation.text for translation in translations] + [""] * (self.count - len(translations))
        if self.format == "tsv":
            return [self._row(line, rank, source, one) for rank, one in enumerate(translations, 1)]
        record = {"line": line, "source": source, "translations": [self._object(one) for one in translations]}
        text = json.dumps(record, ensure_ascii=False)
        return [_LINE_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)]

    def _row(self, line: int, rank: int, source: str, translation: "Translation") -> str:
        cells = [str(line), str(rank), _escaped(source), _escaped(translation.text)]
        if self.scores:
            cells += [f"{translation.score:.6f}", f"{translation.normalized_score:.6f}"]
        if self.alignment:
            cells.append(translation.alignment.pharaoh if translation.alignment is not None else "")
        return "\t".join(cells)

    def _object(self, translation: "Translation") -> dict[str, Any]:
        known = translation.to_json()
        left_out = set()
        if not self.scores:
            left_out |= known.keys() - {"text", "alignment", "attention"}
        if not self.alignment:
            left_out.add("alignment")
        if not self.attention:
            left_out.add("attention")
        return {key: value for key, value in known.items() if key not in left_out}


def _escaped(text: str) -> str:
    """Return `text` without a character that could end a cell or a row."""
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[0], f"\\u{ord(match[0]):04x}"), text)
