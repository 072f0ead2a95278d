"""Reader of TMX, the exchange format of translation memories: a stream of English and Persian segments.

The document is cut into its units as text, and the units of a block are parsed together. If one of them is not
well-formed, each is parsed alone, so that one bad unit costs only itself.
"""

import codecs
import html
import html.entities
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple
from xml.parsers import expat

from translator.corpus.reading.encoding import encoding_advice, is_utf8, utf8_blocks
from translator.corpus.reading.languages import LanguageCode, language_of
from translator.corpus.reading.lines import BAD_ROW, LONGEST_LINE, Pair, Unreadable
from translator.errors import CorpusError

MISSING_LANGUAGE: Final = "missing_language"  # the rule that drops a unit without English or without Persian
_CODES: Final = frozenset(("bpt", "ept", "it", "ph", "ut"))  # their content is formatting of another program
_LONGEST_UNIT: Final = 8 * LONGEST_LINE  # bytes
_UNIT: Final = re.compile(rb"<tu[\s>/]")
_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
_ENTITY: Final = re.compile(rb"&([A-Za-z][A-Za-z0-9]*);")
_TAG: Final = re.compile("<[^>]*>")
_XML_ENTITIES: Final = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))
_DECLARED_ENTITY: Final = re.compile(rb"<!ENTITY\s+(?:%\s+)?([^\s>]{1,60})")
_DECLARED_ENCODING: Final = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})["']""")
_OF_ONE_BYTE: Final = re.compile(r"(iso[-_]?8859|windows|cp|mac|koi8|latin)[-_]?\w+([-_]\w+)?", re.IGNORECASE)
_CODE: Final = "\0"  # stands for a code inside a segment, since XML cannot have it
_CODE_BETWEEN_WORDS: Final = re.compile(r"(?<=[\w.,;:!?%)»…،؛؟])\0+(?=[\w(«])")


Languages = dict[str, LanguageCode | None]
"""By the tag of a language in the document `en`, `fa`, or None for another language."""


class _Group(NamedTuple):
    """Consecutive units as they stand in the document."""

    line: int  # on which the first one starts, from 1
    content: bytes  # from the first `<tu` to that of the next group
    starts: list[int]  # of each unit in `content`

    def lines(self) -> Iterator[int]:
        """Yield the line on which each unit starts."""
        line = self.line
        yield line
        for start, next_start in pairwise(self.starts):
            line += self.content.count(b"\n", start, next_start)
            yield line

    def units(self) -> Iterator["_Group"]:
        """Yield each unit as a group of its own."""
        for line, start, end in zip(self.lines(), self.starts, [*self.starts[1:], len(self.content)], strict=True):
            yield _Group(line, self.content[start:end], [0])


def pairs_of_tmx(blocks: Iterable[bytes], label: str, *, drop_invalid: bool) -> Iterator[Pair]:
    """Yield the pairs of a TMX document (1.4b): the first segment of each language of each unit.

    Memory stays flat. The line of a pair is the one on which its unit starts. A unit that is not well-formed gives a
    pair with the defect `BAD_ROW`, and one without English or without Persian a pair with `MISSING_LANGUAGE`.

    Args:
        blocks: bytes of the document.
        label: name of the document in messages.
        drop_invalid: give a unit that is not UTF-8 a defect, instead of raising an error.

    Raises CorpusError: the document has no pair, is cut off, is in an unknown encoding, or declares entities, since
        these can grow without limit or name other files.
    """
    languages: Languages = {}
    has_pairs = has_segments = False
    for group in _unit_groups(_as_utf8(blocks, label), label):
        try:
            pairs = _parse(group, languages)
        except expat.ExpatError:
            pairs = list(_pairs_of_each(group, languages))
        for pair in pairs:
            if pair.defect == Unreadable.INVALID_UTF8 and not drop_invalid:
                advice = f"{encoding_advice(group.content)}, or set `invalid_utf8: drop` for this source"
                raise CorpusError(f"{label}, line {pair.line}: the unit is not UTF-8; {advice}")
            has_pairs = has_pairs or pair.defect is None
            has_segments = has_segments or pair.source != "" or pair.target != ""
            yield pair
    if not has_pairs and not has_segments and {"en", "fa"} <= set(languages.values()):
        raise CorpusError(f"{label}: its units have no text in `<seg>`; export the memory again, as TMX 1.4")
    if not has_pairs:
        seen = ", ".join(code[:20] for code in sorted(languages)[:10]) or "none"
        raise CorpusError(f"{label}: no unit has a segment in English and one in Persian; its languages: {seen}")


def _as_utf8(blocks: Iterable[bytes], label: str) -> Iterator[bytes]:
    """Yield the document in UTF-8, from the encoding of its byte order mark or of its XML declaration."""
    converted = utf8_blocks(blocks, label)
    head = next(converted, b"")
    declared = _DECLARED_ENCODING.match(head)
    name = declared[1].decode() if declared else "utf-8"
    # `utf8_blocks` has already converted UTF-16.
    if re.fullmatch("utf-?(8|16([bl]e)?)|us-ascii|ascii", name, re.IGNORECASE):
        yield head
        yield from converted
        return
    try:
        if not _OF_ONE_BYTE.fullmatch(name):
            raise LookupError(name)
        decoder = codecs.getincrementaldecoder(name)("replace")
    except LookupError as error:
        advice = "export the translation memory again, in UTF-8"
        raise CorpusError(f"{label}: not valid XML (unknown encoding {name}); {advice}") from error
    for block in chain([head], converted):
        yield decoder.decode(block).encode()


def _unit_groups(blocks: Iterable[bytes], label: str) -> Iterator[_Group]:
    """Yield the units of a document in UTF-8, those of a block at a time.

    Raises CorpusError: the document has no units, or ends in one of them, or declares entities.
    """
    line = 1  # at the start of `data`
    data = b""
    in_prologue = True
    for block in blocks:
        data = _without_comments(data + block)
        starts = [match.start() for match in _UNIT.finditer(data, 0, _end_of_content(data))]
        first, last = (starts[0], starts[-1]) if starts else (0, 0)
        if len(data) - last > 2 * _LONGEST_UNIT:
            raise CorpusError(f"{label}, line {line}: not valid XML (no end of a unit); export the memory again")
        if in_prologue and starts:
            _refuse_entities(data[:first], label)
            in_prologue = False
        line += data.count(b"\n", 0, first)
        # The last unit may continue in the next block.
        if last > first:
            yield _Group(line, data[first:last], [start - first for start in starts[:-1]])
            line += data.count(b"\n", first, last)
        data = data[last:]

    # Comments that have not ended are none.
    starts = [match.start() for match in _UNIT.finditer(data)]
    first = starts[0] if starts else len(data)
    if in_prologue:
        _refuse_entities(data[:first], label)
    if b"</tmx>" not in data:
        raise CorpusError(f"{label}: not valid XML (it ends before `</tmx>`); download or copy the file again")
    if starts:
        end = data.rfind(b"</tu>", starts[-1]) + len(b"</tu>")
        content = data[first : max(end, starts[-1] + len(b"<tu>"))]
        yield _Group(line + data.count(b"\n", 0, first), content, [start - first for start in starts])


def _end_of_content(data: bytes) -> int:
    """Return the place in `data`, which has no whole comment, where a comment begins that the next block may end.

    A comment without an end is no comment: `<!--` is text in a CDATA section.
    """
    start = data.find(b"<!--")
    return len(data) if start < 0 or len(data) - start > _LONGEST_UNIT else start


def _without_comments(data: bytes) -> bytes:
    """Return `data` with each whole comment replaced by its line ends."""
    if b"<!--" not in data:
        return data
    return _COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), data)


def _refuse_entities(prologue: bytes, label: str) -> None:
    if declared := _DECLARED_ENTITY.search(prologue):
        name = declared[1].decode("utf-8", "replace")
        raise CorpusError(f"{label}: it declares the entity `{name}`, which is not supported; remove it")


def _parse(group: _Group, languages: Languages) -> list[Pair]:
    """Return a pair for each unit; add the languages of the document to `languages`.

    Raises ExpatError: a unit is not well-formed.
    """
    parser = expat.ParserCreate("utf-8")
    reader = _Reader(group.lines(), languages)
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    content = group.content
    if b"&" in content:
        content = _ENTITY.sub(_character, content)
    parser.Parse(b"<body>", False)
    parser.Parse(content, False)
    parser.Parse(b"</body>", True)
    return reader.pairs


def _pairs_of_each(group: _Group, languages: Languages) -> Iterator[Pair]:
    """Yield a pair for each unit of `group`, parsed alone, with a defect if it is not well-formed."""
    for unit in group.units():
        try:
            yield from _parse(unit, languages)
        except expat.ExpatError:
            text = " ".join(_TAG.sub(" ", unit.content[:1000].decode("utf-8", "replace")).split())
            yield Pair(unit.line, text, "", BAD_ROW if is_utf8(unit.content) else str(Unreadable.INVALID_UTF8))


def _character(entity: re.Match[bytes]) -> bytes:
    """Return the character of an entity of HTML, which memories use without declaring it; others stay."""
    if entity[1] in _XML_ENTITIES:
        return entity[0]
    characters = html.entities.html5.get(f"{entity[1].decode('ascii')};")
    return entity[0] if characters is None else html.escape(characters).encode()


class _Reader:
    """Makes a pair of each unit while the parser reports elements and text."""

    def __init__(self, lines: Iterator[int], languages: Languages) -> None:
        """Start with no pairs.

        Args:
            lines: on which the units start.
            languages: gets the languages of the document.
        """
        self.pairs: list[Pair] = []
        self._lines = lines
        self._line = 0  # on which the present unit starts
        self._languages = languages
        self._segments: dict[LanguageCode, str] = {}  # of the present unit, by language
        self._language: LanguageCode | None = None
        self._parts: list[str] | None = None  # of the present segment
        self._inside_code = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._line = next(self._lines)
            self._segments = {}
        elif name == "tuv":
            code = attributes.get("xml:lang") or attributes.get("lang") or ""
            if code not in self._languages:
                self._languages[code] = language_of(code)
            self._language = self._languages[code]
        elif name == "seg":
            self._parts = []
        elif name in _CODES:
            self._inside_code += 1
            if self._parts is not None:
                self._parts.append(_CODE)

    def text(self, text: str) -> None:
        if self._parts is not None and not self._inside_code:
            self._parts.append(text)

    def end(self, name: str) -> None:
        if name == "seg" and self._parts is not None:
            if self._language is not None and self._language not in self._segments:
                self._segments[self._language] = _segment_text(self._parts)
            self._parts = None
        elif name == "tuv":
            self._language = None
        elif name == "tu":
            self.pairs.append(self._pair())
        elif name in _CODES:
            self._inside_code -= 1

    def _pair(self) -> Pair:
        """Return the pair of the present unit."""
        english = self._segments.get("en")
        persian = self._segments.get("fa")
        if english is None or persian is None:
            return Pair(self._line, english or "", persian or "", MISSING_LANGUAGE)
        if len(english) > LONGEST_LINE or len(persian) > LONGEST_LINE:
            return Pair(self._line, "", "", str(Unreadable.LINE_TOO_LONG))
        return Pair(self._line, english, persian)


def _segment_text(parts: Iterable[str]) -> str:
    """Return the text of a segment from its parts; a code between words becomes a space, any other nothing."""
    segment = "".join(parts)
    if _CODE in segment:
        segment = _CODE_BETWEEN_WORDS.sub(" ", segment).replace(_CODE, "")
    return " ".join(segment.split())
