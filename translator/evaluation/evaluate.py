"""Evaluation of runs: translate the test sets, score and diagnose the translations, and save the results."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from translator.config import Config, MetricName
from translator.corpus.held_out import HeldOutSet
from translator.errors import InputError
from translator.evaluation.comet import comet_lacks, comet_score
from translator.evaluation.compare import METRICS, SystemComparison, compare_systems
from translator.evaluation.diagnosis import Diagnosis, diagnose
from translator.evaluation.evaluation_page import evaluation_page
from translator.evaluation.metrics import Score, compute_scores, spbleu_lacks
from translator.evaluation.results import (
    ModelScore,
    ScoredSet,
    add_scores,
    claim_name,
    distinct_labels,
    read_scores,
    write_scored_set,
)
from translator.evaluation.robustness import measure_robustness
from translator.evaluation.search_labels import search_label
from translator.evaluation.systems import System
from translator.evaluation.terminal_report import TranslatedPair
from translator.evaluation.test_sets import (
    chosen_test_sets,
    look_into_training,
    sides_of,
    sides_of_test_split,
    with_distinct_names,
)
from translator.evaluation.unfinished import hold_results, translate_resumably
from translator.inference.translator import Translator
from translator.run.files import storage_errors, write_json, write_text
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER
from translator.run.output_paths import resolve_output, write_output

_SAMPLES: Final = 10  # samples of each test set
WHOLE_LINES: Final = "search.split_sentences=false"
"""The override with which test lines stay whole, as published scores have them; a later override can replace it."""

Loader = Callable[[System, Sequence[str]], Translator]
"""Loads a system with `key.path=value` overrides."""


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation; everything is also in the evaluation folders of the systems."""

    scores: list[Score] = field(default_factory=list)  # the first is BLEU 13a on raw text of the first test set
    samples: list[TranslatedPair] = field(default_factory=list)  # of all test sets, translated by the first system
    sets: list[ScoredSet] = field(default_factory=list)  # each test set, one system after the other
    diagnoses: list[Diagnosis] = field(default_factory=list)  # in the order of `sets`
    comparisons: list[SystemComparison] = field(default_factory=list)  # by test set, if there are several systems
    missing: list[str] = field(default_factory=list)  # metrics that could not be computed, with the reason
    folders: list[Path] = field(default_factory=list)  # folders of the files, without duplicates
    report: Path | None = None


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What to evaluate, decided and checked before any model is loaded."""

    config: Config  # of the first run, whose scoring settings apply to all systems
    systems: Sequence[System]
    test_sets: Sequence[HeldOutSet]
    are_named: bool  # whether the user named the test sets
    metrics: Sequence[MetricName]  # that can be computed
    missing: Sequence[str]  # metrics that cannot, with the reason
    overrides: Sequence[str]  # `key.path=value`, of every system
    report: Path | None


@dataclass(frozen=True, kw_only=True)
class _SystemResults:
    """A system at the checkpoint and with the search that it was evaluated with, and its results."""

    folder: Path
    checkpoint: str
    search: str
    sets: Sequence[ScoredSet]  # of each test set
    diagnoses: Sequence[Diagnosis]  # in the order of `sets`


def evaluate_run(run: RunFolder, *, checkpoint: str = "best", overrides: Sequence[str] = ()) -> Evaluation:
    """Translate and score the held-out test sets of a run, as `evaluate_systems` does."""
    return evaluate_systems([System((run,), checkpoint)], overrides=overrides)


def evaluate_systems(
    systems: Sequence[System],
    *,
    test_sets: Sequence[str] = (),
    split: str = "test",
    overrides: Sequence[str] = (),
    load: Loader | None = None,
    report: bool = True,
    output: Path | None = None,
) -> Evaluation:
    """Translate test sets with each system and score the translations.

    Each system searches with the section `search` of its own run, and all are scored by the settings of the first.
    A line is translated whole, unless `overrides` has `search.split_sentences=true`.
    An interrupted evaluation resumes, since translations are saved at once. Each system's evaluation folder
    gets `TEST_SET.CHECKPOINT.SEARCH.hypotheses.txt`, `.sentences.jsonl`, `.diagnosis.json` and, with
    `evaluation.robustness`, `.robustness.json`, beside `TEST_SET.source.txt`, `TEST_SET.reference.txt` and scores.json.
    A test set whose name another text has there gets a name of its own, see `with_distinct_names`.

    Args:
        systems: at least one.
        test_sets: as on the command line (see `held_out_argument`); by default the held-out text of the first run.
        split: which part of that text, `test` or `validation`.
        overrides: `key.path=value` for search and scoring, of every system.
        load: makes the translator of a system.
        report: whether to write report.html.
        output: folder of the report; by default the first system's.

    Raises:
        RunError: a run, its checkpoint, held-out text or scores are damaged or missing, an ensemble is impossible, or
            another process evaluates the same.
        CorpusError: a test set cannot be read, is empty or in other languages.
        InputError: a test set is missing, or COMET fails.
    """
    page = (output or systems[0].folder) / "report.html" if report else None
    plan = _plan(systems, test_sets, split, [WHOLE_LINES, *overrides], page)
    if not plan.test_sets:
        LOGGER.warning("nothing to evaluate: corpus.split.%s is 0 and evaluation.test_sets is empty", split)
        return Evaluation()
    _check_outputs(plan)

    # Translate and score; every result is on the disk before the next begins.
    results: list[_SystemResults] = []
    for system_results in _evaluate_each(plan, load or _load):
        results.append(system_results)
    search_settings = list(dict.fromkeys(result.search for result in results))
    if len(search_settings) > 1:
        shown = ", ".join(search_settings)
        advice = "--search, --beam, --precision and --set hold for all runs"
        LOGGER.warning("the runs have different search settings (%s); %s", shown, advice)

    evaluation = _summary(plan, results)
    if page is not None:
        _write_page(page, evaluation)
    return evaluation


# --- before the work ---


def _plan(
    systems: Sequence[System], named: Sequence[str], split: str, overrides: Sequence[str], report: Path | None
) -> _Plan:
    """Return what to evaluate; report the mistakes of the user that can be found without a model."""
    first_run = systems[0].runs[0]
    config = first_run.config(overrides)
    _refuse_other_directions(systems, config)
    for system in systems:
        read_scores(system.folder)  # report a damaged file before the translation
    test_sets = chosen_test_sets(first_run, config, named, "validation" if split == "validation" else "test")

    # Metrics that need something that is not there are named, and the others computed.
    lacks = {"spbleu": spbleu_lacks(), "comet": comet_lacks(config.evaluation.comet_model, first_run)}
    metrics: list[MetricName] = []
    missing: list[str] = []
    for metric in config.evaluation.metrics:
        lack = lacks.get(metric)
        if lack is None:
            metrics.append(metric)
        else:
            missing.append(lack)
    return _Plan(
        config=config,
        systems=systems,
        test_sets=with_distinct_names(test_sets, systems),
        are_named=bool(named),
        metrics=metrics,
        missing=missing,
        overrides=overrides,
        report=report,
    )


def _refuse_other_directions(systems: Sequence[System], config: Config) -> None:
    """Raise InputError if a run translates in another direction than `config`, that of the first run."""
    direction = config.corpus.direction
    for system in systems:
        for run in system.runs:
            run_direction = run.config().corpus.direction
            if run_direction != direction:
                raise InputError(
                    f"{systems[0].runs[0].path} translates {direction}, and {run.path} {run_direction}; "
                    "evaluate them one after the other"
                )


def _check_outputs(plan: _Plan) -> None:
    """Make the folders of the results; raise StorageError if one, or the report, cannot be written."""
    folders = [system.folder for system in plan.systems]
    if plan.report is not None:
        folders.append(plan.report.parent)
    for folder in folders:
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
    if plan.report is not None:
        resolve_output(plan.report)


# --- translating and scoring ---


def _load(system: System, overrides: Sequence[str]) -> Translator:
    return Translator.load([run.path for run in system.runs], checkpoint=system.checkpoint, overrides=overrides)


def _evaluate_each(plan: _Plan, load: Loader) -> Iterator[_SystemResults]:
    """Translate and score the test sets with each system; yield its results, which are saved."""
    first_run = plan.systems[0].runs[0]
    rare_shares: dict[RunFolder, Mapping[str, tuple[float, ...]]] = {}
    evaluated: set[tuple[Path, str, str]] = set()
    for system in plan.systems:
        translator = load(system, plan.overrides)
        search = search_label(translator.search, translator.engine)
        key = (system.folder, translator.checkpoint_name, search)
        if key in evaluated:  # `best` and `last` may be one checkpoint
            continue
        evaluated.add(key)

        # The first run's own text is not in its training text.
        for run in system.runs:
            if run not in rare_shares:
                leaks = plan.are_named or run != first_run
                rare_below = plan.config.evaluation.rare_below
                rare_shares[run] = look_into_training(run, plan.test_sets, rare_below, leaks=leaks)
        yield _evaluate_system(plan, system, translator, search, rare_shares[system.runs[0]])


def _evaluate_system(
    plan: _Plan,
    system: System,
    translator: Translator,
    search: str,
    rare_shares: Mapping[str, tuple[float, ...]],
) -> _SystemResults:
    """Translate and score the test sets with one system, and save the results of each.

    Args:
        search: label of its search settings.
        rare_shares: the share of rare words in each source, by test set; empty if unknown.

    Raises RunError: another process evaluates the same.
    """
    folder, checkpoint = system.folder, translator.checkpoint_name
    test_split = sides_of_test_split(system.runs[0])
    is_own_text: dict[str, bool] = {}
    for test_set in plan.test_sets:
        is_own_text[test_set.name] = test_split.get(test_set.name) == sides_of(test_set)
    scored_sets: list[ScoredSet] = []
    diagnoses: list[Diagnosis] = []
    with ExitStack() as held:
        # Hold all results before the first translation, so that a second process stops at once.
        for test_set in plan.test_sets:
            held.enter_context(hold_results(folder, f"{test_set.name}.{checkpoint}.{search}"))
            claim_name(folder, test_set.name, sides_of(test_set), replaces=is_own_text[test_set.name])
        for test_set in plan.test_sets:
            rare = rare_shares.get(test_set.name, ())
            scored = _translate_and_score(plan, test_set, translator, search, rare, folder)
            diagnosis = diagnose(scored)
            scored_sets.append(scored)
            diagnoses.append(diagnosis)

            # Save the scores of all sets so far, in their order; those of a run's own test text come first.
            _write_files(folder, scored, diagnosis)
            scores = [score for scored_set in scored_sets for score in scored_set.all_scores]
            add_scores(folder, scores, first=is_own_text[test_set.name])
            _remove_partial_files(folder, scored)
    return _SystemResults(folder=folder, checkpoint=checkpoint, search=search, sets=scored_sets, diagnoses=diagnoses)


def _translate_and_score(
    plan: _Plan,
    test_set: HeldOutSet,
    translator: Translator,
    search: str,
    rare_shares: tuple[float, ...],
    folder: Path,
) -> ScoredSet:
    """Translate and score a test set; see `_evaluate_system`."""
    config, checkpoint = plan.config, translator.checkpoint_name

    def translate(sources: Sequence[str], name: str) -> list[ModelScore]:
        return translate_resumably(sources, translator, name, _partial_file(folder, name, checkpoint, search))

    # 1. Translate; score the references with the model as well.
    translations = translate(test_set.sources, test_set.name)
    LOGGER.info("scoring the references of %s with the model", test_set.name)
    hypotheses = [translation.text or "" for translation in translations]
    first_references = [references[0] for references in test_set.references]
    scored_references = translator.score(test_set.sources, first_references)
    reference_scores: list[ModelScore] = []
    for scored_reference, reference in zip(scored_references, first_references, strict=True):
        reference_scores.append(ModelScore.of(scored_reference, reference))

    # 2. Score the translations.
    scores = compute_scores(
        hypotheses,
        test_set.references,
        metrics=[metric for metric in plan.metrics if metric != "comet"],
        normalization=config.corpus.normalization,
        languages=config.corpus.languages,
        rules=translator.normalizer.rules,
        bootstrap_samples=config.evaluation.bootstrap_samples,
        test_set=test_set.name,
        description=f"scoring {test_set.name}",
    )
    if "comet" in plan.metrics:
        scores.append(comet_score(config, test_set.sources, hypotheses, test_set.references))
    labelled_scores: list[Score] = []
    for score in scores:
        labelled_score = replace(
            score, test_set=test_set.name, search=search, checkpoint=checkpoint, left_out=test_set.left_out
        )
        labelled_scores.append(labelled_score)
    scored = ScoredSet(
        test_set=test_set.name,
        system=translator.label,
        checkpoint=checkpoint,
        search=search,
        sources=test_set.sources,
        references=test_set.references,
        hypotheses=tuple(hypotheses),
        origins=test_set.origins,
        left_out=test_set.left_out,
        scores=tuple(labelled_scores),
        hypothesis_scores=tuple(translation.model_copy(update={"text": None}) for translation in translations),
        reference_scores=tuple(reference_scores),
        rare_shares=rare_shares,
    )
    if not config.evaluation.robustness:
        return scored

    # 3. Translate and score noisy input.
    def translate_noisy(sources: Sequence[str], way: str) -> list[str]:
        return [translation.text or "" for translation in translate(sources, f"{test_set.name}.{way}")]

    typed = measure_robustness(scored, translator, translate_noisy, config.evaluation.bootstrap_samples)
    return replace(scored, typed=tuple(typed))


def _partial_file(folder: Path, name: str, checkpoint: str, search: str) -> Path:
    return folder / f"{name}.{checkpoint}.{search}.partial.jsonl"


def _write_files(folder: Path, scored: ScoredSet, diagnosis: Diagnosis) -> None:
    """Write the files of a test set, translated by one system."""
    write_text(folder / f"{scored.name}.hypotheses.txt", "".join(f"{text}\n" for text in scored.hypotheses))
    write_scored_set(folder, scored)
    write_json(folder / f"{scored.name}.diagnosis.json", diagnosis.to_json())
    if scored.typed:
        write_json(folder / f"{scored.name}.robustness.json", [noisy.to_json() for noisy in scored.typed])


def _remove_partial_files(folder: Path, scored: ScoredSet) -> None:
    """Remove the translations that were saved for resuming, of the test set and of its noisy input."""
    names = [scored.test_set, *[f"{scored.test_set}.{noisy.way}" for noisy in scored.typed]]
    with storage_errors(folder):
        for name in names:
            _partial_file(folder, name, scored.checkpoint, scored.search).unlink(missing_ok=True)


# --- summing up ---


def _summary(plan: _Plan, results: Sequence[_SystemResults]) -> Evaluation:
    """Return the results of all systems, with comparisons if there are several."""
    sets: list[ScoredSet] = []
    diagnoses: list[Diagnosis] = []
    scores: list[Score] = []
    for system_results in results:
        sets += system_results.sets
        diagnoses += system_results.diagnoses
        for scored in system_results.sets:
            scores += scored.scores

    # The first system shows what translations look like.
    samples: list[TranslatedPair] = []
    for scored in results[0].sets:
        samples += _samples(scored, plan.config.run.seed)

    # The other systems are compared with the first, on each test set.
    comparisons: list[SystemComparison] = []
    if len(results) > 1:
        metrics = [metric for metric in METRICS if metric in plan.metrics] or METRICS
        for by_system in zip(*[system_results.sets for system_results in results], strict=True):
            description = f"comparing on {by_system[0].test_set}"
            comparisons.append(compare_systems(by_system, metrics=metrics, description=description))
    return Evaluation(
        scores=scores,
        samples=samples,
        sets=sets,
        diagnoses=diagnoses,
        comparisons=comparisons,
        missing=list(plan.missing),
        folders=list(dict.fromkeys(system_results.folder for system_results in results)),
        report=plan.report,
    )


def _samples(scored: ScoredSet, seed: int) -> list[TranslatedPair]:
    """Return random sentences of a test set; all systems get the same ones."""
    sentence_count = len(scored.sources)
    samples: list[TranslatedPair] = []
    for number in random.Random(seed).sample(range(sentence_count), min(_SAMPLES, sentence_count)):
        pair = TranslatedPair(
            source=scored.sources[number],
            reference=scored.references[number][0],
            hypothesis=scored.hypotheses[number],
        )
        samples.append(pair)
    return samples


def _write_page(page: Path, evaluation: Evaluation) -> None:
    labels = dict.fromkeys(distinct_labels(evaluation.sets))
    title = f"Evaluation of {', '.join(labels)}"
    html = evaluation_page(title, evaluation.sets, evaluation.diagnoses, evaluation.comparisons, evaluation.missing)
    write_output(page, html)
