"""Reader of TMX, the exchange format of translation memories: a stream of English and Persian segments.

The document is cut into its units as text, and each unit is parsed alone, so that a bad one costs only itself. (A
parser that recovers from errors in a whole document, such as that of lxml, loses text without a word.)
"""

import html
import html.entities
import re
from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from translator.corpus.reading.encoding import encoding_advice, is_utf8, utf8_blocks
from translator.corpus.reading.languages import LanguageCode, language_of
from translator.corpus.reading.lines import BAD_ROW, LONGEST_LINE, Pair, Unreadable
from translator.errors import CorpusError

MISSING_LANGUAGE: Final = "missing_language"  # the rule that drops a unit without English or without Persian
_CODES: Final = frozenset(("bpt", "ept", "it", "ph", "ut"))  # their content is formatting of another program
_LONGEST_UNIT: Final = 8 * LONGEST_LINE  # bytes, of a unit or a comment
_PART: Final = re.compile(rb"<!--.*?(?P<end_of_comment>-->|\Z)|<tu[\s>].*?(?P<end_of_unit></tu>|\Z)", re.DOTALL)
_ENTITY: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]*);")  # not those of XML
_TAG: Final = re.compile("<[^>]*>")
_CODE: Final = "\0"  # stands for a code inside a segment, since XML cannot have it
_CODE_BETWEEN_WORDS: Final = re.compile(r"(?<=[\w.,;:!?%)»…،؛؟])\0+(?=[\w(«])")


def pairs_of_tmx(blocks: Iterable[bytes], label: str, *, drop_invalid: bool) -> Iterator[Pair]:
    """Yield the pairs of a TMX document (1.4b): the first segment of each language of each unit.

    Memory stays flat. The line of a pair is the one on which its unit starts. A unit that is not well-formed gives a
    pair with the defect `BAD_ROW`, and one without English or without Persian a pair with `MISSING_LANGUAGE`.

    Args:
        blocks: bytes of the document, in UTF-8 or in UTF-16 with a byte order mark.
        label: name of the document in messages.
        drop_invalid: give a unit that is not UTF-8 a defect, instead of raising an error.

    Raises CorpusError: the document has no pair, is cut off, or is in another encoding.
    """
    language_tags: set[str] = set()  # of all segments, for the message on a document of other languages
    has_pairs = False
    for line, unit in _units(utf8_blocks(blocks, label), label):
        # 1. The pair of the unit. If the unit is not well-formed, the pair has only the beginning of its text.
        try:
            pair = _pair_of(_tree(unit), line, language_tags)
        except expat.ExpatError:  # also for bytes that are not UTF-8
            text = " ".join(_TAG.sub(" ", unit[:1000].decode("utf-8", "replace")).split())
            pair = Pair(line, text, "", BAD_ROW if is_utf8(unit) else str(Unreadable.INVALID_UTF8))

        # 2. A unit that is not UTF-8 ends the reading, unless such units are dropped.
        if pair.defect == Unreadable.INVALID_UTF8 and not drop_invalid:
            advice = f"{encoding_advice(unit)}, or set `invalid_utf8: drop` for this source"
            raise CorpusError(f"{label}, line {line}: the unit is not UTF-8; {advice}")
        has_pairs = has_pairs or pair.defect is None
        yield pair

    # 3. A document of other languages has units, and none is a pair.
    if not has_pairs:
        seen = ", ".join(code[:20] for code in sorted(language_tags)[:10]) or "none"
        raise CorpusError(f"{label}: no unit has English and Persian text in `<seg>`; its languages: {seen}")


def _units(blocks: Iterable[bytes], label: str) -> Iterator[tuple[int, bytes]]:
    """Yield the units of a document in UTF-8 as they stand there, each with the line on which it starts, from 1.

    Raises CorpusError: the document ends before its last tag, or a unit has no end.
    """
    data = b""  # what has arrived and is not read yet
    line = 1  # the line on which `data[end:]` begins
    for block in blocks:
        # 1. The whole parts of `data`: units, and comments. A unit inside a comment does not count.
        data += block
        end = 0  # of the last whole part
        for part in _PART.finditer(data):
            if not (part["end_of_comment"] or part["end_of_unit"]):  # the next block has its end
                break
            line += data.count(b"\n", end, part.start())  # the line ends between this part and the one before
            if part["end_of_unit"]:
                yield line, part[0]
            line += part[0].count(b"\n")
            end = part.end()

        # 2. What remains is the beginning of a part, or text between parts.
        data = data[end:]
        if len(data) > _LONGEST_UNIT:
            raise CorpusError(f"{label}, line {line}: not valid XML (no end of a unit); export the memory again")
    if b"</tmx>" not in data:
        raise CorpusError(f"{label}: not valid XML (it ends before `</tmx>`); download or copy the file again")


def _tree(unit: bytes) -> Element:
    """Return the elements of a unit; raise ExpatError if it is not well-formed."""
    # Names keep their prefixes: those of other programs are declared in the header, which this parser does not see.
    builder = TreeBuilder()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(_ENTITY.sub(_character, unit), True)
    return builder.close()


def _character(entity: re.Match[bytes]) -> bytes:
    """Return the character of an entity of HTML, which memories use without declaring it; others stay."""
    characters = html.entities.html5.get(f"{entity[1].decode('ascii')};")
    return entity[0] if characters is None else html.escape(characters).encode()


def _pair_of(unit: Element, line: int, language_tags: set[str]) -> Pair:
    """Return the pair of a unit that starts on `line`; add the tags of its languages to `language_tags`."""
    segments: dict[LanguageCode, str] = {}
    for variant in unit.iter("tuv"):
        tag = variant.get("xml:lang") or variant.get("lang") or ""
        language_tags.add(tag)
        language = language_of(tag)
        segment = variant.find("seg")
        if language is not None and segment is not None and language not in segments:
            # A code between two words stands for a space; any other is left out.
            text = _CODE_BETWEEN_WORDS.sub(" ", _text_of(segment)).replace(_CODE, "")
            segments[language] = " ".join(text.split())
    english, persian = segments.get("en"), segments.get("fa")
    if english is None or persian is None:
        return Pair(line, english or "", persian or "", MISSING_LANGUAGE)
    return Pair(line, english, persian)


def _text_of(element: Element) -> str:
    """Return the text of an element, with `_CODE` for each code of another program in it."""
    parts = [element.text or ""]
    for child in element:
        parts.append(_CODE if child.tag in _CODES else _text_of(child))
        parts.append(child.tail or "")
    return "".join(parts)
