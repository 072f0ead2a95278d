"""Whether a test set is English on one side and Persian on the other."""

import logging
import re
from typing import Final

from translator.corpus.filters.arabic import arabic_share
from translator.corpus.normalize import Normalizer
from translator.corpus.test_set import HeldOutSet
from translator.errors import CorpusError

LOGGER = logging.getLogger("translator")

_LOOKED_AT: Final = 2000
"""Sentences by which the languages are told."""
_FEW: Final = 0.1
"""Share of the letters below which a script is not that of the text."""
_MOSTLY: Final = 0.5

_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_ARABIC_SCRIPT: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")


def check_languages(held_out: HeldOutSet, normalizer: Normalizer, *, given: bool) -> None:
    """Refuse a test set whose sides are not of the languages' scripts; warn of references that are Arabic by its words.

    Args:
        held_out: the test set.
        normalizer: for the words of the references.
        given: whether a person has just named the files; what belongs to the run is only warned of.

    Raises:
        CorpusError: the files just named are of other languages.
    """
    sides = [("the English side", held_out.sources, _LATIN, "Latin")]
    for number, texts in enumerate(zip(*held_out.references, strict=True), start=1):
        of_several = f" {number}" if len(held_out.references[0]) > 1 else ""
        sides.append((f"reference{of_several}", texts, _ARABIC_SCRIPT, "Persian"))
    for side, texts, script, letters in sides:
        share = _share("".join(texts[:_LOOKED_AT]), script)
        if share < _FEW:
            message = (
                f"test set `{held_out.name}`: {side} is of another language: {share:.0%} of its letters are {letters}; "
                "a score on it would mean nothing, so check the files (English first, then Persian)"
            )
            if given:
                raise CorpusError(message)
            LOGGER.warning(message)
        elif script is _ARABIC_SCRIPT:
            words = " ".join(map(normalizer.target, texts[:_LOOKED_AT])).split()
            share = arabic_share(words)
            if share > _MOSTLY:
                LOGGER.warning(
                    "test set `%s`: %s looks like Arabic, not Persian (%.0f%% of the words that are clearly one of the "
                    "two); check the file, since a score on it would mean little",
                    held_out.name,
                    side,
                    100 * share,
                )


def _share(text: str, script: re.Pattern[str]) -> float:
    """Return the share of the letters of `text` that are of `script`; 1 if it has none."""
    letters = sum(map(str.isalpha, text))
    return len(script.findall(text)) / letters if letters else 1.0
