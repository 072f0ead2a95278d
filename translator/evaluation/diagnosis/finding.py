"""What one part of a diagnosis found: how often, what it means, and where to look."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

LISTED: Final = 20
"""Different things that a note lists."""


class Flag(NamedTuple):
    """A sentence in which something was found."""

    sentence: int
    """Counted from 0, as in a `ScoredSet`."""
    weight: float
    """How bad it is; examples are those of the greatest weight."""
    note: str
    """What was found in it, in a few words; it may quote any text."""


@dataclass(frozen=True)
class Example:
    """A sentence to look at."""

    sentence: int
    """Counted from 1, as lines are."""
    note: str


@dataclass(frozen=True)
class Agreement:
    """How much of what the hypotheses have the other side has too, and the other way round."""

    matched: int
    """In both, sentence by sentence."""
    hypotheses: int
    """In the hypotheses."""
    references: int
    """On the other side."""

    @property
    def precision(self) -> float | None:
        """The share of the hypotheses' that is matched; None if they have none."""
        return self.matched / self.hypotheses if self.hypotheses else None

    @property
    def recall(self) -> float | None:
        """The share of the other side's that is matched; None if it has none."""
        return self.matched / self.references if self.references else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; None if neither side has any."""
        together = self.hypotheses + self.references
        return 2 * self.matched / together if together else None

    def __add__(self, other: "Agreement") -> "Agreement":
        """Return the agreement of two texts together."""
        return Agreement(
            self.matched + other.matched, self.hypotheses + other.hypotheses, self.references + other.references
        )

    def to_json(self) -> dict[str, Any]:
        """Return counts and shares as values that JSON can hold."""
        counts = {"matched": self.matched, "hypotheses": self.hypotheses, "references": self.references}
        return counts | {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One kind of mistake in the translations of one test set."""

    name: str
    """Fit for a key: `latin_words`."""
    meaning: str
    """One sentence for a person."""
    of: int
    """Sentences in which it could have been found."""
    sentences: tuple[int, ...]
    """Those in which it was, in order, counted from 1."""
    examples: tuple[Example, ...] = ()
    """The worst first."""
    agreements: Mapping[str, Agreement] = field(default_factory=dict)
    """What was compared, and how far it agrees."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Other numbers, by what they are."""

    @property
    def count(self) -> int:
        """Sentences in which it was found."""
        return len(self.sentences)

    @property
    def share(self) -> float:
        """`count` as a share of `of`; 0 where there was nothing to look at."""
        return self.count / self.of if self.of else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return what is of interest later as values that JSON can hold; of the sentences only the examples."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "count": self.count,
            "of": self.of,
            "share": self.share,
            "examples": [{"sentence": example.sentence, "note": example.note} for example in self.examples],
            "agreements": {name: agreement.to_json() for name, agreement in self.agreements.items()},
            "figures": dict(self.figures),
        }


def listed(counts: Counter[str]) -> str:
    """Return what was counted for a note, of much only the beginning: `، ×3 .`."""
    some = list(counts.items())[:LISTED]
    return " ".join(f"{one} ×{count}" if count > 1 else one for one, count in some) + " …" * (len(counts) > LISTED)


def finding(
    name: str,
    meaning: str,
    *,
    of: int,
    flags: Iterable[Flag],
    examples: int,
    agreements: Mapping[str, Agreement] | None = None,
    figures: Mapping[str, float] | None = None,
) -> Finding:
    """Return the finding of these flags, one for each sentence at most, with the worst as examples.

    Args:
        name, meaning, of, agreements, figures: see `Finding`.
        flags: the sentences in which it was found.
        examples: how many to show; of two that are as bad, the earlier comes first.
    """
    flags = list(flags)
    worst: Sequence[Flag] = heapq.nsmallest(examples, flags, key=lambda flag: (-flag.weight, flag.sentence))
    return Finding(
        name=name,
        meaning=meaning,
        of=of,
        sentences=tuple(sorted(flag.sentence + 1 for flag in flags)),
        examples=tuple(Example(flag.sentence + 1, flag.note) for flag in worst),
        agreements=agreements or {},
        figures=figures or {},
    )
