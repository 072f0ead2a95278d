"""The second pass over a source: its pairs are written to their splits, and what was done is put into a report."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from translator.corpus.candidates import Candidates
from translator.corpus.examples import ExampleCollector, places_to_show
from translator.corpus.report import RULES, SourceReport
from translator.corpus.selection import SELECTION_RULES, Fates, count_fates, fate_of
from translator.corpus.split import SPLITS, TRAIN
from translator.corpus.statistics import TextStatistics

_LINES_AT_ONCE: Final = 16_384


def write_splits(item: Candidates, fates: Fates, folder: Path) -> None:
    """Write `<split>/<name>.en` and `.fa`: normalized for training, raw for the others."""
    for code, split in enumerate(SPLITS):
        chosen = fates == code
        if chosen.any():
            (folder / split).mkdir(exist_ok=True)
            for side, path in zip(("en", "fa"), item.normalized if code == TRAIN else item.raw, strict=True):
                with (folder / split / f"{item.source.name}.{side}").open("wb") as output:
                    output.writelines(_chosen_lines(path, chosen))


def report_source(item: Candidates, fates: Fates) -> SourceReport:
    """Return the counts of one source, examples of what was dropped, and statistics of its training text."""
    dropped, kept = count_fates(fates)
    return SourceReport(
        name=item.source.name,
        use=item.source.use,
        read=item.read,
        dropped={rule: item.dropped[rule] + dropped.get(rule, 0) for rule in RULES},
        kept=kept,
        examples=_with_selected(item, fates).chosen(),
        statistics=_statistics(item, fates == TRAIN),
    )


def _with_selected(item: Candidates, fates: Fates) -> ExampleCollector:
    """Add to the examples of `item` those of the rules that are applied to all sources together."""
    examples = item.examples
    for rule in SELECTION_RULES:
        numbers = np.flatnonzero(fates == fate_of(rule))
        chosen = np.zeros(len(item), np.bool_)
        chosen[numbers[places_to_show(item.source.name, item.line_numbers[numbers])]] = True
        if chosen.any():
            texts = [_texts(_chosen_lines(path, chosen)) for path in item.raw]
            for line, source, target in zip(item.line_numbers[chosen].tolist(), *texts, strict=True):
                examples.add(rule, line, source, target)
    return examples


def _statistics(item: Candidates, chosen: NDArray[np.bool_]) -> TextStatistics:
    """Return the statistics of the chosen pairs, normalized."""
    statistics = TextStatistics.of((), ())
    sides = [_chosen_lines(path, chosen) for path in item.normalized]
    while True:
        sources, targets = (
            [line[:-1].decode("utf-8") for line in itertools.islice(side, _LINES_AT_ONCE)] for side in sides
        )
        if not sources:
            return statistics
        statistics += TextStatistics.of(sources, targets)


def _chosen_lines(path: Path, chosen: NDArray[np.bool_]) -> Iterator[bytes]:
    """Yield the lines of `path` that the mask `chosen` (N,) picks, with their ends."""
    with path.open("rb", buffering=1 << 20) as lines:
        yield from itertools.compress(lines, chosen.tolist())


def _texts(lines: Iterable[bytes]) -> list[str]:
    return [line[:-1].decode("utf-8") for line in lines]
