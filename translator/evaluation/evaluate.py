"""Translates test sets with one system or several, scores and diagnoses the translations, and writes it all down."""

import logging
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from translator.evaluation.comparison import SystemComparison, compare_systems, distinct_labels
from translator.evaluation.material import Material, named_material, own_material
from translator.evaluation.outcome import Evaluation, add_slices, write_outputs
from translator.evaluation.report import evaluation_page, read_learning_curve
from translator.evaluation.score_file import add_scores, read_scores
from translator.evaluation.scored_set import ScoredSet
from translator.evaluation.scoring import Scoring, SetResult, evaluate_set
from translator.evaluation.summary import TranslatedPair, format_summary
from translator.evaluation.system import Loader, System, claim_folder, label_of, load_system
from translator.inference import Translator
from translator.run_folder import RunFolder
from translator.storage import check_writable, write_text

LOGGER = logging.getLogger("translator")

SAMPLES: Final = 10
"""Translations of each test set shown in the summary."""
REPORT: Final = "report.html"


def evaluate_run(run: RunFolder, *, checkpoint: str = "best", overrides: Sequence[str] = ()) -> Evaluation:
    """Translate and score the test split of each source of a run, and its further test sets.

    Args and errors are those of `evaluate_systems`.
    """
    return evaluate_systems([System((run,), checkpoint)], overrides=overrides)


def evaluate_systems(
    systems: Sequence[System],
    *,
    test_sets: Sequence[str] = (),
    split: str = "test",
    overrides: Sequence[str] = (),
    load: Loader = load_system,
    report: bool = True,
    output: Path | None = None,
) -> Evaluation:
    """Translate test sets with each system and score the translations.

    Each system searches as the section `search` of its own run says, and all are scored by the settings of the first.

    Each system's evaluation folder gets `TEST_SET.CHECKPOINT.SEARCH.hypotheses.txt`, `.sentences.jsonl` and
    `.diagnosis.json`, with `TEST_SET.source.txt` and `TEST_SET.reference.txt` beside; `scores.json`, `slices.json` and
    `summary.md` are brought up to date. What is finished is written at once, so that an interruption loses only the
    test set at hand.

    Args:
        systems: at least one.
        test_sets: on the command line's form (see `held_out_argument`); without any, those of the first run.
        split: of these, `test` or `validation`.
        overrides: `key.path=value` for search and scoring, of every system.
        load: how a system becomes a translator.
        report: whether to write report.html.
        output: where to; by default the first system's folder.

    Raises:
        RunError: a run, its checkpoint or its scores are damaged or missing, or runs make no ensemble.
        ConfigError: an override is wrong.
        InputError: a test set is not there.
        CorpusError: a test set cannot be read, is empty or of other languages.
        StorageError: an evaluation folder or the report cannot be written, or prepared data are damaged.
    """
    run = systems[0].runs[0]
    config = run.config(overrides)
    for system in systems:
        read_scores(system.folder)  # a damaged file is better known now than after an hour of translating
    material = named_material(test_sets, config) if test_sets else own_material(run, config, split)
    if not material.sets:
        LOGGER.warning("nothing to evaluate: corpus.split.%s is 0 and evaluation.test_sets is empty", split)
        return Evaluation([], [])
    for system in systems:
        claim_folder(system.folder)
    page = (output or systems[0].folder) / REPORT if report else None
    if page is not None:
        claim_folder(page.parent)
        check_writable(page)
    scoring = Scoring.of(config, overrides)
    own = not test_sets and split == "test"
    found: dict[tuple[Path, str, str], list[SetResult]] = {}
    for system in systems:
        translator = load(system, overrides)
        key = system.folder, translator.checkpoint_name, label_of(translator)
        if key in found:  # `best` and `last` may be one checkpoint
            continue
        _warn_of_changed_data(system, material, translator)
        found[key] = _evaluate_system(system, translator, material, scoring, own=own)
        _write_summary(system.folder, found, scoring, config.run.seed)
        del translator  # not two models in memory at a time
    _warn_of_unlike_searches([search for _, _, search in found])
    by_system = list(found.values())
    results = [result for of_system in by_system for result in of_system]
    evaluation = Evaluation(
        scores=[score for result in results for score in result.scored.scores],
        samples=[pair for result in by_system[0] for pair in _samples(result.scored, config.run.seed)],
        sets=[result.scored for result in results],
        diagnoses=[result.diagnosis for result in results],
        slices=[result.slices for result in results],
        comparisons=_compare(by_system),
        missing=scoring.missing,
        folders=list(dict.fromkeys(folder for folder, _, _ in found)),
        report=page,
    )
    if evaluation.report is not None:
        _write_report(evaluation, systems)
    return evaluation


def _warn_of_changed_data(system: System, material: Material, translator: Translator) -> None:
    """Say so if what is held out now is not what was held out in training."""
    if material.run not in system.runs or translator.checkpoint is None or material.run is None:
        return
    if system.runs[0] == material.run and material.data != translator.checkpoint.data:
        LOGGER.warning(
            "the data of %s have changed since it was trained: the test split may hold sentences that the model knows, "
            "and its scores mean little. Restore the corpus files, or train again",
            material.run.path,
        )


def _warn_of_unlike_searches(searches: Sequence[str]) -> None:
    """Say so if the runs have picked their translations in unlike ways, so that not only the models are compared."""
    if len(set(searches)) > 1:
        LOGGER.warning(
            "the runs searched as each of their recipes says (%s), so that the scores differ by more than the models; "
            "name one search for all: --search beam --beam 5, and --set search.KEY=VALUE for the rest",
            ", ".join(dict.fromkeys(searches)),
        )


def _evaluate_system(
    system: System, translator: Translator, material: Material, scoring: Scoring, *, own: bool
) -> list[SetResult]:
    """Return what became of each test set; each is written down as soon as it is done."""
    texts = {run: material.training_text(run, run.config()) for run in system.runs}
    results: list[SetResult] = []
    for held_out in material.sets:
        result = evaluate_set(held_out, translator, scoring, texts[system.runs[0]])
        results.append(result)
        write_outputs(system.folder, held_out, result.scored, result.diagnosis)
        add_slices(system.folder, [part for done in results for part in done.slices])
        add_scores(system.folder, [score for done in results for score in done.scored.scores], first=own)
    return results


def _write_summary(
    folder: Path, found: Mapping[tuple[Path, str, str], Sequence[SetResult]], scoring: Scoring, seed: int
) -> None:
    """Write summary.md for all that was evaluated now in one folder; the table has all scores that it keeps."""
    here = {key: results for key, results in found.items() if key[0] == folder}
    systems = [results[0].scored for results in here.values()]
    what = "; ".join(f"checkpoint {one.checkpoint}, {one.search}" for one in systems)
    several = len(systems) > 1
    samples = {}
    for results in here.values():
        for result in results:
            one = result.scored
            heading = f"{one.test_set} ({one.checkpoint}, {one.search})" if several else one.test_set
            samples[heading] = _samples(one, seed)
    text = format_summary(
        f"Evaluation of {systems[0].system}, {what}",
        read_scores(folder),
        samples,
        slices=[part for results in here.values() for result in results for part in result.slices],
        missing=scoring.missing,
    )
    write_text(folder / "summary.md", text)


def _samples(scored: ScoredSet, seed: int) -> list[TranslatedPair]:
    """Return pairs chosen at random, the same whatever has translated them."""
    numbers = random.Random(seed).sample(range(len(scored.sources)), min(SAMPLES, len(scored.sources)))
    return [
        TranslatedPair(scored.sources[number], scored.references[number][0], scored.hypotheses[number])
        for number in numbers
    ]


def _compare(by_system: Sequence[Sequence[SetResult]]) -> list[SystemComparison]:
    """Return for each test set how the systems stand beside the first; nothing for a single one."""
    if len(by_system) < 2:
        return []
    return [compare_systems([result.scored for result in results]) for results in zip(*by_system, strict=True)]


def _write_report(evaluation: Evaluation, systems: Sequence[System]) -> None:
    """Write the page on all systems."""
    assert evaluation.report is not None
    runs = dict.fromkeys(run for system in systems for run in system.runs)
    names = dict.fromkeys(distinct_labels(evaluation.sets))
    page = evaluation_page(
        f"Evaluation of {', '.join(names)}",
        evaluation.sets,
        evaluation.diagnoses,
        evaluation.comparisons,
        [read_learning_curve(run) for run in runs],
        slices=evaluation.slices,
        missing=evaluation.missing,
    )
    write_text(evaluation.report, page)
