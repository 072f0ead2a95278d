"""Values of a table that hold texts and scores, and the pairs that they make."""

import math
import re
from typing import Any, Final

from translator.config import SourceConfig
from translator.corpus.reading.lines import BAD_ROW, LONGEST_LINE, LOW_SCORE, Pair, Unreadable

_UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")  # lone surrogates are no characters
_LINE_END: Final = re.compile(r"[\r\n]+")


def text_in(value: Any) -> str | None:
    """Return the text of a value on one line, of a list the first text; None if it has none."""
    # ParsiNLU has lists of references.
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str) or _UNUSABLE.search(value):
        return None
    return on_one_line(value.lstrip("\ufeff"))


def on_one_line(text: str) -> str:
    """Return `text` with a space for each of its line ends."""
    return _LINE_END.sub(" ", text)


def score_in(value: Any) -> float | None:
    """Return the score that a number or a text gives; None if it is no number."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(score) else score


def pair_of_texts(line: int, english: str, persian: str, score: Any, source: SourceConfig) -> Pair:
    """Return a pair; one with too long a text, or whose score is too low or no number, has a defect.

    Args:
        line: line number in the file, from 1.
        score: the pair's value in the column of `min_score`, if `source` sets it.
    """
    if max(len(english), len(persian)) > LONGEST_LINE // 4:  # a character has at most four bytes
        longest = max(len(english.encode()), len(persian.encode()))
        if longest > LONGEST_LINE:
            return Pair(line, "", "", str(Unreadable.LINE_TOO_LONG))
    if source.min_score is None:
        return Pair(line, english, persian)
    number = score_in(score)
    if number is None:
        return Pair(line, english, "", BAD_ROW)
    if number < source.min_score.at_least:
        return Pair(line, english, "", LOW_SCORE)
    return Pair(line, english, persian)
