"""Whether the two sides of a corpus are what they should be: there, not blank, and English before Persian."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from translator.corpus.sources.pairs import Pair
from translator.errors import CorpusError

_LOOKED_AT: Final = 1000
"""Good pairs by which the languages are told."""
_KEPT_BACK: Final = 4 << 20
"""Characters, and a hundred for each pair, that are held in memory while waiting for so many."""
_BEGINNING: Final = 200
"""Characters of a text that are looked at."""
_CLEAR: Final = 0.9

_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_ARABIC: Final = re.compile("[\u0620-\u065f\u066e-\u06d3\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]")


@dataclass(frozen=True)
class SideNames:
    """How messages name a corpus and its sides, and how a person can swap them."""

    whole: str
    english: str
    persian: str
    how_to_swap: str


def check_sides(blocks: Iterator[list[Pair]], names: SideNames) -> Iterator[list[Pair]]:
    """Yield `blocks` as they are; the first ones after the languages of their pairs have been looked at.

    Raises:
        CorpusError: the sides are clearly swapped, or at the end: there was no pair, or one side was always blank.
    """
    waiting: list[list[Pair]] | None = []
    beginning: list[Pair] = []
    held = 0
    some_pair = some_source = some_target = False
    for block in blocks:
        if not (some_source and some_target):
            good = [pair for pair in block if pair.defect is None]
            some_pair = some_pair or bool(good)
            some_source = some_source or any(pair.source and not pair.source.isspace() for pair in good)
            some_target = some_target or any(pair.target and not pair.target.isspace() for pair in good)
        if waiting is None:
            yield block
            continue
        waiting.append(block)
        beginning += [pair for pair in block if pair.defect is None][: _LOOKED_AT - len(beginning)]
        held += sum(100 + len(pair.source) + len(pair.target) for pair in block)
        if len(beginning) >= _LOOKED_AT or held > _KEPT_BACK:
            _refuse_swapped(beginning, names)
            yield from waiting
            waiting = None
            beginning = []
    if waiting is not None:
        if not any(waiting):
            raise CorpusError(f"{names.whole}: there is no line in it; check that it is the right file")
        _refuse_swapped(beginning, names)
    if some_pair and not (some_source and some_target):
        side = names.english if some_target else names.persian if some_source else "both sides"
        verb = "is" if some_target or some_source else "are"
        raise CorpusError(f"{names.whole}: {side} {verb} blank on every line; get the corpus again")
    yield from waiting or ()


def _refuse_swapped(pairs: list[Pair], names: SideNames) -> None:
    """Raise if the pairs with letters on both sides are Persian and English instead of English and Persian."""
    with_letters = swapped = 0
    for pair in pairs:
        source, target = pair.source[:_BEGINNING], pair.target[:_BEGINNING]
        source_latin, source_arabic = len(_LATIN.findall(source)), len(_ARABIC.findall(source))
        target_latin, target_arabic = len(_LATIN.findall(target)), len(_ARABIC.findall(target))
        if source_latin + source_arabic and target_latin + target_arabic:
            with_letters += 1
            swapped += source_arabic > source_latin and target_latin > target_arabic
    if swapped and swapped >= _CLEAR * with_letters:
        raise CorpusError(
            f"{names.whole}: the two sides are swapped: {swapped:,} of the first {with_letters:,} pairs with letters "
            f"are Persian in {names.english} and English in {names.persian}; {names.how_to_swap}"
        )
