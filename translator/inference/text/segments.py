"""Texts read into segments, each short enough for the model, and what is copied around them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from translator.config import SearchConfig
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.tags import tag_of, with_tag
from translator.inference.text.checks import listed_lines
from translator.inference.text.long_sentences import split_text
from translator.inference.text.untranslated import copied_line, part_text
from translator.run.logging import LOGGER
from translator.subword import SubwordPair
from translator.subword.glossary import Glossary
from translator.subword.source_text import SourceReader, SourceText


class Segment(NamedTuple):
    """A sentence of a text, or a part of a sentence that is too long for the model."""

    line: int  # index of its text, from 0
    source: str  # the sentence that it belongs to, as given
    ids: list[int]
    is_first: bool  # whether it is the first segment of its text
    copied: Mapping[str, str]  # placeholder to copied text


class SegmentReader:
    """Reads texts into segments."""

    def __init__(self, subword: SubwordPair, normalizer: Normalizer, max_length: int, search: SearchConfig) -> None:
        """Take the models and rules of a run.

        Args:
            subword: both subword models.
            normalizer: the rules that were applied to the training text.
            max_length: maximum length of a segment in tokens, EOS included.
            search: settings that say whether each sentence is a segment (otherwise a whole text is one, if it fits),
                whether typing errors are corrected, and which tag a source gets.
        """
        self._model = subword.source
        self._language = normalizer.languages[0]
        self._reader = SourceReader(subword, normalizer)
        self._room = max_length - 1  # for tokens beside EOS
        self._search = search

    def whole(self, texts: Sequence[str], glossary: Glossary) -> list[Segment]:
        """Return each text as one segment, whatever its length and its sentences."""
        source_texts = [self._source_text(text, glossary) for text in texts]
        all_ids = self._model.encode([source_text.text for source_text in source_texts])
        segments = []
        for line, (text, source_text, ids) in enumerate(zip(texts, source_texts, all_ids, strict=True)):
            segments.append(Segment(line, text, ids, is_first=True, copied=source_text.copied))
        return segments

    def _source_text(self, sentence: str, glossary: Glossary, origin: str = "") -> SourceText:
        """Return a sentence as the model sees it, with its tag; `origin` is the corpus that it is from."""
        source_text = self._reader.read(sentence, correct_spelling=self._search.correct_spelling, glossary=glossary)
        name = origin if self._search.tag == "auto" else self._search.tag
        if name and source_text.text and self._model.has_pieces(tag_of(name)):
            source_text = source_text._replace(text=with_tag(source_text.text, tag_of(name)))
        return source_text

    def read(
        self, texts: Sequence[str], glossary: Glossary, first_line: int = 1, origins: Sequence[str] | None = None
    ) -> tuple[list[Segment], list[list[str]]]:
        """Return the segments of all texts, in order; and for each text what is copied before, between and after them.

        Args:
            texts: as given.
            glossary: terms with the translations that they must have.
            first_line: number of the first text, for warnings.
            origins: for each text, the source of the corpus that it is from.
        """
        # 1. Part each text into sentences to translate and text to copy. Read the sentences.
        sentences: list[tuple[int, str, str]] = []  # (index of the text, sentence, what is copied after the sentence)
        source_texts: list[SourceText] = []  # of the sentences
        between: list[list[str]] = []  # of each text; so far, what is copied before its first sentence
        foreign_lines: list[int] = []
        for line, text in enumerate(texts):
            text_sentences, (before, *after), is_foreign = part_text(
                text, self._reader, self._language.script, split=self._search.split_sentences
            )
            between.append([before])
            for sentence, following in zip(text_sentences, after, strict=True):
                sentences.append((line, sentence, following))
                source_texts.append(self._source_text(sentence, glossary, origins[line] if origins else ""))
            if is_foreign:
                foreign_lines.append(first_line + line)
        if foreign_lines:
            LOGGER.warning(
                f"{listed_lines(foreign_lines)}: text that is not in {self._language.script.capitalize()} letters, "
                f"which the {self._language.name} side of this model does not know, is copied as it is"
            )

        # 2. Encode all sentences together, which is faster than one by one.
        all_ids = self._model.encode([source_text.text for source_text in source_texts])

        # 3. Split the sentences that are too long. In `between`, a space follows each segment. What is copied after a
        # sentence then replaces the space after its last segment.
        segments: list[Segment] = []
        for (line, sentence, following), source_text, ids in zip(sentences, source_texts, all_ids, strict=True):
            text_between = between[line]
            for row in self._rows(source_text.text, ids, first_line + line):
                copied = self._copied_in(row, source_text.copied)
                is_first = len(text_between) == 1  # so far, only what is copied before the first segment
                segments.append(Segment(line, sentence, row, is_first, copied))
                text_between.append(" ")
            if ids:
                text_between[-1] = following
            else:  # the sentence has no tokens, so no segments: it is copied, too
                text_between[-1] += copied_line(sentence) + following
        return segments, between

    def _rows(self, text: str, ids: list[int], line: int) -> list[list[int]]:
        """Return the `ids` of a sentence in rows that fit into the model, with a warning if they are several."""
        if len(ids) <= self._room:
            return [ids] if ids else []
        encode = self._model.encode
        # Cut the text, not the ids, so that words stay whole.
        parts = split_text(text, lambda texts: [len(row) for row in encode(texts)], self._room)
        rows: list[list[int]] = []
        for part_ids in encode(parts):
            # A single word that does not fit is split between tokens.
            for start in range(0, len(part_ids), self._room):
                rows.append(part_ids[start : start + self._room])
        size = f"a sentence of {len(ids)} tokens" if self._search.split_sentences else f"{len(ids)} tokens"
        LOGGER.warning(
            f"line {line} has {size}, more than the {self._room} that the model takes at once: translated in "
            f"{len(rows)} segments"
        )
        return rows

    def _copied_in(self, row: Sequence[int], copied: Mapping[str, str]) -> dict[str, str]:
        """Return the entries of `copied` whose placeholders are in `row`."""
        copied_in_row = {}
        for placeholder, part in copied.items():
            if self._model.placeholders[placeholder] in row:
                copied_in_row[placeholder] = part
        return copied_in_row
