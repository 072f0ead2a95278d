"""The charts of a source's lengths: words of each side, and how the sides compare."""

import math
from typing import Final, NamedTuple

from markupsafe import Markup

from translator.corpus.statistics import (
    RATIO_BINS,
    RATIO_BINS_IN_OCTAVE,
    WORD_BINS,
    SideStatistics,
    TextStatistics,
    quantile_bin,
)
from translator.pages import Series, Tick, histogram

_WORD_LIMITS: Final = (12, 20, 40, 60, 80, WORD_BINS - 1)
"""A chart of words goes as far as the first of these that holds 98% of both sides."""
_TICKS: Final = 4
_RATIOS: Final = {-2: "0.25", -1: "0.5", 0: "1", 1: "2", 2: "4"}
"""Labels at binary logarithms."""


class SourceCharts(NamedTuple):
    """The charts of one source, each with the same in words."""

    title: str
    words: Markup
    words_caption: str
    ratio: Markup
    ratio_caption: str


def source_charts(identity: str, title: str, statistics: TextStatistics) -> SourceCharts:
    """Return the charts of a source with pairs; `identity` is unlike that of any other source of the page."""
    words_caption = (
        f"Words in a sentence. {_in_words('English', statistics.source, statistics.pairs)} "
        f"{_in_words('Persian', statistics.target, statistics.pairs)}"
    )
    low, middle, high = (_ratio(quantile_bin(statistics.by_ratio, share)) for share in (0.05, 0.5, 0.95))
    ratio_caption = (
        f"Persian characters for each English one. Median about {middle:.2f}; nine of ten pairs between {low:.2f} and "
        f"{high:.2f}. {statistics.zwnj_share:.1%} of the Persian sides have a ZWNJ."
    )
    return SourceCharts(
        title,
        words=_word_chart(f"{identity}-words", title, statistics, words_caption),
        words_caption=words_caption,
        ratio=_ratio_chart(f"{identity}-ratio", title, statistics, ratio_caption),
        ratio_caption=ratio_caption,
    )


def _word_chart(identity: str, title: str, statistics: TextStatistics, description: str) -> Markup:
    sides = (statistics.source.by_words, statistics.target.by_words)
    needed = 1 + max(quantile_bin(side, 0.98) for side in sides)
    limit = next((limit for limit in _WORD_LIMITS if needed <= limit), WORD_BINS - 1)
    over = any(sum(side[limit:]) for side in sides)
    ticks = [Tick(0.5, "1")]
    ticks += [_word_tick(limit * number // _TICKS) for number in range(1, _TICKS if over else _TICKS + 1)]
    if over:
        ticks.append(Tick(limit + 0.5, f">{limit}"))
    series = [
        Series(style, [*side[:limit], *([sum(side[limit:])] if over else [])])
        for style, side in zip(("english", "persian"), sides, strict=True)
    ]
    return histogram(
        series,
        identity=identity,
        title=f"{title}: words of each side",
        description=description,
        axis="words",
        ticks=ticks,
    )


def _word_tick(words: int) -> Tick:
    return Tick(words - 0.5, str(words))


def _ratio_chart(identity: str, title: str, statistics: TextStatistics, description: str) -> Markup:
    middle = RATIO_BINS / 2
    return histogram(
        [Series("both", statistics.by_ratio)],
        identity=identity,
        title=f"{title}: length of the Persian side over that of the English one",
        description=description,
        axis="Persian over English characters",
        ticks=[Tick(middle + octave * RATIO_BINS_IN_OCTAVE, label) for octave, label in _RATIOS.items()],
    )


def _in_words(name: str, side: SideStatistics, pairs: int) -> str:
    median, most = (_words(quantile_bin(side.by_words, share)) for share in (0.5, 0.95))
    return f"{name}: {side.words / pairs:.1f} on average, median {median}, 95% up to {most}."


def _words(number_of_bin: int) -> str:
    return str(number_of_bin + 1) if number_of_bin + 1 < WORD_BINS else f"more than {WORD_BINS - 1}"


def _ratio(number_of_bin: int) -> float:
    """Return the ratio in the middle of a bin."""
    octaves: float = (number_of_bin - RATIO_BINS // 2) / RATIO_BINS_IN_OCTAVE
    return math.exp2(octaves)
