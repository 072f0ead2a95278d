"""What a check is given: the two texts of a pair, taken apart into words once for all checks."""

from collections.abc import Callable
from typing import NamedTuple


class Sides(NamedTuple):
    """A pair of normalized texts and their words, which white space separates."""

    source: str
    target: str
    source_words: list[str]
    target_words: list[str]
    source_vocabulary: set[str]
    """The different words of the English side."""
    target_vocabulary: set[str]

    @classmethod
    def of(cls, source: str, target: str) -> "Sides":
        """Return a pair with its words."""
        source_words, target_words = source.split(), target.split()
        return cls(source, target, source_words, target_words, set(source_words), set(target_words))


Check = Callable[[Sides], bool]
"""Says whether a pair must go."""
