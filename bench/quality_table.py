"""The tables of the contest: scores on every held-out block, and whether the paired bootstrap calls a margin real."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.quality_choice import by_set
from bench.quality_contestant import Trained
from bench.quality_plan import QualityPlan
from bench.quality_text import ContestText, read_lines
from translator.config import MetricName, NormalizationConfig
from translator.evaluation import ScoredSet, compute_scores
from translator.evaluation.comparison import SystemComparison, compare_systems
from translator.evaluation.comparison.results import PairedTest, SystemResult
from translator.evaluation.markdown import persian, plain, table
from translator.evaluation.report import evaluation_page
from translator.evaluation.text_variants import text_variants
from translator.storage import write_json, write_text

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++")
SHOWN: Final = 5
"""Sentences of each set that are shown."""
SIGNIFICANT: Final = 0.05
"""Below it, the paired bootstrap calls a difference real."""
_LABELS: Final[Mapping[str, str]] = {"bleu": "BLEU", "chrf": "chrF", "chrf++": "chrF++"}


@dataclass(frozen=True)
class Finished:
    """One contestant that has come to the end."""

    name: str
    way: Mapping[str, Any]
    trained: Trained
    choice: Mapping[str, Any]
    translations: Path
    """Of the whole test text."""


def scored_sets(plan: QualityPlan, text: ContestText, contestants: Sequence[Finished]) -> list[list[ScoredSet]]:
    """Return for each test set what every contestant made of it.

    Raises:
        RunError: translations do not have a line for each sentence.
    """
    sets = text.sets("test")
    translated = [by_set(one.translations, sets) for one in contestants]
    return [
        [
            ScoredSet(
                test_set=held_out.name,
                system=one.name,
                checkpoint=one.choice["checkpoint"],
                search=f"beam-{plan.beam_size}, length penalty {one.choice['length_penalty']:g}",
                sources=held_out.sources,
                references=held_out.references,
                hypotheses=tuple(parts[number]),
                origins=held_out.origins,
                scores=tuple(
                    compute_scores(
                        parts[number],
                        held_out.references,
                        metrics=METRICS,
                        normalization=NormalizationConfig(),
                        bootstrap_samples=plan.bootstrap_samples,
                        test_set=held_out.name,
                    )
                ),
                rare_shares=(),
            )
            for one, parts in zip(contestants, translated, strict=True)
        ]
        for number, held_out in enumerate(sets)
    ]


def compare_all(sets: Sequence[Sequence[ScoredSet]], samples: int) -> list[SystemComparison]:
    """Return how the others stand beside the first on each test set, by the paired bootstrap; nothing for one alone."""
    if not sets or len(sets[0]) < 2:
        return []
    variants = text_variants(NormalizationConfig())[:2]
    return [compare_systems(one, metrics=METRICS, variants=variants, samples=samples, trials=0) for one in sets]


def write_tables(plan: QualityPlan, text: ContestText, contestants: Sequence[Finished]) -> list[str]:
    """Write results.md, results.json and report.html of the finished contestants, ours first; return results.md.

    Raises:
        RunError: translations do not have a line for each sentence.
        StorageError: a file cannot be written.
    """
    sets = scored_sets(plan, text, contestants)
    comparisons = compare_all(sets, plan.bootstrap_samples)
    lines = [*effort_lines(plan, contestants), "", *score_lines(sets, comparisons), "", *sample_lines(sets)]
    write_text(plan.folder / "results.md", "\n".join(lines) + "\n")
    write_json(
        plan.folder / "results.json",
        {
            "minutes": plan.minutes,
            "contestants": [
                {"name": one.name, "way": dict(one.way), "trained": one.trained.to_json(), "choice": dict(one.choice)}
                for one in contestants
            ],
            "scores": [
                {"system": one.system, **score.to_json()}
                for by_system in sets
                for one in by_system
                for score in one.scores
            ],
            "comparisons": [comparison.to_json() for comparison in comparisons],
        },
    )
    title = f"Translators trained for {plan.minutes:g} minutes"
    everything = [one for by_system in sets for one in by_system]
    write_text(plan.folder / "report.html", evaluation_page(title, everything, (), comparisons))
    return lines


def effort_lines(plan: QualityPlan, contestants: Sequence[Finished]) -> list[str]:
    """Return the table of what each was given and did."""
    first = contestants[0].trained.weights
    rows = []
    for one in contestants:
        ratio = one.trained.weights / first if first else 0.0
        size = f"{one.trained.weights / 1e6:.2f}M"
        if abs(ratio - 1) > plan.size_tolerance:
            size += f" (**{ratio:.2f} of the first: more than {plan.size_tolerance:.0%} off**)"
        way = ", ".join(f"{key} {value}" for key, value in one.way.items())
        chosen = f"{one.choice['checkpoint']}, length penalty {one.choice['length_penalty']:g}"
        speed = f"{one.trained.tokens_per_second:,.0f}"
        minutes = f"{one.trained.seconds / 60:.1f}"
        tokens = f"{one.trained.target_tokens:,}"
        empty = sum(not line.strip() for line in read_lines(one.translations))
        rows.append([one.name, size, way, minutes, f"{one.trained.steps:,}", tokens, speed, chosen, f"{empty:,}"])
    header = ["contestant", "weights", "way", "minutes", "steps", "target tokens", "tokens/s", "chosen on validation"]
    header.append("empty translations")
    return [table(header, rows)]


def score_lines(sets: Sequence[Sequence[ScoredSet]], comparisons: Sequence[SystemComparison]) -> list[str]:
    """Return the table of scores; p-values are of the difference to the first contestant."""
    labels = [f"{_LABELS[metric]}, {text}" for text in ("raw", "normalized") for metric in METRICS]
    rows = []
    for number, by_system in enumerate(sets):
        for place, one in enumerate(by_system):
            cells = [one.test_set, f"{len(one.sources):,}", one.system]
            if comparisons:
                cells += [_cell(test, test.systems[place]) for test in comparisons[number].tests]
            else:
                wanted = [score for score in one.scores if "ZWNJ" not in score.normalization]
                cells += [score.shown for score in sorted(wanted, key=lambda score: score.normalization != "raw")]
            rows.append(cells)
    signatures = dict.fromkeys(f"`{test.signature}`" for one in comparisons for test in one.tests)
    note = (
        "In brackets: p of the difference to the first, by sacreBLEU's paired bootstrap; "
        f"where p < {SIGNIFICANT}, * if the first is better and † if the other is."
    )
    return [
        table(["test set", "sentences", "contestant", *labels], rows),
        *([f"\n{note}"] if comparisons else []),
        *signatures,
    ]


def _cell(test: PairedTest, result: SystemResult) -> str:
    if result.p_value is None:
        return f"{result.score:.2f}"
    mark = "" if result.p_value >= SIGNIFICANT else "*" if result.difference < 0 else "†"
    return f"{result.score:.2f} ({result.p_value:.3f}{mark})"


def sample_lines(sets: Sequence[Sequence[ScoredSet]]) -> list[str]:
    """Return the same few sentences of each test set as every contestant translates them."""
    rows = []
    for by_system in sets:
        first = by_system[0]
        for number in range(0, len(first.sources), max(1, len(first.sources) // SHOWN))[:SHOWN]:
            texts = [persian(first.references[number][0]), *(persian(one.hypotheses[number]) for one in by_system)]
            rows.append([first.test_set, plain(first.sources[number]), *texts])
    header = ["test set", "English", "reference", *(one.system for one in sets[0])] if sets else []
    return [table(header, rows)] if rows else []
