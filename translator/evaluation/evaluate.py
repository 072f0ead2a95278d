"""Evaluation of runs: translate the test sets, score the translations, and save the results."""

import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

from tqdm import tqdm

from translator.config import SearchConfig
from translator.config.sections import EvaluationConfig
from translator.corpus.held_out import HeldOutSet, HeldOutSplit
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.errors import InputError
from translator.evaluation.compare import METRICS, SystemComparison, compare_systems
from translator.evaluation.evaluation_page import evaluation_page
from translator.evaluation.external_metrics import external_score
from translator.evaluation.metrics import Score, compute_scores, spbleu_lacks
from translator.evaluation.results import ScoredSet, save_set, saved_scores, saved_sets
from translator.evaluation.robustness import compare_noise, noisy_texts
from translator.evaluation.search_labels import search_label
from translator.evaluation.systems import set_of_file
from translator.evaluation.tables import Table, evaluation_tables
from translator.evaluation.terminal_report import TranslatedPair
from translator.evaluation.test_sets import chosen_test_sets, own_texts, refuse_other_text, warn_of_leaks
from translator.evaluation.text_variants import RAW_TEXT, Spelling, text_variants
from translator.inference.translation import Translation
from translator.inference.translator import Translator
from translator.run.files import storage_errors
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar
from translator.run.output_paths import resolve_output, write_output
from translator.subword.glossary import Glossary

_SAMPLES: Final = 3  # sentences that the terminal shows
_BLOCK: Final = 256  # sentences translated at a time, at least
_LONGEST_NAME: Final = 100  # characters of the folder name of an ensemble
_WHOLE_LINES: Final = "search.split_sentences=false"
"""The override with which test lines stay whole, as published scores have them; a later override can replace it."""
_EXTERNAL_KEY: Final = "evaluation.external_metrics"
_NOISE_SCORING: Final = EvaluationConfig(metrics=("chrf",))


@dataclass(frozen=True)
class System:
    """A system to evaluate: a run at one of its checkpoints, or several runs as an ensemble."""

    runs: tuple[RunFolder, ...]
    checkpoint: str = "best"  # `best`, `last`, `averaged` or a step number
    results: Path | None = None  # folder of the results, instead of that of the runs

    @property
    def folder(self) -> Path:
        """Folder of the results; by default that of the first run, or for an ensemble a folder in it."""
        if self.results is not None:
            return self.results
        folder = self.runs[0].evaluation_folder
        if len(self.runs) == 1:
            return folder
        # Runs in different folders may have the same name, so each is named by its path from the first run's parent.
        paths = [run.path.resolve() for run in self.runs]
        relative_paths = [os.path.relpath(path, paths[0].parent) for path in paths]
        return folder / "+".join(relative_paths).replace(os.sep, "-")[:_LONGEST_NAME]

    def save(self, scored: ScoredSet) -> None:
        """Save a test set that this system has translated; the run's own texts come first."""
        save_set(self.folder, scored, list(own_texts(self.runs[0], "test")))


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation; everything is also in the evaluation folders of the systems."""

    comparisons: list[SystemComparison] = field(default_factory=list)  # of all systems, on each test set
    samples: list[TranslatedPair] = field(default_factory=list)  # of the first test set, by the first system
    tables: list[Table] = field(default_factory=list)  # of all test sets
    report: Path | None = None

    @property
    def sets(self) -> list[ScoredSet]:
        """Each test set, as one system after the other has translated it."""
        return list(chain.from_iterable(comparison.sets.values() for comparison in self.comparisons))

    @property
    def scores(self) -> list[Score]:
        """All scores; the first is BLEU 13a on raw text of the first test set."""
        return list(chain.from_iterable(scored.scores for scored in self.sets))


def evaluate_systems(
    systems: Sequence[System],
    *,
    test_sets: Sequence[str] = (),
    split: HeldOutSplit = "test",
    hypotheses: Mapping[str, Path] | None = None,
    overrides: Sequence[str] = (),
    engine: str = "auto",
    device: str = "auto",
    report: bool = True,
    own_recipe: bool = False,
    output: Path | None = None,
) -> Evaluation:
    """Translate test sets with each system and score the translations.

    Each system searches with the section `search` of its own run, and all are scored by the settings of the first.
    A line is translated whole, unless `overrides` has `search.split_sentences=true`. The results of a test set are
    saved when it is scored (see `results.py`).

    Args:
        systems: at least one.
        test_sets: as on the command line (see `held_out_argument`); by default the held-out text of the first run.
        split: which part of the held-out text, `test` or `validation`.
        hypotheses: files of translations of a single test set by other programs, by the name of the program.
        overrides: `key.path=value` for search and scoring, of every system.
        engine: `torch`, `ctranslate2` or `auto`, see `Translator.load`.
        device: `cpu`, `mps`, `cuda`, `cuda:N` or `auto`.
        report: whether to write report.html.
        own_recipe: whether the user wrote the recipe of the runs; only then may the commands in it run.
        output: folder of the report; by default the first system's.

    Raises:
        RunError: a run, its checkpoint, held-out text or scores are damaged or missing, or an ensemble is impossible.
        CorpusError: a test set cannot be read, is empty or in other languages.
        InputError: a test set is missing, two texts have one name, or an external metric fails.
    """
    # 1. Report the mistakes of the user that can be found without a model.
    first_run = systems[0].runs[0]
    config = first_run.config(overrides)
    texts = chosen_test_sets(first_run, config, test_sets, split)
    if not texts:
        LOGGER.warning("nothing to evaluate: corpus.split.%s is 0 and evaluation.test_sets is empty", split)
        return Evaluation()
    if hypotheses and len(texts) != 1:
        names = ", ".join(text.name for text in texts)
        raise InputError(f"--hypotheses are translations of one test set, and these are {names}; give --test-set")
    foreign_sets = [set_of_file(file, texts[0], name) for name, file in (hypotheses or {}).items()]
    for system in systems:
        _check_system(system, first_run, texts)
    page = (output or systems[0].folder) / "report.html" if report else None
    if page is not None:
        with storage_errors(page.parent):
            page.parent.mkdir(parents=True, exist_ok=True)
        resolve_output(page)  # raises StorageError if the page cannot be written
    scoring = _possible_scoring(config.evaluation, overrides, own_recipe=own_recipe)
    variants = text_variants(config.corpus.normalization, config.corpus.languages, rules_of_run(first_run))
    glossary = None if config.search.glossary is None else Glossary.read(Path(config.search.glossary))

    # 2. Translate and score; every result is on the disk before the next begins.
    sets_of_systems: dict[tuple[Path, str, str], list[ScoredSet]] = {}  # by folder, checkpoint and search
    noise_comparisons: list[SystemComparison] = []
    for system in systems:
        translator = _load(system, engine, device, overrides)
        key = (system.folder, translator.checkpoint_name, search_label(translator.search, translator.engine))
        if key in sets_of_systems:  # `best` and `last` may be one checkpoint
            continue
        # The first run's own held-out text cannot be in its training text; other text, or other runs, are checked.
        may_leak = bool(test_sets) or system.runs != (first_run,)
        if may_leak:
            for run in system.runs:
                warn_of_leaks(run, texts)
        sets_of_systems[key] = [_evaluated(text, system, translator, scoring, variants) for text in texts]
        if scoring.robustness:
            for scored in sets_of_systems[key]:
                noise_comparisons.append(_compared_with_noise(scored, system, translator))

    # 3. Score the translations of other programs; they are saved beside those of the first system.
    for foreign in foreign_sets:
        scored = _scored(foreign, scoring, variants)
        systems[0].save(scored)
        sets_of_systems[systems[0].folder, scored.checkpoint, scored.search] = [scored]

    if scoring.metrics != config.evaluation.metrics:  # `_possible_scoring` has removed spBLEU
        LOGGER.info("not computed: %s", spbleu_lacks())

    # 4. Compare the other systems with the first, on each test set; by all of METRICS if none of them is scored.
    metrics = [metric for metric in METRICS if metric in scoring.metrics] or METRICS
    sets_of_texts = zip(*sets_of_systems.values(), strict=True)  # for each test set, those of all systems
    comparisons = [compare_systems(sets, metrics=metrics) for sets in sets_of_texts]
    tables_of_sets = [evaluation_tables(comparison, noise_comparisons, glossary) for comparison in comparisons]

    # 5. Write the page. Samples, and earlier results on other texts, are shown of the first system only.
    first = comparisons[0].baseline
    if page is not None:
        earlier = _earlier_sets(systems[0].folder, first.system, {text.name for text in texts})
        runs = dict.fromkeys(chain.from_iterable(system.runs for system in systems))
        sections = list(zip(comparisons, tables_of_sets, strict=True))
        sections += [(comparison, evaluation_tables(comparison)) for comparison in earlier]
        write_output(page, evaluation_page(sections, list(runs)))
    return Evaluation(
        comparisons=comparisons,
        samples=_samples(first, config.run.seed),
        tables=list(chain.from_iterable(tables_of_sets)),
        report=page,
    )


def evaluated_search(run: RunFolder, overrides: Sequence[str] = ()) -> SearchConfig:
    """Return how a run searches test text: in whole lines, and in full precision, unless `overrides` say otherwise."""
    search = run.config([_WHOLE_LINES, *overrides]).search
    # Scores compare models and not processors.
    return search.model_copy(update={"precision": "float32"}) if search.precision == "auto" else search


# --- before the work ---


def _check_system(system: System, first_run: RunFolder, texts: Sequence[HeldOutSet]) -> None:
    """Raise an error if a system cannot be evaluated beside the first run and beside the earlier results in its folder.

    Raises:
        RunError: the earlier results, or the run's own texts, are damaged.
        InputError: a run translates another direction, or the folder has another text under the name of a test set.
    """
    direction = first_run.config().corpus.direction
    for run in system.runs:
        if run.config().corpus.direction != direction:
            raise InputError(
                f"{first_run.path} translates {direction}, and {run.path} does not; evaluate them one after the other"
            )
    saved_scores(system.folder)  # raises RunError if the file is damaged, before the long translation
    # Without a folder of its own, the system's results lie in the evaluation folder of its first run, where the names
    # of that run's own texts are taken.
    texts_of_run: Mapping[str, HeldOutSet] = {}
    if system.results is None:
        texts_of_run = own_texts(system.runs[0], "validation") | own_texts(system.runs[0], "test")
    for text in texts:
        refuse_other_text(text, texts_of_run, system.folder)


def _possible_scoring(scoring: EvaluationConfig, overrides: Sequence[str], *, own_recipe: bool) -> EvaluationConfig:
    """Return the settings without spBLEU if its model is missing, and without external commands that may not run."""
    metrics, external_metrics = scoring.metrics, scoring.external_metrics
    if spbleu_lacks() is not None:
        metrics = tuple(metric for metric in metrics if metric != "spbleu")
    # The recipe may be somebody else's, so its commands run only if the user wrote it, or gives them as an override.
    commands_may_run = own_recipe or any(override.strip().startswith(_EXTERNAL_KEY) for override in overrides)
    if external_metrics and not commands_may_run:
        LOGGER.info(
            "the commands of %s in the recipe of the run are not run; give them with --set %s=[...]",
            _EXTERNAL_KEY,
            _EXTERNAL_KEY,
        )
        external_metrics = ()
    return scoring.model_copy(update={"metrics": metrics, "external_metrics": external_metrics})


# --- translating and scoring ---


def _load(system: System, engine: str, device: str, overrides: Sequence[str]) -> Translator:
    """Return the translator of a system, and set the number of torch threads to that of its run."""
    translator = Translator.load(
        [run.path for run in system.runs],
        engine=engine,
        checkpoint=system.checkpoint,
        device=device,
        search=evaluated_search(system.runs[0], overrides),
        overrides=overrides,
    )
    translator.use_own_threads()
    return translator


def _evaluated(
    text: HeldOutSet,
    system: System,
    translator: Translator,
    scoring: EvaluationConfig,
    variants: Mapping[str, Spelling] = RAW_TEXT,
) -> ScoredSet:
    """Translate, score and save a test set."""
    scored = _scored(_translated(text, translator), scoring, variants)
    system.save(scored)
    return scored


def _compared_with_noise(scored: ScoredSet, system: System, translator: Translator) -> SystemComparison:
    """Evaluate a test set with each kind of noise, and compare that with the plain text."""
    noisy_sets = [_evaluated(text, system, translator, _NOISE_SCORING) for text in noisy_texts(scored.text)]
    return compare_noise(scored, noisy_sets)


def _translated(text: HeldOutSet, translator: Translator) -> ScoredSet:
    """Return a test set with the best translation of each sentence."""
    translations: list[Translation] = []
    sources = text.sources
    block_size = max(_BLOCK, translator.searcher.batch_rows)
    progress: tqdm[object] = progress_bar(description=f"translating {text.name}", total=len(sources), unit="lines")
    with progress:
        for start in range(0, len(sources), block_size):
            block = sources[start : start + block_size]
            origins = text.origins[start : start + block_size]
            # `first_line` is for messages; `origins` choose the tag of each sentence with `search.tag: auto`.
            results = translator.translations(block, first_line=start + 1, scored=False, origins=origins)
            translations += [best_first[0] for best_first in results]
            progress.update(len(block))
    cut_off = [number for number, translation in enumerate(translations, start=1) if not translation.finished]
    return ScoredSet(
        text=text,
        system=translator.label,
        checkpoint=translator.checkpoint_name,
        search=search_label(translator.search, translator.engine),
        hypotheses=tuple(translation.text for translation in translations),
        cut_off=tuple(cut_off),
    )


def _scored(translated: ScoredSet, scoring: EvaluationConfig, variants: Mapping[str, Spelling]) -> ScoredSet:
    """Return a translated test set with the scores of its translations."""
    text = translated.text
    LOGGER.info("scoring %s", text.name)
    scores = compute_scores(
        translated.hypotheses, text.references, metrics=scoring.metrics, variants=variants, intervals=True
    )
    for metric in scoring.external_metrics:
        scores.append(external_score(metric, text.sources, translated.hypotheses, text.references))
    return translated.with_scores(scores)


# --- summing up ---


def _samples(scored: ScoredSet, seed: int) -> list[TranslatedPair]:
    """Return random sentences of a test set; all systems get the same ones."""
    rows = list(zip(scored.text.sources, scored.text.references, scored.hypotheses, strict=True))
    chosen = random.Random(seed).sample(rows, min(_SAMPLES, len(rows)))
    return [TranslatedPair(source, references[0], hypothesis) for source, references, hypothesis in chosen]


def _earlier_sets(folder: Path, system: str, new_names: set[str]) -> list[SystemComparison]:
    """Return the newest translations of each other text in an evaluation folder, each set on its own."""
    earlier: dict[str, SystemComparison] = {}
    for scored in saved_sets(folder, system):
        name = scored.text.name
        if name not in new_names and name not in earlier:
            earlier[name] = compare_systems([scored])
    return list(earlier.values())
