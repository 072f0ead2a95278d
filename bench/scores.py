"""sacreBLEU scores of several systems on one test set, with significance of differences from the first."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest, Result

from translator.errors import RunError

METRICS: Final = ("BLEU", "chrF2")
SIGNIFICANT: Final = 0.05
NOTE: Final = (
    f"In brackets: p of the difference to the first, by sacreBLEU's paired bootstrap; where p < {SIGNIFICANT}, "
    "* if the first is better and † if the other is."
)


def compare_systems(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], samples: int = 1000
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the scores of each system in each of `METRICS`, in the format of `NOTE`, and the metrics' signatures.

    Args:
        systems: name and translations; the first is the baseline.
        references: as many.
        samples: number of samples of the paired bootstrap.
    """
    metrics = {"BLEU": BLEU(force=True), "chrF2": CHRF()}
    reference_sets = [list(references)]
    texts: list[tuple[str, Sequence[str]]] = [(name, list(lines)) for name, lines in systems.items()]

    # 1. A system alone has no differences.
    if len(texts) == 1:
        name, lines = texts[0]
        scores = [f"{metric.corpus_score(lines, reference_sets).score:.2f}" for metric in metrics.values()]
        return {name: scores}, [f"{key} {metric.get_signature()}" for key, metric in metrics.items()]

    # 2. Several are compared with the first.
    test = PairedTest(texts, metrics, reference_sets, test_type="bs", n_samples=samples)
    signatures, results = test()
    cells: dict[str, list[str]] = {name: [] for name in systems}
    for metric_name in METRICS:
        baseline = results[metric_name][0]
        assert isinstance(baseline, Result)
        for name, result in zip(systems, results[metric_name], strict=True):
            assert isinstance(result, Result)
            cells[name].append(_cell(result, baseline))
    return cells, [f"{name} {signature}" for name, signature in signatures.items()]


def _cell(result: Result, baseline: Result) -> str:
    """Return a score, with the p of its difference to the baseline where there is one (see `NOTE`)."""
    cell = f"{result.score:.2f}"
    if result.p_value is None:
        return cell
    mark = ""
    if result.p_value < SIGNIFICANT:
        mark = "†" if result.score > baseline.score else "*"
    return f"{cell} ({result.p_value:.3f}{mark})"


def mean_score(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the mean of BLEU and chrF over several sets.

    chrF alone rewards length: it prefers length penalties with some overlong hypotheses, which BLEU penalizes.
    """
    scores = []
    for hypotheses, set_references in zip(translations, references, strict=True):
        for metric in (BLEU(force=True), CHRF()):
            scores.append(metric.corpus_score(list(hypotheses), [list(set_references)]).score)
    return statistics.fmean(scores)


def read_lines(path: Path, expected: int | None = None) -> list[str]:
    """Return the lines of a file; raise RunError if their number is not `expected`."""
    text = path.read_bytes().decode("utf-8").removesuffix("\n")
    lines = text.split("\n") if text else []
    if expected is not None and len(lines) != expected:
        raise RunError(f"{path} has {len(lines):,} lines for {expected:,} sentences; delete it and run this again")
    return lines


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        cells = [cell.replace("|", "\\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
