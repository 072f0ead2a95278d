"""Source tags: a character at the start of a source sentence that tells the model which corpus it is from.

Corpora differ in spelling, tokenization and style. A model that is trained with tags writes as the corpus whose tag it
is given (Kobus et al. 2017); the training sentences without a tag teach it to do without. The tag of a corpus depends
on its name alone, so it means the same in every run and export whose subword model has it.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from translator.config import SourceConfig
from translator.errors import CorpusError

SOURCE_TAGS: Final = "".join(map(chr, range(0xE100, 0xF000)))
"""The characters of Unicode's private use area that are tags; fonts of symbols begin at U+F000."""
_TAGGED_TENTHS: Final = 7  # of the training sentences


def tag_of(name: str) -> str:
    """Return the tag of the corpus with a name."""
    return SOURCE_TAGS[zlib.crc32(name.encode()) % len(SOURCE_TAGS)]


def tags_of_sources(sources: Sequence[SourceConfig]) -> dict[str, str]:
    """Return the tag of each source with `tag: true` by its name; raises CorpusError: two names give one tag."""
    names_by_tag: dict[str, str] = {}
    for source in sources:
        if not source.tag:
            continue
        first_name = names_by_tag.setdefault(tag_of(source.name), source.name)
        if first_name != source.name:
            raise CorpusError(
                f"corpus sources `{first_name}` and `{source.name}` have the same tag; rename one of them"
            )
    return {name: tag for tag, name in names_by_tag.items()}


def with_tag(text: str, tag: str) -> str:
    """Return `text` with the tag at its start."""
    return f"{tag} {text}"


def without_tag(text: str) -> str:
    """Return `text` without the tag at its start, if it has one."""
    has_tag = text != "" and text[0] in SOURCE_TAGS
    return text[2:] if has_tag else text  # a space follows the tag


def tagged_lines(lines: Iterable[bytes], tag: str) -> Iterator[bytes]:
    """Yield `lines` in UTF-8, seven of ten with the tag; the text of a line decides."""
    start = with_tag("", tag).encode()
    for line in lines:
        is_tagged = zlib.crc32(line) % 10 < _TAGGED_TENTHS
        yield start + line if is_tagged else line
