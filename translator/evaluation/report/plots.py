"""The plots of the report, each with the same in words: lengths, sentence scores, and how the runs learned."""

from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import Final, NamedTuple

from markupsafe import Markup

from translator.evaluation.comparison import numbered
from translator.evaluation.report.learning_curve import TRAINING_LOSS, LearningCurve, Points
from translator.evaluation.report.sentences import SentenceSet
from translator.pages import Curve, Series, Tick, curve_chart, histogram

_WORD_LIMITS: Final = (12, 20, 40, 60, 80, 120, 200, 400)
"""A chart of words goes as far as the first of these that holds 98% of both sides."""
_CHRF_BINS: Final = 20
_MOST_POINTS: Final = 200
"""Of a curve that is drawn; more are joined to their mean."""
_SCORE_NAMES: Final = {"bleu": "BLEU", "chrf": "chrF"}


class Plot(NamedTuple):
    """A chart and its caption."""

    chart: Markup
    caption: str


class PlotGroup(NamedTuple):
    """The plots of one set, or of one run."""

    title: str
    plots: Sequence[Plot]


def set_plots(sets: Sequence[SentenceSet]) -> list[PlotGroup]:
    """Return the lengths and the sentence scores of each set."""
    return [
        PlotGroup(one.title, [_length_plot(f"set-{number}", one), _chrf_plot(f"set-{number}", one)])
        for number, one in enumerate(sets, start=1)
    ]


def learning_plots(curves: Iterable[LearningCurve]) -> list[PlotGroup]:
    """Return losses and validation scores of each run of which there are any."""
    found = []
    known = list(curves)
    names = numbered([one.system for one in known])
    for number, (one, name) in enumerate(zip(known, names, strict=True), start=1):
        losses = [("first", "validation", one.curves.get("loss", ())), ("second", "training", _training(one))]
        scores = [(style, _SCORE_NAMES[key], one.curves.get(key, ())) for style, key in _SCORE_STYLES]
        plots = [
            _curve_plot(f"run-{number}-{kind}", f"{name}: {what}", what, lines)
            for kind, what, lines in (("loss", "Loss", losses), ("scores", "Validation scores", scores))
            if any(points for _, _, points in lines)
        ]
        if plots:
            found.append(PlotGroup(name, plots))
    return found


_SCORE_STYLES: Final = (("first", "bleu"), ("second", "chrf"))


def _training(curve: LearningCurve) -> Points:
    """Return the loss in training, thinned to what a chart can show."""
    points = curve.curves.get(TRAINING_LOSS, ())
    size = -(-len(points) // _MOST_POINTS)
    buckets = [points[start : start + size] for start in range(0, len(points), size or 1)]
    return tuple((bucket[-1][0], mean(value for _, value in bucket)) for bucket in buckets)


def _curve_plot(identity: str, title: str, what: str, lines: Sequence[tuple[str, str, Points]]) -> Plot:
    told = [
        f"{name} {points[0][1]:.2f} at step {points[0][0]:,}"
        + (f", {points[-1][1]:.2f} at step {points[-1][0]:,}" if len(points) > 1 else "")
        for _, name, points in lines
        if points
    ]
    caption = f"{what}: {'; '.join(told)}."
    drawn = [Curve(style, points) for style, _, points in lines]
    return Plot(curve_chart(drawn, identity=identity, title=title, description=caption, axis="step"), caption)


def _length_plot(identity: str, one: SentenceSet) -> Plot:
    sides = [[row.words for row in one.rows], [row.reference_words for row in one.rows]]
    longest = sorted(max(pair) for pair in zip(*sides, strict=True))
    needed = longest[int(0.98 * (len(longest) - 1))] + 1
    limit = next((limit for limit in _WORD_LIMITS if needed <= limit), _WORD_LIMITS[-1])
    over = longest[-1] > limit
    counts = [[0] * (limit + 1 + over) for _ in sides]
    for side, lengths in zip(counts, sides, strict=True):
        for words in lengths:
            side[min(words, limit + 1) if over else words] += 1
    ticks = [Tick(place + 0.5, str(place)) for place in range(0, limit + (not over), limit // 4)]
    if over:
        ticks.append(Tick(limit + 1.5, f">{limit}"))
    average, wanted = (mean(side) for side in sides)
    caption = f"Words in a sentence: {average:.1f} on average in the translations, {wanted:.1f} in the references."
    return Plot(
        histogram(
            [Series("english", counts[0]), Series("persian", counts[1])],
            identity=f"{identity}-words",
            title=f"{one.title}: words in translations and references",
            description=caption,
            axis="words",
            ticks=ticks,
        ),
        caption,
    )


def _chrf_plot(identity: str, one: SentenceSet) -> Plot:
    scores = [row.chrf for row in one.rows]
    counts = [0] * _CHRF_BINS
    for score in scores:
        counts[min(int(score / 100 * _CHRF_BINS), _CHRF_BINS - 1)] += 1
    caption = (
        f"chrF of each sentence: median {median(scores):.1f}; {sum(score < 20 for score in scores):,} below 20, "
        f"{sum(score >= 80 for score in scores):,} of 80 and more."
    )
    return Plot(
        histogram(
            [Series("both", counts)],
            identity=f"{identity}-chrf",
            title=f"{one.title}: chrF of each sentence",
            description=caption,
            axis="chrF of the sentence",
            ticks=[Tick(place * _CHRF_BINS / 100, str(place)) for place in range(0, 101, 20)],
        ),
        caption,
    )
