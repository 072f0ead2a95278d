"""Text to copy instead of translating: text without words or in another script, and what stands beside a sentence."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from translator.inference.text.sentences import (
    AFTER_MARK,
    FACE,
    LINE_BREAK,
    ORNAMENT,
    Sentence,
    split_sentences,
)
from translator.subword.markup import cut_tags, split_at_breaks, unescaped
from translator.subword.placeholders import without_copied_parts
from translator.subword.source_text import SourceReader, is_mostly_in_script, one_line

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
_SPACE: Final = re.compile(r"(\s+)")
_EMPHASIZED: Final = re.compile(r"([*_~]{0,3})([^*_~]+?)([*_~]{0,3})")  # whole, as Markdown marks it


def part_text(text: str, reader: SourceReader, script: str, *, split: bool) -> tuple[list[str], list[str], bool]:
    """Part a text into sentences that a model can translate, and what it has to copy.

    Args:
        text: any text.
        reader: knows the signs that the model cannot read, and how the target language writes numbers.
        script: the script of the source language, as Unicode names it: LATIN or ARABIC.
        split: whether to part sentences; otherwise the whole text is one.

    Returns:
        the sentences to translate;
        what is copied before the first, between two, and after the last: one more than there are sentences;
        whether a sentence is copied because it is in another script.
    """
    # 1. Find the sentences.
    text = text.replace("\ufffd", "")  # a broken character
    if is_blank(text):
        return [], [""], False
    given_text = text
    text = unescaped(text)
    all_sentences = _sentences_between_breaks(text) if split else [Sentence(before="", text=one_line(text).strip())]

    # 2. Copy the sentences that have no letters of the source language, because a model would invent a translation. Of
    # the others, copy the marks, tags and signs that stand before and after the words.
    sentences: list[str] = []
    between: list[str] = []
    # What is copied after the latest of `sentences`; at first, the indentation of the first line that is not blank.
    # A list, joined once: these parts may be very many.
    copied_parts = [LINE_BREAK.split(_indentation(text))[-1]]
    is_foreign = False
    for sentence in all_sentences:
        has_line_break = LINE_BREAK.search(sentence.before) is not None
        copied_parts.append(" " if has_line_break else sentence.before)
        marks_before, unmarked, marks_after = cut_marks(sentence.text)
        opening_tags, without_tags, closing_tags = cut_tags(unmarked)
        # Addresses and file names have letters too, but no words to translate.
        letters = without_copied_parts(without_tags)
        if not any(map(str.isalpha, letters)):
            copied_parts.append(copied_line(marks_before + reader.with_target_numbers(unmarked) + marks_after))
        elif not is_mostly_in_script(letters, script):
            copied_parts.append(copied_line(sentence.text))
            is_foreign = True
        else:
            signs_before, words, signs_after = cut_edge_signs(without_tags.strip(), reader.is_unreadable_sign)
            before = [*copied_parts, copied_line(marks_before), opening_tags, copied_line(signs_before)]
            between.append("".join(before))
            sentences.append(words)
            copied_parts = [copied_line(signs_after), closing_tags, copied_line(marks_after)]
    between.append("".join(copied_parts))

    # 3. A text without any sentence to translate is copied as a whole, with its white space.
    if not sentences:
        parts = split_at_breaks(given_text)  # text at even places, tags that break a line between
        if not is_foreign:
            parts[::2] = map(reader.with_target_numbers, parts[::2])  # numbers in tags stay
        between = [copied_line("".join(parts))]
    return sentences, between, is_foreign


def _sentences_between_breaks(text: str) -> list[Sentence]:
    """Return the sentences of `text`; a tag that parts two, such as `<br/>`, is in the text before the second."""
    sentences: list[Sentence] = []
    tags = ""
    for number, part in enumerate(split_at_breaks(text)):
        if number % 2 == 1:
            tags += part
            continue
        for sentence in split_sentences(part):
            sentences.append(Sentence(before=tags + sentence.before, text=sentence.text))
            tags = ""
    if tags:
        sentences.append(Sentence(before=tags, text=""))
    return sentences


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


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
    # Marks of emphasis around the whole sentence stand beside it.
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

    words = _SPACE.split(text)  # with the white space between
    readable = [number for number, word in enumerate(words) if not all(map(is_cut_off, word))]
    first, last = readable[0], readable[-1]
    return "".join(words[:first]), "".join(words[first : last + 1]), "".join(words[last + 1 :])


def copied_line(text: str) -> str:
    """Return `text` on one line, without control characters and U+FFFD; a line break of any kind becomes a space."""
    return _CONTROLS.sub("", LINE_BREAK.sub(" ", text))
