"""From a text to rows of ids that a model can take."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from translator.corpus.normalize import Normalizer
from translator.segment import split_text
from translator.subword import SubwordModel

LOGGER = logging.getLogger("translator")


class Piece(NamedTuple):
    """A text, or a part of one that is too long."""

    line: int
    """Number of its text, from 0."""
    ids: list[int]
    is_first: bool
    """Whether it is the beginning of its text."""


class SourceCutter:
    """Turns English texts into ids, those that are too long in several pieces.

    Args:
        subword: model of the source language.
        normalizer: rules that the training text went through.
        room: ids of a piece at most, EOS left out.
    """

    def __init__(self, subword: SubwordModel, normalizer: Normalizer, room: int) -> None:
        self._subword = subword
        self._normalizer = normalizer
        self._room = room

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, whole, however long."""
        return self._subword.encode([self._clean(text) for text in texts])

    def cut(self, texts: Sequence[str], first_line: int) -> list[Piece]:
        """Return the pieces of all texts in order; an empty text has none.

        Args:
            texts: English texts.
            first_line: number of the first text, for warnings.
        """
        clean = [self._clean(text) for text in texts]
        pieces = []
        for line, ids in enumerate(self._subword.encode(clean)):
            if len(ids) <= self._room:
                parts = [ids] if ids else []
            else:
                parts = self._cut_long(clean[line])
                LOGGER.warning(
                    "line %d has %d tokens, more than the %d that the model can take at once: translated in %d pieces",
                    first_line + line,
                    len(ids),
                    self._room,
                    len(parts),
                )
            pieces += [Piece(line, part, number == 0) for number, part in enumerate(parts)]
        return pieces

    def _clean(self, text: str) -> str:
        # Line breaks come last: some are part of what the normalizer repairs, and training text has gone this way.
        return one_line(self._normalizer.source(encodable(text)))

    def _cut_long(self, text: str) -> list[list[int]]:
        """Return the ids of `text` in pieces that the model can take; a single word is cut between tokens."""
        texts = split_text(text, lambda parts: [len(ids) for ids in self._subword.encode(parts)], self._room)
        return [
            ids[start : start + self._room]
            for ids in self._subword.encode(texts)
            for start in range(0, len(ids), self._room)
        ]


def one_line(text: str) -> str:
    """Return `text` with a space for each kind of line break."""
    return " ".join(text.splitlines())


def encodable(text: str) -> str:
    """Return `text` with a mark for what is no character (lone surrogates)."""
    return text.encode("utf-8", "replace").decode("utf-8")
