"""The output text: what a model has written, as a reader expects it.

The counterpart of `subword/source_text.py`: what the source text went through is undone here, in one place and one
order.
"""

import re
from collections.abc import Sequence
from typing import Final

from translator.config import SearchConfig
from translator.config.corpus_section import PERSIAN
from translator.corpus.normalizer.normalizer import Normalizer
from translator.inference.text.latin_words import with_source_spelling
from translator.inference.text.segments import Segment
from translator.subword import SubwordPair
from translator.subword.placeholders import put_back
from translator.subword.source_text import one_line

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


def without_second_ending(text: str, source: str) -> str:
    """Return a translation without the extra punctuation that a minimum length forced at its end, as in `. ..`.

    If `source` itself ends in several marks, such as `...`, the text stays unchanged.
    """
    if source.rstrip().endswith("…") or _SEVERAL_ENDINGS.search(source):
        return text
    return _SEVERAL_ENDINGS.sub(r"\1", text)
