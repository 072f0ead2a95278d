"""Comparing systems on a test set: the same sentences, the same references, the same draws."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from translator.config import MetricName
from translator.errors import InputError
from translator.evaluation.comparison.by_sentence import compare_sentences, sentence_scores
from translator.evaluation.comparison.results import METHODS, PairedTest, SystemComparison
from translator.evaluation.comparison.significance import paired_test
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.sentence_counts import SentenceCounts, count_sentences
from translator.evaluation.text_variants import RAW_TEXT, TextVariant
from translator.progress import progress_bar
from translator.text_table import excerpt

if TYPE_CHECKING:
    from tqdm import tqdm

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++", "ter")
"""Compared unless asked otherwise."""
SAMPLES: Final = 1000
"""Bootstrap samples, as many as sacreBLEU takes."""
TRIALS: Final = 10_000
"""Trials of the randomisation, as many as sacreBLEU takes."""
EXAMPLES: Final = 10
"""Largest differences each way."""
_SHOWN: Final = 60
"""Characters of a text in a message."""


def compare_systems(
    sets: Sequence[ScoredSet],
    *,
    metrics: Sequence[MetricName] = METRICS,
    variants: Sequence[TextVariant] = (RAW_TEXT,),
    samples: int = SAMPLES,
    trials: int = TRIALS,
    examples: int = EXAMPLES,
    description: str | None = None,
) -> SystemComparison:
    """Return how each system but the first stands beside the first.

    Args:
        sets: one test set as two systems or more translated it; the first is the baseline.
        metrics: scores that sacreBLEU computes.
        variants: the spellings under which both sides are compared.
        samples: bootstrap samples; 0 leaves the test out.
        trials: trials of the approximate randomisation; 0 leaves it out.
        examples: how many of the largest differences to show each way.
        description: show a progress bar with this name.

    Raises:
        InputError: there are less than two systems, they were not given the same sentences and references, or there are
            too many draws for the memory.
    """
    if len(sets) < 2:
        raise InputError("a comparison needs two systems or more; name another run or file of translations")
    check_same_test_set(sets)
    labels = distinct_labels(sets)
    methods = [(method, draws) for method, draws in zip(METHODS, (samples, trials), strict=True) if draws]
    places = len(variants) * len(metrics)
    counts: dict[str, list[SentenceCounts]] = {}
    tests: list[PairedTest] = []
    total = len(sets) + places * len(methods)
    bar: tqdm[object] = progress_bar(
        description=description or "", total=total, unit=" steps", silent=description is None
    )
    with bar:
        for label, one in zip(labels, sets, strict=True):
            counts[label] = count_sentences(one.hypotheses, one.references, list(metrics), variants)
            bar.update()
        for place in range(places):
            of_systems = {label: found[place] for label, found in counts.items()}
            for method, draws in methods:
                tests.append(paired_test(of_systems, method, draws))
                bar.update()
    chrf = [sentence_scores(count_sentences(one.hypotheses, one.references, ["chrf"], [RAW_TEXT])[0]) for one in sets]
    return SystemComparison(
        test_set=sets[0].test_set,
        sentences=len(sets[0].sources),
        systems=labels,
        tests=tuple(tests),
        by_sentence=tuple(
            compare_sentences(labels[place], sets[0], sets[place], chrf[0], chrf[place], examples)
            for place in range(1, len(sets))
        ),
    )


def check_same_test_set(sets: Sequence[ScoredSet]) -> None:
    """Refuse systems that were not given the same sentences, or are not measured by the same references.

    Raises:
        InputError: the message says which two, and where they differ first.
    """
    first, first_label = sets[0], distinct_labels(sets)[0]
    for one, label in zip(sets[1:], distinct_labels(sets)[1:], strict=True):
        both = f"`{excerpt(first_label, _SHOWN)}` and `{excerpt(label, _SHOWN)}` cannot be compared on "
        both += f"`{excerpt(one.test_set, _SHOWN)}`: "
        advice = "; evaluate both on the same test set"
        if len(one.sources) != len(first.sources):
            raise InputError(f"{both}they have {len(first.sources):,} and {len(one.sources):,} sentences{advice}")
        for number in range(len(one.sources)):
            if one.sources[number] != first.sources[number]:
                texts = _two(first.sources[number], one.sources[number])
                raise InputError(f"{both}sentence {number + 1:,} has two sources, {texts}{advice}")
            if one.references[number] != first.references[number]:
                ours, theirs = first.references[number], one.references[number]
                if len(ours) != len(theirs):
                    raise InputError(f"{both}there are {len(ours)} and {len(theirs)} references a sentence{advice}")
                texts = next(_two(*pair) for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1])
                raise InputError(f"{both}sentence {number + 1:,} has other references, {texts}{advice}")


def distinct_labels(sets: Sequence[ScoredSet]) -> tuple[str, ...]:
    """Return the name of each set's system: the run's, with checkpoint, search and at last a number where needed.

    The sets that one system made of several test sets have one name. Two systems may agree in run, checkpoint and
    search, for two run folders may have one name: then the second set of a test set is the second system's.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    system_of_set = []
    for one in sets:
        called = (one.system, one.checkpoint, one.search)
        seen[one.test_set, *called] += 1
        system_of_set.append((*called, seen[one.test_set, *called]))
    systems = list(dict.fromkeys(system_of_set))
    labels = [run for run, *_ in systems]
    for detail in ([checkpoint for _, checkpoint, *_ in systems], [search for _, _, search, _ in systems]):
        twice = {label for label, count in Counter(labels).items() if count > 1}
        of_twice = {label: {more for one, more in zip(labels, detail, strict=True) if one == label} for label in twice}
        labels = [
            f"{label} {more}" if more and len(of_twice.get(label, ())) > 1 else label
            for label, more in zip(labels, detail, strict=True)
        ]
    names = dict(zip(systems, numbered(labels), strict=True))
    return tuple(names[system] for system in system_of_set)


def numbered(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels, with a number at the second of a name and at each further one."""
    found: list[str] = []
    for label in labels:
        name, number = label, 2
        while name in found:
            name = f"{label} ({number})"
            number += 1
        found.append(name)
    return tuple(found)


def _two(text: str, other: str) -> str:
    """Return two texts for a message, each from a little before the place where they part."""
    same = next(
        (place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two),
        min(len(text), len(other)),
    )
    start = max(0, same - _SHOWN // 2)
    return " and ".join(f"«{'…' if start else ''}{excerpt(one[start:], _SHOWN)}»" for one in (text, other))
