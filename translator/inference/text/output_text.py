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


def output_texts(
    rows: Sequence[Sequence[int]],
    segment: Segment,
    prefix: str,
    subword: SubwordPair,
    normalizer: Normalizer,
    search: SearchConfig,
) -> list[str]:
    """Return the text of each row of target ids, on one line, as a reader expects it.

    Args:
        rows: translations of the segment, without EOS.
        segment: its sentence gives the spelling of Latin words; its copied parts replace their placeholders.
        prefix: the forced beginning of the translation, which may have Latin words, too.
        subword: decodes the rows.
        normalizer: the rules of the run.
        search: settings that turn some of the steps off.
    """
    into_persian = normalizer.languages[1] == PERSIAN
    texts = []
    for text in subword.target.decode_ids(rows):
        # 1. Correct the spelling of Latin words, and of Persian ones with their half-spaces.
        if into_persian:
            text = with_source_spelling(text, f"{segment.source} {prefix}")
            if search.orthography:
                text = normalizer.unify_orthography(text)

        # 2. Remove the doubled ending of a translation that a minimum length made longer.
        if search.min_length_ratio > 0:
            text = without_second_ending(text, segment.source, prefix)

        # 3. Put the copied parts in place.
        texts.append(one_line(put_back(text, segment.copied, segment.source)))
    return texts


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
        touches_word = text[match.start() - 1 : match.start()].isalpha()  # the slice is empty at the start of the text
        space = " " if touches_word else ""
        return f"{space}{spellings[similar_words[0]]}"

    return _LATIN_WORD.sub(spelt, text)


def without_second_ending(text: str, *originals: str) -> str:
    """Return a translation without the extra punctuation that a minimum length forced at its end, as in `. ..`.

    If one of the `originals`, such as the source, itself ends in several marks, such as `...`, the text
    stays unchanged.
    """
    for original in originals:
        if original.rstrip().endswith("…") or _SEVERAL_ENDINGS.search(original):
            return text
    return _SEVERAL_ENDINGS.sub(r"\1", text)
