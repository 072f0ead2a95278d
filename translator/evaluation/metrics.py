"""Corpus scores by sacreBLEU; a score always carries the signature that says how it was made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from translator.config import MetricName, NormalizationConfig
from translator.corpus.normalize import NORMALIZER_VERSION, Normalizer
from translator.errors import InputError

RAW: Final = "raw"
"""The `normalization` of a score on text as it is: references as read, hypotheses as translated."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """One number, with all that is needed to know what it means."""

    test_set: str = ""
    metric: MetricName
    score: float
    signature: str
    """sacreBLEU's: tokenizer, smoothing, version."""
    normalization: str
    """`raw`, or which normalizer both sides went through."""
    search: str = ""
    checkpoint: str = ""
    sentences: int

    @property
    def setting(self) -> tuple[str, ...]:
        """What was measured: two scores of one setting are two measurements of the same thing."""
        return (self.test_set, self.metric, self.normalization, self.search, self.checkpoint)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of scores.json."""
        return asdict(self)


def compute_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    metrics: Sequence[MetricName],
    normalization: NormalizationConfig | None = None,
    test_set: str = "",
    search: str = "",
    checkpoint: str = "",
) -> list[Score]:
    """Return the scores of `hypotheses` against `references`, sentence by sentence in pairs.

    BLEU 13a on raw text is always there and always first; then the other `metrics` on raw text; then, if
    `normalization` is given, all `metrics` with both sides passed through `Normalizer.target`.

    Args:
        hypotheses: detokenized translations.
        references: the references as read from the corpus, never decoded back from ids: that would inflate BLEU.
        metrics: names of the scores.
        normalization: rules of the normalizer.
        test_set, search, checkpoint: what to write into the scores.

    Raises:
        InputError: there are no sentences, or not as many hypotheses as references.
    """
    named = f" of test set `{test_set}`" if test_set else ""
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses)} translations against {len(references)} references{named}: "
            "a score needs one reference for each; check that both files have the same number of lines"
        )
    if not references:
        raise InputError(f"nothing to score{named}: there is not one sentence; check its file or corpus.split.test")
    scores = []

    def add(names: Sequence[MetricName], outputs: Sequence[str], truths: Sequence[str], label: str) -> None:
        for name in names:
            metric = _metric(name)
            value = float(metric.corpus_score(list(outputs), [list(truths)]).score)
            scores.append(
                Score(
                    test_set=test_set,
                    metric=name,
                    score=value,
                    signature=str(metric.get_signature()),
                    normalization=label,
                    search=search,
                    checkpoint=checkpoint,
                    sentences=len(references),
                )
            )

    first: MetricName = "bleu"
    add([first, *(name for name in metrics if name != first)], hypotheses, references, RAW)
    if normalization is not None:
        normalizer = Normalizer(normalization)
        outputs = [normalizer.target(text) for text in hypotheses]
        truths = [normalizer.target(text) for text in references]
        add(metrics, outputs, truths, normalization_label(normalization))
    return scores


def normalization_label(config: NormalizationConfig) -> str:
    """Return the `normalization` of scores whose two sides went through `Normalizer(config).target`.

    Rules that differ from the defaults are named, since scores under other rules are other scores.
    """
    usual = NormalizationConfig().model_dump()
    changed = [f"{key}={value}" for key, value in config.model_dump().items() if value != usual[key]]
    return " ".join([f"normalizer-{NORMALIZER_VERSION} on both sides", *changed])


def _metric(name: MetricName) -> Metric:
    """Return a fresh metric; `force` only silences a warning about references with spaces before full stops."""
    if name == "bleu":
        return BLEU(tokenize="13a", force=True)
    if name == "bleu_intl":
        return BLEU(tokenize="intl", force=True)
    return CHRF(word_order=0 if name == "chrf" else 2)
