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
        samples: of the paired bootstrap.
    """
    metrics, several = {"BLEU": BLEU(force=True), "chrF2": CHRF()}, [list(references)]
    texts: list[tuple[str, Sequence[str]]] = [(name, list(lines)) for name, lines in systems.items()]
    if len(texts) == 1:
        ((name, lines),) = texts
        scores = [f"{metric.corpus_score(lines, several).score:.2f}" for metric in metrics.values()]
        return {name: scores}, [f"{key} {metric.get_signature()}" for key, metric in metrics.items()]
    signatures, results = PairedTest(texts, metrics, several, test_type="bs", n_samples=samples)()
    cells: dict[str, list[str]] = {name: [] for name in systems}
    for metric in METRICS:
        first = results[metric][0]
        for name, one in zip(systems, results[metric], strict=True):
            assert isinstance(one, Result) and isinstance(first, Result)
            cell = f"{one.score:.2f}"
            if one.p_value is not None:
                mark = "" if one.p_value >= SIGNIFICANT else "†" if one.score > first.score else "*"
                cell += f" ({one.p_value:.3f}{mark})"
            cells[name].append(cell)
    return cells, [f"{name} {signature}" for name, signature in signatures.items()]


def mean_score(translations: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """Return the mean of BLEU and chrF over several sets.

    chrF alone rewards length: it prefers length penalties with some overlong hypotheses, which BLEU penalizes.
    """
    pairs = [(list(ours), [list(theirs)]) for ours, theirs in zip(translations, references, strict=True)]
    return statistics.fmean(metric.corpus_score(*pair).score for pair in pairs for metric in (BLEU(force=True), CHRF()))


def read_lines(path: Path, expected: int | None = None) -> list[str]:
    """Return the lines of a file; raise RunError if their number is not `expected`."""
    text = path.read_bytes().decode("utf-8").removesuffix("\n")
    lines = text.split("\n") if text else []
    if expected is not None and len(lines) != expected:
        raise RunError(f"{path} has {len(lines):,} lines for {expected:,} sentences; delete it and run this again")
    return lines


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    cells = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
