"""evaluation/summary.md: scores and translations chosen at random, for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from translator.evaluation.markdown import persian, plain, table
from translator.evaluation.metrics import Score


@dataclass(frozen=True)
class TranslatedPair:
    """One sentence pair with the model's translation."""

    source: str
    reference: str
    hypothesis: str


def format_summary(title: str, scores: Sequence[Score], samples: Mapping[str, Sequence[TranslatedPair]]) -> str:
    """Return the summary as Markdown.

    Args:
        title: what was evaluated.
        scores: all scores to show, in order.
        samples: for each test set, translations chosen at random.
    """
    parts = [f"# {plain(title)}", "## Scores", _score_table(scores)]
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
    header = ("test set", "metric", "score", "text", "search", "checkpoint", "sentences", "signature")
    rows = [
        (
            score.test_set,
            score.metric,
            f"{score.score:.2f}",
            score.normalization,
            score.search,
            score.checkpoint,
            str(score.sentences),
            "`" + score.signature.replace("|", r"\|") + "`",
        )
        for score in scores
    ]
    return table(header, rows)
