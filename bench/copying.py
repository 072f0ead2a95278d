"""Numbers and codes that a translation must keep: 500 drawn sentences, and the share that keeps every digit in order.

    python -m bench copying --config RUN_FOLDER

The numbers are phone numbers, cards, amounts, ranges, dates, units, fractions and codes, as people write them.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from bench.options import Options
from translator import Translator

SENTENCES: Final = 500
SEED: Final = 7
TEMPLATES: Final = (
    "His number is {}.",
    "There are {} apples on the table.",
    "The lesson is at {}.",
    "Is {} here?",
    "She wrote {} in the letter.",
    "{} is at school.",
    "I see {} in the room!",
    "He bought {} yesterday.",
)
TWICE: Final = "We saw {} and {} in the city."
PLAIN: Final = str.maketrans("۰۱۲۳۴۵۶۷۸۹–—−\u00a0\u2009\u202f", "0123456789---   ")


class Case(NamedTuple):
    """A sentence, and what its translation must contain."""

    kind: str
    source: str
    digits: list[str]  # each with its separators


def _digits(draw: random.Random, count: int) -> str:
    """Return a number of `count` digits."""
    return str(draw.randrange(10 ** (count - 1), 10**count))


def _groups(draw: random.Random, count: int) -> str:
    """Return `count` groups of four digits."""
    return " ".join(_digits(draw, 4) for _ in range(count))


def _space(draw: random.Random) -> str:
    return draw.choice((" ", "\u00a0", "\u2009", "\u202f"))


KINDS: Final[dict[str, Callable[[random.Random], str]]] = {
    "phone abroad": lambda draw: f"+98 21 {_groups(draw, 2)}",
    "phone": lambda draw: f"(021) {_groups(draw, 2)}",
    "card": lambda draw: _groups(draw, 4),
    "account": lambda draw: f"IR{_digits(draw, 2)} {_groups(draw, 5)} {_digits(draw, 2)}",
    "thousands": lambda draw: f"{_digits(draw, 2)}{_space(draw)}{_digits(draw, 3)}{_space(draw)}000",
    "amount": lambda draw: f"{_digits(draw, 2)},{_digits(draw, 3)}.{_digits(draw, 2)}",
    "range": lambda draw: f"{_digits(draw, 2)}{draw.choice('-–—−')}{_digits(draw, 3)}",
    "below zero": lambda draw: f"{draw.choice('-−')}{_digits(draw, 2)}",
    "fraction": lambda draw: f"{_digits(draw, 1)}{draw.choice('½¼¾')}",
    "unit": lambda draw: f"{_digits(draw, 2)}{draw.choice(('kg', 'km', 'am', 'pm', 'm', 'cm'))}",
    "year": lambda draw: f"the {_digits(draw, 4)}s",
    "ordinal": lambda draw: f"the {_digits(draw, 2)}th",
    "date": lambda draw: f"{_digits(draw, 1)}/{_digits(draw, 2)}/{_digits(draw, 4)}",
    "time": lambda draw: f"{_digits(draw, 1)}:{_digits(draw, 2)}",
    "money": lambda draw: f"{draw.choice('€$')}{_digits(draw, 3)}",
    "per cent": lambda draw: f"{_digits(draw, 2)}%",
    "room": lambda draw: f"B{_digits(draw, 2)}",
    "tax number": lambda draw: f"BE{_digits(draw, 10)}",
    "version": lambda draw: f"v{_digits(draw, 1)}.{_digits(draw, 1)}",
}


def cases() -> list[Case]:
    """Return the sentences, always the same; each tenth has two numbers."""
    draw = random.Random(SEED)
    drawn: list[Case] = []
    for number in range(SENTENCES):
        kind = list(KINDS)[number % len(KINDS)]
        if number % 10 == 9:
            parts = [KINDS[kind](draw), _digits(draw, 3)]
            source = TWICE.format(*parts)
            kind = "two in a sentence"
        else:
            parts = [KINDS[kind](draw)]
            source = draw.choice(TEMPLATES).format(*parts)
        drawn.append(Case(kind=kind, source=source, digits=[_kept(part) for part in parts]))
    return drawn


def _kept(part: str) -> str:
    """Return what must be in the translation: `part` from its first digit to its last, or the whole code."""
    plain = part.translate(PLAIN)
    if plain.startswith("the ") or plain[0].isdigit():
        return plain.strip("aehmkgcpst% ")
    return plain.strip("€$")


def bench(options: Options) -> Iterator[str]:
    """Yield the share of the sentences that keep every digit in order, and the first ones of each kind that do not."""
    run = Path(options.config or "runs/sample")
    drawn = cases()
    lines = Translator.load(run).translate_lines([case.source for case in drawn])
    failures = Counter[str]()
    for case, line in zip(drawn, lines, strict=True):
        plain = line.translate(PLAIN)
        if all(plain.count(digits) == 1 for digits in case.digits):
            continue
        failures[case.kind] += 1
        yield f"{case.kind}: {case.source} → {line}"
    whole_count = SENTENCES - failures.total()
    share = whole_count / SENTENCES
    yield f"{run.name}: {whole_count} of {SENTENCES} sentences keep every digit in order ({share:.1%})"
