"""The output text: what a model has written, as a reader expects it.

The counterpart of `subword/source_text.py`: what the source text went through is undone here, in one place and one
order.
"""

import difflib
import re
from collections.abc import Sequence
from typing import Final

from translator.config import SearchConfig
from translator.config.corpus_section import PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.text.segments import Segment
from translator.subword import SubwordPair
from translator.subword.placeholders import put_back
from translator.subword.source_text import one_line

LIKENESS: Final = 0.6  # minimum similarity, 0 to 1, of a misspelt copy to its source word
_PERSIAN_LETTER: Final = re.compile("[ء-ی]")
_LATIN_WORD: Final = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]{2,}")
_ENDINGS: Final = ".!?:;؟،؛"
# A match begins where a run of marks and spaces does, so that the search takes linear time.
_SEVERAL_ENDINGS: Final = re.compile(rf"(?<![\s{_ENDINGS}…])([\s…]*+[{_ENDINGS}])[\s{_ENDINGS}…]*[{_ENDINGS}…]\s*$")


class OutputWriter:
    """Turns the target ids of a search into text."""

    def __init__(self, subword: SubwordPair, normalizer: Normalizer, search: SearchConfig) -> None:
        """Take the models and the rules of a run, and the search settings, which turn some of the steps off."""
        self._model = subword.target
        self._into_persian = normalizer.languages[1] == PERSIAN
        self._unify_orthography = normalizer.unify_orthography
        self._unifies_orthography = self._into_persian and search.orthography
        self._has_minimum_length = search.min_length_ratio > 0

    def texts(self, rows: Sequence[Sequence[int]], segment: Segment, prefix: str) -> list[str]:
        """Return the text of each row of target ids, on one line.

        Args:
            rows: translations of the segment, without EOS.
            segment: its sentence gives the spelling of Latin words; its copied parts replace their placeholders.
            prefix: the forced beginning of the translation, which may have Latin words, too.
        """
        source = f"{segment.source} {prefix}"
        return [self._text(decoded, segment, source) for decoded in self._model.decode_ids(rows)]

    def _text(self, text: str, segment: Segment, source: str) -> str:
        """Return the decoded `text` of a segment as a reader expects it."""
        # 1. The spelling of Latin words, and of Persian ones with their half-spaces.
        if self._into_persian:
            text = with_source_spelling(text, source)
        if self._unifies_orthography:
            text = self._unify_orthography(text)

        # 2. The doubled ending of a translation that a minimum length made longer.
        if self._has_minimum_length:
            text = without_second_ending(text, source)

        # 3. The copied parts.
        return one_line(put_back(text, segment.copied, segment.source))


def with_source_spelling(text: str, source: str) -> str:
    """Return `text`, a translation of `source`; a Latin word that `source` lacks becomes the most similar source word.

    A word that resembles no word of the source stays. A text without a Persian letter stays unchanged.

    >>> with_source_spelling("آقای Smth درBerln است", "Mr Smith is in Berlin")
    'آقای Smith در Berlin است'
    """
    if _LATIN_WORD.search(text) is None or _PERSIAN_LETTER.search(text) is None:
        return text
    spellings = {word.lower(): word for word in _LATIN_WORD.findall(source)}

    def spelt(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in spellings:
            return match[0]
        similar_words = difflib.get_close_matches(word, spellings, n=1, cutoff=LIKENESS)
        if not similar_words:
            return match[0]
        # A word that touches a Persian one gets the space that it lacks.
        touches_word = text[match.start() - 1 : match.start()].isalpha()
        space = " " if touches_word else ""
        return f"{space}{spellings[similar_words[0]]}"

    return _LATIN_WORD.sub(spelt, text)


def without_second_ending(text: str, source: str) -> str:
    """Return a translation without the extra punctuation that a minimum length forced at its end, as in `. ..`.

    If `source` itself ends in several marks, such as `...`, the text stays unchanged.
    """
    if source.rstrip().endswith("…") or _SEVERAL_ENDINGS.search(source):
        return text
    return _SEVERAL_ENDINGS.sub(r"\1", text)
