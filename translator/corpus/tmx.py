"""Reader of TMX, the exchange format of translation memories: a stream of English and Persian segments."""

from collections.abc import Iterator
from typing import IO, Final
from xml.parsers import expat

from translator.corpus.lines import BLOCK, LONGEST_LINE, Pair, Unreadable
from translator.errors import CorpusError

_LANGUAGES: Final = {"en": "en", "eng": "en", "fa": "fa", "fas": "fa", "per": "fa", "pes": "fa"}
_CODES: Final = frozenset(("bpt", "ept", "it", "ph", "ut"))  # their content is formatting of another program


def pairs_of_tmx(stream: IO[bytes], label: str) -> Iterator[Pair]:
    """Yield the pairs of a TMX document (1.4b): the first segment of each language of each unit.

    Memory stays flat. The line of a pair is the number of its unit. Raises CorpusError for a document without pairs and
    for one that declares entities, since these can grow without limit or name other files.
    """
    reader = _Reader(label)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.text, reader.refuse_entity
    try:
        while data := stream.read(BLOCK):
            parser.Parse(data, False)
            yield from reader.take()
        parser.Parse(b"", True)
        yield from reader.take()
    except (expat.ExpatError, LookupError, ValueError) as error:  # or its encoding is unknown
        yield from reader.take()
        advice = "export the translation memory again, in UTF-8"
        raise CorpusError(f"{label}: not valid XML ({error}); {advice}") from error
    if not reader.has_pairs:
        seen = ", ".join(sorted(reader.languages)[:10]) or "none"
        raise CorpusError(f"{label}: no unit has a segment in English and one in Persian; its languages: {seen}")


class _Reader:
    """Collects the segments of each unit while the parser reports elements and text."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.has_pairs = False
        self.languages: set[str] = set()  # as the document names them
        self._found: list[Pair] = []
        self._unit = 0
        self._segments: dict[str, str] = {}  # of the present unit, by language
        self._language: str | None = None
        self._parts: list[str] | None = None  # of the present segment
        self._length = 0  # length of the parts, in characters
        self._inside_code = 0

    def take(self) -> list[Pair]:
        """Return the pairs since the last call."""
        found, self._found = self._found, []
        return found

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit, self._segments = self._unit + 1, {}
        elif name == "tuv":
            code = attributes.get("xml:lang") or attributes.get("lang") or ""
            self.languages.add(code[:20])
            self._language = _LANGUAGES.get(code.lower().replace("_", "-").partition("-")[0])
        elif name == "seg":
            self._parts, self._length = [], 0
        elif name in _CODES:
            self._inside_code += 1

    def text(self, text: str) -> None:
        if self._parts is not None and not self._inside_code and self._length <= LONGEST_LINE:
            self._parts.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        if name == "seg" and self._parts is not None:
            if self._language is not None:
                self._segments.setdefault(self._language, " ".join("".join(self._parts).split("\n")))
            self._parts = None
        elif name in _CODES:
            self._inside_code -= 1
        elif name == "tu" and len(self._segments) == 2:
            self.has_pairs = True
            english, persian = self._segments["en"], self._segments["fa"]
            if max(map(len, (english, persian))) > LONGEST_LINE:
                self._found.append(Pair(self._unit, "", "", str(Unreadable.LINE_TOO_LONG)))
            else:
                self._found.append(Pair(self._unit, english, persian))

    def refuse_entity(self, name: str, *_: object) -> None:
        raise CorpusError(f"{self._label}: it declares the entity `{name[:60]}`, which is not supported; remove it")
