"""Text to copy instead of translating: text without words or in another script, and what stands beside a sentence."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from translator.inference.text.sentences import AFTER_MARK, FACE, LINE_BREAK, ORNAMENT, Sentence
from translator.subword.markup import cut_tags
from translator.subword.placeholders import without_copied_parts
from translator.subword.source_text import is_mostly_in_script

_PARTS_OF_EMOJI: Final = "\u200d\ufe0f\u20e3"  # joiner, variation selector, keycap
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\ufffd]")  # U+FFFD stands for a broken character
_MARKS_BEFORE: Final = re.compile(
    r"""(?:
        \s++
        # a quoted line of a mail
        | >++
        # a bullet, a heading, a box to tick
        | (?:[-–—―*+•·▪◦●○■□▶►→✓]|\#{1,6}|\[[ xX✓]?\])(?=\s)
        # a speaker of a dialogue
        | [-–—](?=[A-Zآ-ی«“"])
        # the number of a list item
        | [(\[]?(?:(?!0\d)\d{1,3}(?:\.\d{1,3})*|[ivx]{2,5}|[IVX]{2,5}|الف)[.)\]]++(?=\s|[A-Z][a-z]|[آ-ی])
        | \d{1,3}[-–](?=\s)
        # its letter; not an initial
        | [(\[]?[A-Za-zآ-ی][)\]]++(?=\s)
        | [a-z]\.(?=\s+[^\W\d])
        | ORNAMENT(?=\s)
    )*+""".replace("ORNAMENT", ORNAMENT),
    re.VERBOSE,
)
"""What stands before the first word of a sentence, with the white space between."""
_ORNAMENTS_AFTER: Final = re.compile(rf"{AFTER_MARK}(?:\s*+{ORNAMENT}){{1,8}}+$|(?<!\s)(?:\s++{FACE}){{1,8}}+$")
_EMPHASIZED: Final = re.compile(r"([*_~]{0,3})([^*_~]+?)([*_~]{0,3})")  # whole, as Markdown marks it


@dataclass(frozen=True)
class PartedText:
    """A text, split into sentences to translate and copied text between them."""

    sentences: list[str]
    between: list[str]  # before the first sentence, between two, and after the last: one more than there are sentences
    is_foreign: bool  # whether a sentence is copied because it is in another script


def part_text(
    sentences: Sequence[Sentence], script: str, is_unreadable: Callable[[str], bool], as_in_target: Callable[[str], str]
) -> PartedText:
    """Return the sentences of a text that a model can translate, and what it has to copy.

    Args:
        sentences: all sentences of the text.
        script: the script of the source language, as Unicode names it: LATIN or ARABIC.
        is_unreadable: whether the model cannot read a sign; such signs are cut off at both ends of a sentence.
        as_in_target: changes copied text without words for the target language.
    """
    translated: list[str] = []
    between: list[str] = []
    copied_parts: list[str] = []  # since the last translated sentence; joined at once, as there may be very many
    is_foreign = False
    for sentence in sentences:
        copied_parts.append(" " if LINE_BREAK.search(sentence.before) else sentence.before)
        marks_before, text, marks_after = cut_marks(sentence.text)
        opening_tags, without_tags, closing_tags = cut_tags(text)
        # Addresses and file names have letters too, but no words to translate.
        words = without_copied_parts(without_tags)
        if not has_letters(words):
            copied_parts.append(copied_line(marks_before + as_in_target(text) + marks_after))
        elif not is_mostly_in_script(words, script):
            copied_parts.append(copied_line(sentence.text))
            is_foreign = True
        else:
            before, text, after = cut_edge_signs(without_tags.strip(), is_unreadable)
            between.append("".join([*copied_parts, copied_line(marks_before), opening_tags, copied_line(before)]))
            translated.append(text)
            copied_parts = [copied_line(after), closing_tags, copied_line(marks_after)]
    between.append("".join(copied_parts))
    return PartedText(sentences=translated, between=between, is_foreign=is_foreign)


def has_letters(text: str) -> bool:
    """Return whether `text` has a letter of any script; digits are none."""
    return any(map(str.isalpha, text))


def is_blank(text: str) -> bool:
    """Return whether `text` has only white space, control characters and invisible format characters."""
    return all(character.isspace() or unicodedata.category(character) in ("Cc", "Cf") for character in text)


def cut_marks(text: str) -> tuple[str, str, str]:
    """Return the marks before a sentence, such as those of a list; the sentence; and the emoji and footnotes after it.

    >>> cut_marks("- [x] 1. **The book is old.** [2] 😀")
    ('- [x] 1. **', 'The book is old.', '** [2] 😀')
    >>> cut_marks("J. Smith wrote it :)")
    ('', 'J. Smith wrote it', ' :)')
    """
    before = _MARKS_BEFORE.match(text)
    start = before.end() if before else 0
    after = _ORNAMENTS_AFTER.search(text, start)
    end = after.start() if after else len(text)
    if emphasized := _EMPHASIZED.fullmatch(text, start, end):
        start, end = emphasized.span(2)
    return text[:start], text[start:end], text[end:]


def cut_edge_signs(text: str, is_unreadable: Callable[[str], bool]) -> tuple[str, str, str]:
    """Return the unreadable signs before `text`, a text with letters; `text` without them; and those after it.

    Signs that touch a word stay with it; white space goes with the signs.

    >>> cut_edge_signs("• Open it→. ▪ ▪", lambda character: character in "•▪→")
    ('• ', 'Open it→.', ' ▪ ▪')
    """

    def is_cut_off(character: str) -> bool:
        return character.isspace() or character in _PARTS_OF_EMOJI or is_unreadable(character)

    # 1. Find the first and the last character that are not cut off.
    start = 0
    while is_cut_off(text[start]):
        start += 1
    end = len(text)
    while is_cut_off(text[end - 1]):
        end -= 1

    # 2. Keep the whole words that they belong to.
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[:start], text[start:end], text[end:]


def copied_line(text: str) -> str:
    """Return `text` on one line, without control characters and U+FFFD; a line break of any kind becomes a space."""
    return _CONTROLS.sub("", LINE_BREAK.sub(" ", text))
