"""Comparison of systems on one test set: paired significance tests by sacreBLEU, and wins and losses by sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from translator.checkpoint.state import find_checkpoint
from translator.config import MetricName, NormalizationConfig
from translator.config.corpus_section import ENGLISH, PERSIAN, Languages
from translator.corpus.compression import read_blocks
from translator.corpus.held_out import HeldOutSet, held_out_set
from translator.corpus.lines import LONGEST_LINE, Unreadable, read_lines
from translator.corpus.normalizer import Normalizer
from translator.errors import CheckpointError, InputError, RunError
from translator.evaluation.diagnosis import Diagnosis, diagnose
from translator.evaluation.metrics import RAW_TEXT, TextVariant, bootstrap, reference_sides, scorer, sentence_chrf
from translator.evaluation.results import ENDING, ScoredSet, distinct_labels, read_scored_set, saved_scores
from translator.run.folder import RunFolder
from translator.run.logging import progress_bar
from translator.run.text import excerpt, is_persian

METRICS: Final[tuple[MetricName, ...]] = ("bleu", "chrf", "chrf++", "ter")
Method = Literal["bootstrap", "randomisation"]
METHODS: Final[Mapping[Method, str]] = {
    "bootstrap": "paired bootstrap",  # Koehn 2004
    "randomisation": "paired approximate randomisation",  # Riezler and Maxwell 2005
}
_QUOTED: Final = 60  # characters of the longest quotation in a message


@dataclass(frozen=True)
class SystemResult:
    """The score of a system, and its difference from the baseline.

    `p_value` is the probability that chance gives a difference at least as large; None for the baseline. A bootstrap
    also gives the `mean` score of its resamples, and half the width of their 95% interval.
    """

    system: str
    score: float
    difference: float
    p_value: float | None
    mean: float | None
    half_interval: float | None


@dataclass(frozen=True)
class PairedTest:
    """One metric under one paired test; every system is tested against the first."""

    metric: MetricName
    normalization: str  # `raw`, or the normalization of both sides
    method: Method
    signature: str  # sacreBLEU's, with samples and seed
    systems: tuple[SystemResult, ...]


@dataclass(frozen=True)
class Difference:
    """A sentence, counted from 1, on which two systems score differently."""

    sentence: int
    source: str
    references: tuple[str, ...]
    baseline: str
    system: str
    baseline_chrf: float
    system_chrf: float


@dataclass(frozen=True)
class SentenceComparison:
    """One system against the baseline by chrF on raw text: counts of sentences, and the largest differences."""

    system: str
    wins: int
    losses: int
    ties: int
    better: tuple[Difference, ...]
    worse: tuple[Difference, ...]


@dataclass(frozen=True, kw_only=True)
class SystemComparison:
    """Systems against a baseline, the first, on one test set."""

    test_set: str
    sentences: int
    left_out: tuple[int, ...]  # lines of the test set of the baseline, from 1, that no system is scored on
    systems: tuple[str, ...]  # their labels, all different
    tests: tuple[PairedTest, ...]  # by normalization, then by metric, then by method
    by_sentence: tuple[SentenceComparison, ...]
    diagnoses: tuple[Diagnosis, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as values that JSON can hold."""
        return asdict(replace(self, diagnoses=())) | {"diagnoses": [one.to_json() for one in self.diagnoses]}


def compare_systems(
    sets: Sequence[ScoredSet],
    *,
    metrics: Sequence[MetricName] = METRICS,
    variants: Sequence[TextVariant] = (RAW_TEXT,),
    samples: int = 1000,
    trials: int = 10_000,
    examples: int = 10,
    description: str | None = None,
) -> SystemComparison:
    """Return how each system differs from the first.

    Args:
        sets: one test set, translated by two or more systems; the first is the baseline.
        variants: the normalizations applied to both sides before the comparison.
        samples, trials: of bootstrap and approximate randomisation; 0 skips the test.
        examples: number of largest differences in each direction.
        description: of the progress bar; None: no bar.

    Raises InputError: there are fewer than two systems, or their sentences or references differ.
    """
    if len(sets) < 2:
        raise InputError("a comparison needs at least two systems; give another run or file of translations")
    check_same_test_set(sets)
    labels = distinct_labels(sets)
    methods = [(method, draws) for method, draws in zip(METHODS, (samples, trials), strict=True) if draws]
    planned = [(metric, variant, *method) for variant in variants for metric in metrics for method in methods]
    bar = progress_bar(planned, description=description or "", unit=" tests", silent=description is None)
    tests = [_paired_test(sets, labels, *one) for one in bar]
    return SystemComparison(
        test_set=sets[0].test_set,
        sentences=len(sets[0].sources),
        left_out=sets[0].left_out,
        systems=labels,
        tests=tuple(tests),
        by_sentence=tuple(_by_sentence(sets[0], *one, examples) for one in zip(sets[1:], labels[1:], strict=True)),
        diagnoses=tuple(map(diagnose, sets)),
    )


def _by_sentence(baseline: ScoredSet, other: ScoredSet, label: str, examples: int) -> SentenceComparison:
    first, second = (np.array(sentence_chrf(one.hypotheses, one.references)) for one in (baseline, other))
    gains = second - first

    def differences(rows: Iterable[int]) -> tuple[Difference, ...]:
        return tuple(
            Difference(row + 1, other.sources[row], other.references[row], baseline.hypotheses[row],
                       other.hypotheses[row], float(first[row]), float(second[row])) for row in rows
        )  # fmt: skip

    wins, losses = int((gains > 0).sum()), int((gains < 0).sum())
    better, worse = np.argsort(-gains, kind="stable")[:wins], np.argsort(gains, kind="stable")[:losses]
    largest = (differences(rows[:examples].tolist()) for rows in (better, worse))
    return SentenceComparison(label, wins, losses, len(gains) - wins - losses, *largest)


def _paired_test(
    sets: Sequence[ScoredSet],
    labels: Sequence[str],
    metric: MetricName,
    variant: TextVariant,
    method: Method,
    draws: int,
) -> PairedTest:
    """Return the test of each system against the first; unlike in sacreBLEU, a difference of 0 has the p-value 1."""
    sides = reference_sides(sets[0].references, variant.spell)
    named = [(label, [variant.spell(text) for text in one.hypotheses]) for label, one in zip(labels, sets, strict=True)]
    signature, found = bootstrap(named, scorer(metric), sides, "bs" if method == "bootstrap" else "ar", draws)
    results = []
    for label, one in zip(labels, found, strict=True):
        difference = float(one.score - found[0].score)
        p_value, mean, half = (None if value is None else float(value) for value in (one.p_value, one.mean, one.ci))
        p_value = 1.0 if p_value is not None and difference == 0 else p_value
        results.append(SystemResult(label, float(one.score), difference, p_value, mean, half))
    return PairedTest(metric, variant.label, method, signature, tuple(results))


# --- reading systems ---


def check_same_test_set(sets: Sequence[ScoredSet]) -> None:
    """Raise InputError with the first difference, if the sentences or references of two systems differ."""
    labels = distinct_labels(sets)
    for one, label in zip(sets[1:], labels[1:], strict=True):
        if problem := _difference(sets[0], one):
            both = f"`{excerpt(labels[0], _QUOTED)}` and `{excerpt(label, _QUOTED)}`"
            where = f"cannot be compared on `{excerpt(one.test_set, _QUOTED)}`"
            raise InputError(f"{both} {where}: {problem}; evaluate both on the same test set")


def _difference(first: ScoredSet, other: ScoredSet) -> str:
    if len(first.sources) != len(other.sources):
        return f"they have {len(first.sources):,} and {len(other.sources):,} sentences"
    for side in ("sources", "references"):
        for number, texts in enumerate(zip(getattr(first, side), getattr(other, side), strict=True), start=1):
            if texts[0] != texts[1]:
                quoted = [excerpt(text if side == "sources" else " / ".join(text), _QUOTED) for text in texts]
                return f"sentence {number:,} has different {side}, «{quoted[0]}» and «{quoted[1]}»"
    return ""


def read_systems(
    places: Sequence[str],
    *,
    source: str | None = None,
    references: Sequence[str] = (),
    test_sets: Sequence[str] = (),
    checkpoint: str | None = None,
    search: str | None = None,
) -> list[list[ScoredSet]]:
    """Return, for each test set that all systems translated, the results of the systems.

    Args:
        places: run folders, files of sentences (`*.sentences.jsonl`), or text files with a translation per line.
        source: source text of the text files; by default that of the other systems.
        references: reference texts of the text files.
        test_sets: names of the test sets to compare on; by default all.
        checkpoint, search: which evaluation of the run folders, see `newest_sets`.

    Raises:
        InputError: a place is missing, text files lack source or references, or the systems share no test set.
        RunError: a run was not evaluated, or a folder holds no run.
    """
    if bool(source) != bool(references):
        raise InputError("text files need both --source FILE and --reference FILE [FILE ...]")
    known: dict[str, Mapping[str, ScoredSet]] = {}
    for place in dict.fromkeys(places):
        path = Path(place)
        if path.is_dir():
            known[place] = newest_sets(path, checkpoint, search)
        elif not path.exists():
            raise InputError(f"{path} does not exist; give run folders, files of saved sentences or text files")
        elif path.name.endswith(ENDING):
            scored = read_scored_set(path)
            known[place] = {scored.test_set: scored}
    text = next((place for place in places if place not in known), None)
    if text is not None and source is None and not known:
        raise InputError(f"{text} is a text file: also give --source FILE and --reference FILE [FILE ...]")
    names = _shared_test_sets(known, test_sets) if known else [*test_sets[:1]] or [Path(source or "").stem]
    if text is not None and len(names) > 1:
        raise InputError(
            f"{text} is a text file, but the other systems have several test sets "
            f"({', '.join(names)}); select the one that it translates with --test-set"
        )
    systems_by_set = []
    for name in names:
        if source is not None:
            test_set = _text_test_set(name, source, references)
        else:
            first = next(iter(known.values()))[name]
            test_set = HeldOutSet(name, first.sources, first.references, first.origins, first.left_out)
        systems = []
        for place in places:
            if place in known:
                systems.append(known[place][name])
            else:
                systems.append(_text_system(Path(place), test_set, source or f"test set {name}"))
        systems_by_set.append(systems)
    return systems_by_set


def _text_test_set(name: str, source: str, references: Sequence[str]) -> HeldOutSet:
    """Return the test set in a text file of sources and one or more of references; leaves out lines like `evaluate`."""
    sources = _read_lines(Path(source))
    sides = [_read_lines(Path(file), [len(sources)], source) for file in references]
    normalizer = Normalizer(NormalizationConfig(), languages_of(chain.from_iterable(sides)))
    return held_out_set(name, zip(sources, zip(*sides, strict=True), strict=True), normalizer)


def _text_system(path: Path, test_set: HeldOutSet, origin: str) -> ScoredSet:
    """Return the translations in a text file: of every line of the test set, or of the scored ones only."""
    sentence_count = len(test_set.sources)
    line_count = sentence_count + len(test_set.left_out)
    hypotheses = _read_lines(path, [line_count, sentence_count], origin)
    if len(hypotheses) == line_count:
        left_out = set(test_set.left_out)
        hypotheses = [text for number, text in enumerate(hypotheses, start=1) if number not in left_out]
    return ScoredSet(
        test_set=test_set.name,
        system=path.name,
        checkpoint="",
        search="",
        sources=test_set.sources,
        references=test_set.references,
        hypotheses=tuple(hypotheses),
        origins=test_set.origins,
        left_out=test_set.left_out,
        scores=(),
        rare_shares=(),
    )


def languages_of(references: Iterable[str]) -> Languages:
    """Return source and target language, Persian being the target if a reference is Persian."""
    return (ENGLISH, PERSIAN) if any(map(is_persian, references)) else (PERSIAN, ENGLISH)


def newest_sets(folder: Path | str, checkpoint: str | None = None, search: str | None = None) -> dict[str, ScoredSet]:
    """Return the latest translations of a run by test set, for one checkpoint and search or for any."""
    run = RunFolder.open(folder)
    wanted = {checkpoint}
    if checkpoint is not None:
        try:
            wanted.add(find_checkpoint(run.checkpoints_folder, checkpoint).name)
        except CheckpointError:  # the scored checkpoint may be deleted
            wanted.add(f"step-{checkpoint:0>6}")
    saved: list[str] = []
    chosen: dict[str, Path] = {}
    for record in dict.fromkeys((one.test_set, one.checkpoint, one.search) for one in saved_scores(run)):
        file = run.evaluation_folder / f"{'.'.join(record)}{ENDING}"
        if file.is_file():
            saved.append(".".join(record))
            if (checkpoint is None or record[1] in wanted) and search in (None, record[2]):
                chosen.setdefault(record[0], file)
    if not chosen:
        asked = f" of {' '.join(filter(None, (checkpoint, search)))}" if checkpoint or search else ""
        there = f"; it has: {', '.join(saved[:10])}" if saved else ""
        command = f"translator evaluate --run {run.path}" + (f" --checkpoint {checkpoint}" if checkpoint else "")
        raise RunError(f"{run.path} has no translated sentences{asked}{there}; make them: {command}")
    name = run.path.resolve().name  # the run may have been renamed
    return {test_set: replace(read_scored_set(file), system=name) for test_set, file in chosen.items()}


def _shared_test_sets(systems: Mapping[str, Mapping[str, ScoredSet]], wanted: Sequence[str]) -> list[str]:
    shared = [name for name in next(iter(systems.values())) if all(name in sets for sets in systems.values())]
    chosen = [name for name in shared if not wanted or name in wanted]
    missing = [name for name in wanted if name not in shared]
    if missing or not chosen:
        lists = "; ".join(f"{place}: {', '.join(sets)}" for place, sets in systems.items())
        what = f"test set {', '.join(missing)} was not" if missing else "no test set was"
        raise InputError(f"{what} translated by all systems ({lists}); evaluate all on it")
    return chosen


def _read_lines(path: Path, expected: Sequence[int] = (), origin: str = "") -> list[str]:
    """Return the lines of a text file.

    Args:
        path: the file, for `translator.corpus.lines.read_lines`.
        expected: the numbers of lines that fit `origin`; empty: any number.
        origin: the text that the file has to fit, for the message.

    Raises InputError: the number of lines does not fit, or a line is too long.
    """
    parts = read_lines(read_blocks(path), str(path), drop_invalid=False)
    lines = list(chain.from_iterable(parts))
    for number, line in enumerate(lines, start=1):
        if line is Unreadable.LINE_TOO_LONG:
            raise InputError(f"{path}, line {number:,}: longer than {LONGEST_LINE >> 20} MiB; cut it into sentences")
    if not lines or (expected and len(lines) not in expected):
        theirs = f", {origin} {expected[0]:,}: line N must be the same sentence in both" if expected else ""
        raise InputError(f"{path} has {len(lines):,} lines{theirs}")
    return lines
