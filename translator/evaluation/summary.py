"""evaluation/summary.md: scores, parts of the test sets and translations chosen at random, for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from translator.evaluation.markdown import persian, plain, table
from translator.evaluation.metrics import Score, show_value
from translator.evaluation.slices import METRICS, Slice


@dataclass(frozen=True)
class TranslatedPair:
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_summary(
    title: str,
    scores: Sequence[Score],
    samples: Mapping[str, Sequence[TranslatedPair]],
    *,
    slices: Sequence[Slice] = (),
    missing: Sequence[str] = (),
) -> str:
    """Return the summary as Markdown.

    Args:
        title: what was evaluated.
        scores: all scores to show, in order.
        samples: for each test set, translations chosen at random.
        slices: scores of parts of the test sets.
        missing: what was not computed, and why.
    """
    parts = [f"# {plain(title)}", "## Scores", _score_table(scores)]
    if missing:
        parts.append("\n".join(f"- not computed: {plain(line)}" for line in missing))
    if slices:
        parts += ["## Parts of the test sets", _slice_table(slices)]
    for test_set, pairs in samples.items():
        parts.append(f"## Translations of `{test_set}` chosen at random")
        for number, pair in enumerate(pairs, start=1):
            parts.append(
                f"{number}. {plain(pair.source)}\n"
                f"    - reference: {persian(pair.reference)}\n"
                f"    - translated: {persian(pair.hypothesis)}"
            )
    return "\n\n".join(parts) + "\n"


def _score_table(scores: Sequence[Score]) -> str:
    header = ("test set", "metric", "score", "95% interval", "text", "search", "checkpoint", "sentences", "signature")
    rows = [
        (
            score.test_set,
            score.metric,
            score.shown,
            score.shown_interval,
            score.normalization,
            score.search,
            score.checkpoint,
            str(score.sentences),
            "`" + score.signature.replace("|", r"\|") + "`",
        )
        for score in scores
    ]
    return table(header, rows)


def _slice_table(slices: Sequence[Slice]) -> str:
    header = ("test set", "by", "part", "sentences", *METRICS, "search", "checkpoint")
    rows = [
        (
            one.test_set,
            one.kind,
            plain(one.part),
            str(one.sentences),
            *(show_value(metric, one.scores[metric]) if metric in one.scores else "" for metric in METRICS),
            one.search,
            one.checkpoint,
        )
        for one in slices
    ]
    return table(header, rows)
