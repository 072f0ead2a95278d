"""The table of the experiments: each finished variant beside the baseline, with intervals, as Markdown.

Scores are sacreBLEU's on the union of all test sets, over the translations of all seeds together. In the bootstrap a
sentence is drawn together with its translations by every seed: drawn one by one, as if each seed had brought new
sentences, the intervals would come out too narrow. They tell what other sentences would change, not what other seeds
would; for that the score of each seed stands beside.
"""

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from bench.experiment_plan import Experiments, Trial, Variant
from translator.checkpoint import find_checkpoint, load_checkpoint
from translator.errors import RunError
from translator.evaluation import saved_scores, search_label
from translator.evaluation.markdown import table
from translator.storage import storage_errors
from translator.training.progress import TrainingProgress

SAMPLES = 1000
"""Bootstrap samples."""
NOTHING = "–"


@dataclass(frozen=True)
class Outcome:
    """What a finished trial came to."""

    variant: Variant
    seed: int
    references: list[str]
    """Of all test sets, one after the other."""
    hypotheses: list[str]
    progress: TrainingProgress | None
    """None for an average, which is not trained."""


@dataclass(frozen=True)
class VariantScores:
    """The scores of a variant, and how they differ from the baseline's with the same seeds."""

    results: dict[str, Result]
    """By metric; with a p-value only beside a baseline."""
    differences: dict[str, float]
    """By metric; empty without a baseline."""
    signatures: list[str]


def experiment_table(experiments: Experiments, planned: Sequence[Trial]) -> list[str]:
    """Return the lines of the table of all trials in `planned` that are finished.

    Raises:
        RunError: a run is damaged, or two were scored on different test sets.
    """
    finished: dict[str, list[Outcome]] = {}
    for trial in planned:
        checkpoint = trial.scored_checkpoint()
        if checkpoint is not None:
            finished.setdefault(trial.variant.name, []).append(read_outcome(trial, checkpoint))
        elif trial.run.config_file.is_file() and trial.has_other_settings():
            print(f"bench: {trial.run.path} was trained with other settings and is left out", file=sys.stderr)
    everything = [outcome for outcomes in finished.values() for outcome in outcomes]
    if not everything:
        return ["No experiment is finished yet."]
    if any(outcome.references != everything[0].references for outcome in everything):
        raise RunError(
            f"the runs in {experiments.directory} were scored on different test sets; evaluate them all again, or put "
            "new ones into another directory"
        )
    baseline = finished.get(experiments.variants[0].name, [])
    rows, signatures = [], [""]
    for variant in experiments.variants:
        if outcomes := finished.get(variant.name):
            compared = compare(outcomes, [] if outcomes is baseline else baseline)
            rows.append(row(outcomes, compared))
            signatures = compared.signatures
    metrics = [f"{name}{what}" for name in ("BLEU", "chrF") for what in (", 95%", " − baseline (p)")]
    header = ["variant", "seeds", "validation loss", *metrics, "chrF of each seed", "minutes", "target tokens"]
    sentences = len(everything[0].references)
    return [
        table(header, rows),
        "",
        f"{sentences:,} test sentences, {search_label(planned[0].config.search)} search, the weights after the last "
        f"step; {SAMPLES:,} bootstrap samples of sentences, each with the translations of all seeds. Loss: nats per "
        "target token without label smoothing, mean of the seeds, as minutes and tokens are. R-Drop computes every "
        "token twice and counts it once.",
        *(f"`{signature}`" for signature in signatures),
    ]


def read_outcome(trial: Trial, checkpoint: str) -> Outcome:
    """Return what the finished `trial` came to.

    Raises:
        RunError: a file of translations is not whole.
        StorageError: one cannot be read.
        CheckpointError: the last checkpoint is damaged.
    """
    search = search_label(trial.config.search)
    scores = [one for one in saved_scores(trial.run) if (one.checkpoint, one.search) == (checkpoint, search)]
    sizes = {one.test_set: one.sentences for one in scores}
    references: list[str] = []
    hypotheses: list[str] = []
    for name in sorted(sizes):
        for kind, lines in (("reference", references), (f"{checkpoint}.{search}.hypotheses", hypotheses)):
            file = trial.run.evaluation_folder / f"{name}.{kind}.txt"
            with storage_errors(file, "read"):
                found = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            if len(found) != sizes[name]:
                raise RunError(f"{file} has {len(found)} lines, not {sizes[name]}; evaluate {trial.run.path} again")
            lines += found
    progress = None
    if trial.variant.average is None:
        last = find_checkpoint(trial.run.checkpoints_folder, "last")
        progress = TrainingProgress(**load_checkpoint(last, with_training=False).state.progress)
    return Outcome(trial.variant, trial.seed, references, hypotheses, progress)


def compare(outcomes: Sequence[Outcome], baseline: Sequence[Outcome]) -> VariantScores:
    """Return the scores of one variant's `outcomes`, over the seeds that `baseline` has too if there is one."""
    there = {outcome.seed: outcome for outcome in baseline}
    if shared := [outcome for outcome in outcomes if outcome.seed in there]:
        outcomes = shared
    systems: list[tuple[str, Any]] = [("variant", _by_sentence(outcomes))]
    if shared:
        systems.insert(0, ("baseline", _by_sentence([there[outcome.seed] for outcome in shared])))
    references = [outcomes[0].references]
    metrics = {"BLEU": _PooledBLEU(force=True), "chrF": _PooledCHRF()}
    signatures, scores = PairedTest(systems, metrics, references, test_type="bs", n_samples=SAMPLES)()
    results: dict[str, Result] = {}
    differences: dict[str, float] = {}
    for name in signatures:
        first, result = scores[name][0], scores[name][-1]
        assert isinstance(first, Result) and isinstance(result, Result)
        results[name] = result
        if shared:
            differences[name] = result.score - first.score
    return VariantScores(results, differences, [f"{name} {signature}" for name, signature in signatures.items()])


def row(outcomes: Sequence[Outcome], compared: VariantScores) -> list[str]:
    """Return the cells of one variant."""
    cells = [outcomes[0].variant.about, ", ".join(str(outcome.seed) for outcome in outcomes)]
    progress = [outcome.progress for outcome in outcomes if outcome.progress is not None]
    cells.append(_mean([one.last_validation.get("loss", float("nan")) for one in progress], "{:.3f}"))
    for name, result in compared.results.items():
        cells.append(f"{result.score:.2f} ± {result.ci:.2f}")
        difference = compared.differences.get(name)
        p = (
            result.p_value if difference else 1.0
        )  # sacreBLEU's p of no difference at all would be the smallest there is
        cells.append(NOTHING if difference is None else f"{difference:+.2f} ({p:.3f})")
    alone = CHRF(references=[outcomes[0].references])
    cells.append(", ".join(f"{alone.corpus_score(outcome.hypotheses, None).score:.2f}" for outcome in outcomes))
    cells.append(_mean([one.seconds / 60 for one in progress], "{:.1f}"))
    cells.append(_mean([float(one.target_tokens) for one in progress], "{:,.0f}"))
    return cells


def _mean(values: Sequence[float], form: str) -> str:
    """Return the mean of what the seeds gave, in the given form."""
    return form.format(statistics.fmean(values)) if values else NOTHING


def _by_sentence(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Return, for each sentence, its translation by every seed."""
    return list(zip(*(outcome.hypotheses for outcome in outcomes), strict=True))


class _PooledBLEU(BLEU):
    """BLEU of systems that have several translations of each sentence."""

    def _extract_corpus_statistics(self, hypotheses: Sequence[Sequence[str]], references: Any) -> list[list[float]]:
        return _pooled(super()._extract_corpus_statistics, hypotheses, references)


class _PooledCHRF(CHRF):
    """chrF of systems that have several translations of each sentence."""

    def _extract_corpus_statistics(self, hypotheses: Sequence[Sequence[str]], references: Any) -> list[list[float]]:
        return _pooled(super()._extract_corpus_statistics, hypotheses, references)


def _pooled(extract: Callable[..., Any], hypotheses: Sequence[Sequence[str]], references: Any) -> list[list[float]]:
    """Return the statistics of each sentence, those of its translations added up.

    Both scores are functions of sums of these, so the score of the sums is that of all translations as one corpus.
    """
    by_seed = [extract(list(outputs), references) for outputs in zip(*hypotheses, strict=True)]
    summed: list[list[float]] = np.sum(by_seed, axis=0).tolist()
    return summed
