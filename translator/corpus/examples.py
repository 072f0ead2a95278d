"""Examples of what a rule drops: a few from all over the corpus, the same whatever the chunks and the workers."""

import bisect
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.duplicates import mix

EXAMPLES: Final = 3
"""Of each rule and source."""
SHOWN_CHARACTERS: Final = 300


@dataclass(frozen=True, order=True)
class Example:
    """A pair as it was read; a side of more than 300 characters is cut to 300, the last of them an ellipsis."""

    line: int
    """In the source, from 1."""
    source: str
    target: str

    @classmethod
    def of(cls, line: int, source: str, target: str) -> "Example":
        """Return the example of a pair, its sides cut where they are too long."""
        return cls(line, _cut(source), _cut(target))


def ranks(name: str, lines: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the rank of each line of the source `name`, a hash: of two lines, that of the smaller rank is shown."""
    return mix(lines.astype(np.uint64), _seed(name))


def rank(name: str, line: int) -> int:
    """Return what `ranks` returns for one line."""
    return int(ranks(name, np.array([line]))[0])


def places_to_show(name: str, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places in `lines` of those that an `ExampleCollector` would choose, given all of them."""
    return np.argsort(ranks(name, lines), kind="stable")[:EXAMPLES]


class ExampleCollector:
    """Gathers, for each rule, the pairs of one source with the smallest ranks; small enough to be sent around."""

    def __init__(self, name: str) -> None:
        """Begin without examples of the source `name`."""
        self.name = name
        self._seed = _seed(name)
        self._best: dict[str, list[tuple[int, Example]]] = {}

    def add(self, rule: str, line: int, source: str, target: str) -> None:
        """Take note of a pair that `rule` drops; quick where the pair is not chosen."""
        own_rank = _scrambled(line, self._seed)
        best = self._best.setdefault(rule, [])
        if len(best) == EXAMPLES and own_rank > best[-1][0]:
            return
        bisect.insort(best, (own_rank, Example.of(line, source, target)))
        del best[EXAMPLES:]

    def merge(self, other: "ExampleCollector") -> None:
        """Take over what `other` has gathered of the same source."""
        assert self.name == other.name
        for rule, examples in other._best.items():
            self._best[rule] = sorted([*self._best.get(rule, ()), *examples])[:EXAMPLES]

    def chosen(self) -> Mapping[str, tuple[Example, ...]]:
        """Return the examples of each rule that dropped something, in the order of their lines; the rules by name."""
        return {
            rule: tuple(sorted(example for _, example in examples)) for rule, examples in sorted(self._best.items())
        }


def _seed(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little")


def _scrambled(line: int, seed: int) -> int:
    """Do what `mix` does to one number: an array for every dropped pair would take several times as long."""
    scrambled = (line + (seed + 1) * 0x9E3779B97F4A7C15) & 0xFFFF_FFFF_FFFF_FFFF
    scrambled = ((scrambled ^ (scrambled >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFF_FFFF_FFFF_FFFF
    scrambled = ((scrambled ^ (scrambled >> 27)) * 0x94D049BB133111EB) & 0xFFFF_FFFF_FFFF_FFFF
    return scrambled ^ (scrambled >> 31)


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
