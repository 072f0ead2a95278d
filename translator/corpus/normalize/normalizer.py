"""The normalizer: one spelling for what is written in several ways, the same in training and at inference."""

import re
from collections.abc import Sequence
from typing import Final

from translator.config import NormalizationConfig
from translator.corpus.normalize.code_page import CharacterTable
from translator.corpus.normalize.mojibake import is_suspect
from translator.corpus.normalize.rules import RULES, Change, Side

NORMALIZER_VERSION: Final[int] = 2
"""Raised whenever a rule changes what it does; a model is used with the normalizer it was trained with.

1: letters, marks, digits, spaces; spaces before punctuation, English contractions.
2: mojibake, quotes, dashes; hamza, zwnj and contractions have keys of their own; teh_marbuta and orthography as
   options; more of what tokenizers take apart is put together; a space after a Persian comma.
"""

_RESTLESS: Final = {"source": re.compile("[«»\"'`&@“”„‟″–‘’‚‛′´‹›]"), "target": re.compile('["&@“”„‟–´‘’‚‛′‹›]')}
"""What a rule may turn into something that an earlier rule would have changed, or may uncover for itself."""
_MOST_PASSES: Final = 10


class Normalizer:
    """The rules that a configuration switches on, for either side; applying them twice changes nothing more.

    >>> Normalizer(NormalizationConfig()).target("كتاب  خوبي است .")
    'کتاب خوبی است.'
    """

    def __init__(self, config: NormalizationConfig) -> None:
        """Choose the rules from the registry."""
        self.source: Change = _chain(config, "source")
        """Normalize an English text."""
        self.target: Change = _chain(config, "target")
        """Normalize a Persian text."""


def _chain(config: NormalizationConfig, side: Side) -> Change:
    """Return the function that applies to `side` what `config` switches on, until nothing changes any more."""
    works = [rule.work(side) for rule in RULES if getattr(config, rule.key) == rule.value]
    single = [work.character for work in works if work.character]
    steps: tuple[Change, ...] = (
        *[work.decoding for work in works if work.decoding],
        *([CharacterTable(each_character(single))] if single else []),
        *[work.text for work in works if work.text],
    )

    restless = _RESTLESS[side].search

    def once(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    def normalize(text: str) -> str:
        normal = once(text)
        # Nearly all lines are done; for a few, what one rule did is work for another.
        if normal == text or not (restless(text) or "--" in text or is_suspect(text)):
            return normal
        for _ in range(_MOST_PASSES):
            before, normal = normal, once(normal)
            if normal == before:
                break
        return normal

    return normalize


def each_character(changes: Sequence[Change]) -> Change:
    """Return the function that gives a character what `changes` make of it, one after another."""

    def image(text: str) -> str:
        for change in changes:
            text = "".join(map(change, text))  # one may have made several characters of one, or none
        return text

    return image
