"""One test set by one system: translated, scored and diagnosed."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from translator.config import Config, MetricName
from translator.corpus.test_set import HeldOutSet
from translator.evaluation.comet import comet_lacks, count_comet, named_model
from translator.evaluation.diagnosis import Diagnosis, diagnose
from translator.evaluation.metrics import counts_of_scores, scores_of_counts
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.slices import Slice, slice_scores
from translator.evaluation.spbleu import spbleu_lacks
from translator.evaluation.system import label_of
from translator.evaluation.training_text import TrainingText
from translator.inference import Translator

LOGGER = logging.getLogger("translator")

_MANY: Final = 2000
"""Sentences from which scoring takes so long that it is spoken of."""


@dataclass(frozen=True)
class SetResult:
    """One test set as one system did it."""

    scored: ScoredSet
    diagnosis: Diagnosis
    slices: list[Slice]


@dataclass(frozen=True)
class Scoring:
    """How translations are scored: the same for all systems, so that they can be compared."""

    config: Config
    metrics: list[MetricName]
    missing: list[str]
    """What the other metrics lack."""
    comet_model: str | None
    """Of COMET, where it is scored."""

    @classmethod
    def of(cls, config: Config, overrides: Sequence[str]) -> "Scoring":
        """Return the scoring that a configuration asks for, as far as the models of its metrics are there.

        Args:
            config: of the first run, with what is set for it.
            overrides: what is set, as `key.path=value`.
        """
        model = named_model(config.evaluation, overrides)
        lacks = {"spbleu": spbleu_lacks(), "comet": comet_lacks(model)}
        wanted = config.evaluation.metrics
        metrics = [name for name in wanted if lacks.get(name) is None]
        return cls(config, metrics, [lack for name in wanted if (lack := lacks.get(name)) is not None], model)


def evaluate_set(
    held_out: HeldOutSet, translator: Translator, scoring: Scoring, training_text: TrainingText | None
) -> SetResult:
    """Translate a test set, score and diagnose the translations.

    Args:
        held_out: the test set.
        translator: of the system.
        scoring: how.
        training_text: of the system's run, where it is known.

    Raises:
        InputError: COMET fails.
    """
    name, config = held_out.name, scoring.config
    translations = [best[0] for best in translator.translations(held_out.sources, description=f"translating {name}")]
    hypotheses = [translation.text for translation in translations]
    of_references = translator.score(held_out.sources, [several[0] for several in held_out.references])
    if len(hypotheses) >= _MANY:
        LOGGER.info("scoring %s", name)
    rare_shares: tuple[float, ...] = ()
    if training_text is not None:
        rare_shares = training_text.rare_shares(held_out.sources, config.evaluation.rare_below)
    samples = config.evaluation.bootstrap_samples
    sacrebleu_metrics = [metric for metric in scoring.metrics if metric != "comet"]
    counts = counts_of_scores(
        hypotheses, held_out.references, sacrebleu_metrics, config.corpus.normalization, samples, name
    )
    if "comet" in scoring.metrics:
        assert scoring.comet_model is not None, "or it would be missing"
        counts.append(count_comet(scoring.comet_model, held_out.sources, hypotheses, held_out.references))
    search, checkpoint = label_of(translator), translator.checkpoint_name
    scored = ScoredSet(
        test_set=name,
        system=translator.label,
        checkpoint=checkpoint,
        search=search,
        sources=held_out.sources,
        references=held_out.references,
        hypotheses=tuple(hypotheses),
        origins=held_out.origins,
        scores=tuple(scores_of_counts(counts, samples, test_set=name, search=search, checkpoint=checkpoint)),
        hypothesis_scores=tuple(translations),
        reference_scores=tuple(of_references),
        rare_shares=rare_shares,
    )
    slices = slice_scores(name, checkpoint, search, counts, held_out.sources, rare_shares, held_out.origins)
    return SetResult(scored, diagnose(scored), slices)
