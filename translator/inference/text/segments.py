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
from translator.subword.glossary import NO_GLOSSARY, Glossary
from translator.subword.source_text import SourceReader, SourceText


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


class SegmentReader:
    """Reads texts into segments."""

    def __init__(
        self,
        subword: SubwordPair,
        normalizer: Normalizer,
        max_length: int,
        search: SearchConfig,
        glossary: Glossary = NO_GLOSSARY,
    ) -> None:
        """Take the models and rules of a run.

        Args:
            subword: both subword models.
            normalizer: the rules that were applied to the training text.
            max_length: maximum length of a segment in tokens, EOS included.
            search: whether each sentence is a segment (otherwise a whole text is one, if it fits), and whether typing
                errors are corrected.
            glossary: terms with the translations that they must have.
        """
        self._model = subword.source
        self._language = normalizer.languages[0]
        self._reader = SourceReader(subword, normalizer)
        self._room = max_length - 1  # for tokens beside EOS
        self._search = search
        self._glossary = glossary

    def whole(self, texts: Sequence[str]) -> list[Segment]:
        """Return each text as one segment, whatever its length and its sentences."""
        segments = []
        source_texts = [self._source_text(text, self._glossary) for text in texts]
        all_ids = self._model.encode([source_text.text for source_text in source_texts])
        for line, text in enumerate(texts):
            copied = source_texts[line].copied
            segment = Segment(line=line, source=text, ids=all_ids[line], is_first=True, copied=copied)
            segments.append(segment)
        return segments

    def _source_text(self, sentence: str, glossary: Glossary, origin: str = "") -> SourceText:
        """Return a sentence as the model sees it, with its tag; `origin` is the corpus that it is from."""
        source_text = self._reader.read(sentence, correct_spelling=self._search.correct_spelling, glossary=glossary)
        name = origin if self._search.tag == "auto" else self._search.tag
        if name and source_text.text and self._model.has_pieces(tag_of(name)):
            source_text = source_text._replace(text=with_tag(source_text.text, tag_of(name)))
        return source_text

    def read(
        self,
        texts: Sequence[str],
        first_line: int,
        glossary: Glossary | None = None,
        origins: Sequence[str] | None = None,
    ) -> SegmentedTexts:
        """Return all texts in segments; the first segment of a sentence has its tag.

        Args:
            texts: as given.
            first_line: number of the first text, for warnings.
            glossary: terms with the translations that they must have, in place of those of the reader.
            origins: for each text, the source of the corpus that it is from.
        """
        # 1. Part each text into sentences to translate and text to copy. Read the sentences.
        sentences: list[tuple[int, str]] = []  # of all texts, each with the index of its text
        source_texts: list[SourceText] = []  # of the sentences
        copied: list[list[str]] = []  # of each text: before, between and after its sentences
        foreign_lines: list[int] = []
        terms = self._glossary if glossary is None else glossary
        for line, text in enumerate(texts):
            text_sentences, text_copied, is_foreign = part_text(
                text, self._reader, self._language.script, split=self._search.split_sentences
            )
            for sentence in text_sentences:
                sentences.append((line, sentence))
                source_texts.append(self._source_text(sentence, terms, origins[line] if origins else ""))
            copied.append(text_copied)
            if is_foreign:
                foreign_lines.append(first_line + line)
        if foreign_lines:
            LOGGER.warning(
                f"{listed_lines(foreign_lines)}: text that is not in {self._language.script.capitalize()} letters, "
                f"which the {self._language.name} side of this model does not know, is copied as it is"
            )

        # 2. Encode all sentences together, which is faster than one by one.
        all_ids = self._model.encode([source_text.text for source_text in source_texts])

        # 3. Split the sentences that are too long.
        segments: list[Segment] = []
        between = [text_copied[:1] for text_copied in copied]
        following = [iter(text_copied[1:]) for text_copied in copied]
        for (line, sentence), source_text, ids in zip(sentences, source_texts, all_ids, strict=True):
            rows = self._rows(source_text.text, ids, first_line + line)
            if not rows:  # nothing but copied text is left
                between[line][-1] += copied_line(sentence)
            for number, row in enumerate(rows):
                segment = Segment(
                    line=line,
                    source=sentence,
                    ids=row,
                    is_first=len(between[line]) == 1,
                    copied=self._copied_in(row, source_text.copied),
                )
                segments.append(segment)
                is_last_row = number == len(rows) - 1
                between[line].append("" if is_last_row else " ")
            between[line][-1] += next(following[line])
        return SegmentedTexts(segments=segments, between=between)

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
