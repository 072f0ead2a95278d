"""What a comparison of systems on one test set found."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from translator.config import MetricName

LOWER_IS_BETTER: Final = frozenset({"ter"})
"""Metrics that count errors."""
Method = Literal["bootstrap", "randomisation"]
METHODS: Final[Mapping[Method, str]] = {
    "bootstrap": "paired bootstrap",
    "randomisation": "paired approximate randomisation",
}
"""What each is called in the literature (Koehn 2004; Riezler and Maxwell 2005)."""


@dataclass(frozen=True, kw_only=True)
class SystemResult:
    """One system's score, and how it stands beside the baseline's."""

    system: str
    score: float
    """Of the whole test set."""
    difference: float
    """Less the baseline's score; 0 for the baseline itself."""
    p_value: float | None
    """Probability of a difference as large or larger by chance; None for the baseline. It is 1 for no difference."""
    mean: float | None
    """Of the scores of all bootstrap samples; None for randomisation."""
    half_interval: float | None
    """Half the width of the interval that holds 95% of them; None for randomisation."""


@dataclass(frozen=True, kw_only=True)
class PairedTest:
    """One metric under one paired test; every system is tested against the first."""

    metric: MetricName
    normalization: str
    """`raw`, or what both sides went through."""
    method: Method
    signature: str
    """sacreBLEU's, with samples and seed."""
    systems: tuple[SystemResult, ...]
    """The baseline first."""

    @property
    def lower_is_better(self) -> bool:
        """Whether the metric counts errors."""
        return self.metric in LOWER_IS_BETTER


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A sentence that two systems translate differently well."""

    sentence: int
    """Counted from 1."""
    source: str
    references: tuple[str, ...]
    baseline: str
    """The baseline's translation."""
    system: str
    """The other system's."""
    baseline_chrf: float
    system_chrf: float

    @property
    def gain(self) -> float:
        """What the system has more than the baseline, in chrF of this sentence."""
        return self.system_chrf - self.baseline_chrf


@dataclass(frozen=True, kw_only=True)
class SentenceComparison:
    """One system beside the baseline, sentence by sentence, by chrF on raw text."""

    system: str
    wins: int
    """Sentences in which it has the higher chrF."""
    losses: int
    ties: int
    better: tuple[Difference, ...]
    """Its largest gains, the largest first."""
    worse: tuple[Difference, ...]
    """Its largest losses, the largest first."""


@dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Systems beside a baseline on one test set."""

    test_set: str
    sentences: int
    systems: tuple[str, ...]
    """Their labels, no two alike; the first is the baseline."""
    tests: tuple[PairedTest, ...]
    """By normalization, then by metric, then by method."""
    by_sentence: tuple[SentenceComparison, ...]
    """One for each system but the baseline."""

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        return asdict(self)
