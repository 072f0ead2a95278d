"""Texts read into segments, each short enough for the model, and what is copied around them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.files.line_warnings import listed_lines
from translator.inference.text.long_sentences import split_text
from translator.inference.text.sentences import LINE_BREAK, Sentence, split_sentences
from translator.inference.text.untranslated import PartedText, copied_line, is_blank, part_text
from translator.run.logging import LOGGER
from translator.subword import SubwordPair
from translator.subword.markup import split_at_breaks, unescaped
from translator.subword.source_text import SourceReader, SourceText, one_line


class Segment(NamedTuple):
    """A sentence of a text, or a part of a sentence that is too long for the model."""

    line: int  # index of its text, from 0
    source: str  # the sentence that it belongs to, as given
    ids: list[int]
    is_first: bool  # whether it is the first segment of its text
    copied: Mapping[str, str]  # placeholder to copied text


class SegmentedTexts(NamedTuple):
    """Several texts in segments."""

    segments: list[Segment]  # of all texts, in order
    between: list[list[str]]  # for each text, what is copied before, between and after its segments


class _ReadSentence(NamedTuple):
    """A sentence, and what the model sees of it."""

    source: str  # as given
    text: SourceText
    ids: list[int]


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


class SegmentReader:
    """Reads texts into segments."""

    def __init__(
        self,
        subword: SubwordPair,
        normalizer: Normalizer,
        max_length: int,
        *,
        split_sentences: bool,
        correct_spelling: bool,
    ) -> None:
        """Take the models and rules of a run.

        Args:
            subword: both subword models.
            normalizer: the rules that were applied to the training text.
            max_length: maximum length of a segment in tokens, EOS included.
            split_sentences: whether each sentence is a segment; otherwise a whole text is one, if it fits.
            correct_spelling: whether to correct typing errors.
        """
        self._source_model = subword.source
        self._language = normalizer.languages[0]
        self._reader = SourceReader(subword, normalizer)
        self._room = max_length - 1  # for tokens beside EOS
        self._split_sentences = split_sentences
        self._correct_spelling = correct_spelling

    def source_texts(self, texts: Sequence[str]) -> list[SourceText]:
        """Return sentences as the model sees them."""
        return [self._reader.read(text, correct_spelling=self._correct_spelling) for text in texts]

    def read(self, texts: Sequence[str], first_line: int) -> SegmentedTexts:
        """Return all texts in segments; `first_line` is the number of the first text, for warnings."""
        # 1. Part each text into sentences to translate and text to copy.
        parted_texts = [self._part(text) for text in texts]
        foreign_lines = [line for line, parted in enumerate(parted_texts, first_line) if parted.is_foreign]
        if foreign_lines:
            self._warn_of_foreign_text(foreign_lines)

        # 2. Encode all sentences together, which is faster than one by one.
        sentences: list[str] = []
        for parted in parted_texts:
            sentences += parted.sentences
        source_texts = self.source_texts(sentences)
        all_ids = self._source_model.encode([source_text.text for source_text in source_texts])
        read_sentences = map(_ReadSentence, sentences, source_texts, all_ids)

        # 3. Split the sentences that are too long.
        segments: list[Segment] = []
        between: list[list[str]] = []
        for line, parted in enumerate(parted_texts):
            between_segments = [parted.between[0]]
            for following in parted.between[1:]:
                sentence = next(read_sentences)
                rows = self._rows(sentence, first_line + line)
                if not rows:  # nothing but copied text is left
                    between_segments[-1] += copied_line(sentence.source)
                for number, row in enumerate(rows):
                    segment = Segment(
                        line=line,
                        source=sentence.source,
                        ids=row,
                        is_first=len(between_segments) == 1,
                        copied=self._copied_in(row, sentence.text.copied),
                    )
                    segments.append(segment)
                    is_last_row = number == len(rows) - 1
                    between_segments.append("" if is_last_row else " ")
                between_segments[-1] += following
            between.append(between_segments)
        return SegmentedTexts(segments=segments, between=between)

    def _part(self, text: str) -> PartedText:
        """Return a text, split into sentences or as one line, and what to copy around them."""
        text = text.replace("\ufffd", "")  # a broken character
        if is_blank(text):
            return PartedText(sentences=[], between=[""], is_foreign=False)
        given_text = text
        text = unescaped(text)
        if self._split_sentences:
            sentences = _sentences_between_breaks(text)
        else:
            sentences = [Sentence(before="", text=one_line(text).strip())]
        # What has no letters of the source language is copied, because a model would invent a translation for it.
        parted = part_text(
            sentences, self._language.script, self._reader.unreadable.is_sign, self._reader.with_target_numbers
        )
        if parted.sentences:
            indentation = text[: len(text) - len(text.lstrip())]
            of_its_line = LINE_BREAK.split(indentation)[-1]
            between = [of_its_line + parted.between[0], *parted.between[1:]]
            return replace(parted, between=between)
        # Text without any sentence is copied as a whole, with its white space.
        if parted.is_foreign:
            return replace(parted, between=[copied_line(given_text)])
        parts = split_at_breaks(given_text)
        parts[::2] = map(self._reader.with_target_numbers, parts[::2])  # not those of tags
        return replace(parted, between=[copied_line("".join(parts))])

    def _warn_of_foreign_text(self, lines: Sequence[int]) -> None:
        """Warn that sentences of `lines`, given by number, are copied."""
        LOGGER.warning(
            f"{listed_lines(lines)}: text that is not in "
            f"{self._language.script.capitalize()} letters, which the {self._language.name} side of this model does "
            "not know, is copied as it is"
        )

    def _rows(self, sentence: _ReadSentence, line: int) -> list[list[int]]:
        """Return the ids of a sentence in rows that fit into the model, with a warning if they are several."""
        if len(sentence.ids) <= self._room:
            return [sentence.ids] if sentence.ids else []
        encode = self._source_model.encode
        # Cut the text, not the ids, so that words stay whole.
        parts = split_text(sentence.text.text, lambda texts: [len(row) for row in encode(texts)], self._room)
        rows: list[list[int]] = []
        for part_ids in encode(parts):
            # A single word that does not fit is split between tokens.
            for start in range(0, len(part_ids), self._room):
                rows.append(part_ids[start : start + self._room])
        token_count = len(sentence.ids)
        size = f"a sentence of {token_count} tokens" if self._split_sentences else f"{token_count} tokens"
        LOGGER.warning(
            f"line {line} has {size}, more than the {self._room} that the model takes at once: translated in "
            f"{len(rows)} segments"
        )
        return rows

    def _copied_in(self, row: Sequence[int], copied: Mapping[str, str]) -> dict[str, str]:
        """Return the entries of `copied` whose placeholders are in `row`."""
        copied_in_row = {}
        for placeholder, part in copied.items():
            if self._source_model.placeholders[placeholder] in row:
                copied_in_row[placeholder] = part
        return copied_in_row
