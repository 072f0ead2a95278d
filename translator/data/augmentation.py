"""Augmentation: random changes of training pairs in each epoch, for robustness to text as people type it.

The changes of a pair are a pure function of run seed, epoch and pair, so that a resumed run sees the same text.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

from translator.config.sections import AugmentationConfig

SHARE_OF_TYPOS: Final = 0.2  # in a text that gets typos, the share of its longer words that are mistyped
_LONGER_WORD: Final = re.compile("[A-Za-z]{4,}")
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE: Final = {
    key: "".join(row[max(0, place - 1) : place] + row[place + 1 : place + 2])
    for row in _KEYS
    for place, key in enumerate(row)
}
"""The left and right neighbours of each key."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_END: Final = re.compile(r"\s*[.!?…؟۔]+(?=[\"'»”)\]]*$)")
_NUMBER: Final = re.compile(r"(?<![\w:/.,٫٬-])[0-9۰-۹]+(?![\w:/-]|[.,٫٬][0-9۰-۹])")  # not 22nd, 10:30 or 3.5
_TO_ASCII: Final = str.maketrans("۰۱۲۳۴۵۶۷۸۹", "0123456789")
_TO_PERSIAN: Final = str.maketrans("0123456789", "۰۱۲۳۴۵۶۷۸۹")
_COPYABLE: Final = re.compile(r"(?<![\w.@/-])[A-Za-z][A-Za-z0-9]+(?![\w@/-])")


class SidePair(NamedTuple):
    """Both sides of a training pair."""

    source: str
    target: str


# --- changes of a text ---


def with_typos(text: str, share: float, random: Random) -> str:
    """Return `text` with one letter swapped, dropped, doubled or mistyped in a `share` of the words of 4+ letters."""
    return _LONGER_WORD.sub(lambda found: _mistyped(found[0], random) if random.random() < share else found[0], text)


def _mistyped(word: str, random: Random) -> str:
    place = random.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    beside = _BESIDE[letter.lower()]
    other = beside[random.randrange(len(beside))]
    mistakes = (
        after[0] + letter + after[1:],
        after,
        letter + letter + after,
        (other.upper() if letter.isupper() else other) + after,
    )
    return before + mistakes[random.randrange(len(mistakes))]


def without_final_punctuation(text: str) -> str:
    """Return `text` without the full stop, question mark or exclamation mark at its end; quotation marks stay."""
    return _END.sub("", text)


def title_case(text: str) -> str:
    """Return `text` in title case: each word capitalized, all other letters in lower case."""
    return _WORD.sub(lambda found: found[0].capitalize(), text)


# --- pairs ---


class Augmentation:
    """Changes pairs at random, at the rates of a recipe."""

    def __init__(self, rates: AugmentationConfig, placeholders: Sequence[str]) -> None:
        """Take the rates, and the placeholders that the subword models have."""
        self._placeholders = list(placeholders)
        kinds: list[tuple[float, Callable[[SidePair, Random], SidePair]]] = [
            (rates.numbers, _other_numbers),
            (rates.copies, self._with_placeholders),
            (rates.final_punctuation, _without_final_punctuation),
            (rates.case, _in_another_case),
            (rates.typos, lambda pair, random: pair._replace(source=with_typos(pair.source, SHARE_OF_TYPOS, random))),
        ]
        self._kinds = [(rate, change) for rate, change in kinds if rate]

    def apply(self, pair: SidePair, seed: str) -> SidePair:
        """Return `pair` with each kind of change made at its rate; deterministic for a seed."""
        random = Random(seed)
        for rate, change in self._kinds:
            if random.random() < rate:
                pair = change(pair, random)
        return pair

    def _with_placeholders(self, pair: SidePair, random: Random) -> SidePair:
        """Replace one or two Latin words found once on each side with placeholders; else add some to both sides."""
        free = [one for one in self._placeholders if one not in pair.source and one not in pair.target]
        unused = random.sample(free, len(free))
        if not unused:
            return pair
        counts = [Counter(_COPYABLE.findall(side)) for side in pair]
        shared = [one for one, count in counts[0].items() if count == counts[1][one] == 1]
        chosen = random.sample(shared, min(len(shared), random.randint(1, 2), len(unused)))
        if chosen:
            symbols: dict[str, str] = dict(zip(chosen, unused, strict=False))

            def replaced(found: re.Match[str]) -> str:
                word: str = found[0]
                return symbols.get(word, word)

            return SidePair(_COPYABLE.sub(replaced, pair.source), _COPYABLE.sub(replaced, pair.target))
        symbol = " ".join(unused[: random.choice((1, 1, 1, 2))])
        match random.randrange(4):
            case 0:
                return SidePair(*(f"{symbol} {side}" for side in pair))
            case 1:
                return SidePair(*(_before_the_end(side, symbol) for side in pair))
        return SidePair(*(f"{side} {symbol}" for side in pair))


def _before_the_end(text: str, symbol: str) -> str:
    end = _END.search(text)
    at = len(text) if end is None else end.start()
    return f"{text[:at]} {symbol}{text[at:]}"


def _other_numbers(pair: SidePair, random: Random) -> SidePair:
    """Replace each number that occurs once on each side with a random one that has as many digits."""
    counts = [Counter(number.translate(_TO_ASCII) for number in _NUMBER.findall(side)) for side in pair]
    others = {
        number: str(random.randrange(10 ** (len(number) - 1) if len(number) > 1 else 2, 10 ** len(number)))
        for number, count in counts[0].items()
        if count == counts[1][number] == 1 and len(number) < 16 and number not in ("0", "1")
    }

    def replaced(found: re.Match[str]) -> str:
        other = others.get(found[0].translate(_TO_ASCII))
        return found[0] if other is None else other if found[0].isascii() else other.translate(_TO_PERSIAN)

    return SidePair(*(_NUMBER.sub(replaced, side) for side in pair))


def _without_final_punctuation(pair: SidePair, random: Random) -> SidePair:
    return pair._replace(source=without_final_punctuation(pair.source) or pair.source)


def _in_another_case(pair: SidePair, random: Random) -> SidePair:
    change = random.choice((str.upper, title_case, str.lower))
    return pair._replace(source=change(pair.source))
