"""Evaluation of runs: translate the test sets, score the translations, and save the results."""

import hashlib
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

from tqdm import tqdm

from translator.config import Config, ExternalMetric, MetricName, SearchConfig
from translator.corpus.held_out import HeldOutSet, HeldOutSplit
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.corpus.normalizer.rules import NormalizerRules
from translator.errors import InputError
from translator.evaluation.compare import METRICS, SystemComparison, compare_systems
from translator.evaluation.evaluation_page import evaluation_page
from translator.evaluation.external_metrics import external_score
from translator.evaluation.metrics import Score, compute_scores, spbleu_lacks
from translator.evaluation.results import ScoredSet, distinct_names, read_scores, save_set, saved_sets
from translator.evaluation.robustness import measure_robustness
from translator.evaluation.search_labels import search_label
from translator.evaluation.systems import set_of_file
from translator.evaluation.tables import Table, evaluation_tables, glossary_table
from translator.evaluation.terminal_report import TranslatedPair
from translator.evaluation.test_sets import chosen_test_sets, own_texts, refuse_other_text, warn_of_leaks
from translator.evaluation.text_variants import text_variants
from translator.inference.translation import Translation
from translator.inference.translator import Translator
from translator.run.files import storage_errors
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar
from translator.run.output_paths import resolve_output, write_output
from translator.subword.glossary import NO_GLOSSARY, Glossary

_SAMPLES: Final = 3  # sentences that the terminal shows
_BLOCK: Final = 256  # sentences translated at a time, at least
_LONGEST_NAME: Final = 100  # characters of the names of an ensemble's runs
WHOLE_LINES: Final = "search.split_sentences=false"
_EXACT: Final = "search.precision=float32"
"""The override with which test lines stay whole, as published scores have them; a later override can replace it."""


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
        # The name has a hash of the paths, since runs in other folders may have the same names.
        paths = [run.path.resolve() for run in self.runs]
        places = "//".join(os.path.relpath(path, paths[0].parent) for path in paths)
        name = "+".join(path.name for path in paths)[:_LONGEST_NAME]
        return folder / f"{name}-{hashlib.sha256(places.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation; everything is also in the evaluation folders of the systems."""

    sets: list[ScoredSet] = field(default_factory=list)  # each test set, one system after the other
    samples: list[TranslatedPair] = field(default_factory=list)  # of the first test set, by the first system
    comparisons: list[SystemComparison] = field(default_factory=list)  # by test set, if there are several systems
    missing: list[str] = field(default_factory=list)  # metrics that could not be computed, with the reason
    folders: list[Path] = field(default_factory=list)  # folders of the files, without duplicates
    report: Path | None = None
    glossary: Glossary = NO_GLOSSARY  # of the search

    @property
    def scores(self) -> list[Score]:
        """All scores; the first is BLEU 13a on raw text of the first test set."""
        return list(chain.from_iterable(scored.scores for scored in self.sets))

    @property
    def tables(self) -> list[Table]:
        """The tables of all test sets."""
        tables: list[Table] = []
        for systems, comparison in zip_longest(by_test_set(self.sets), self.comparisons):
            tables += evaluation_tables(systems, comparison)
            terms = glossary_table(systems, self.glossary)
            tables += [terms] if terms.rows else []
        return tables


def by_test_set(sets: Sequence[ScoredSet]) -> list[dict[str, ScoredSet]]:
    """Return each test set as every system translated it, by the name of the system."""
    groups: dict[str, list[ScoredSet]] = {}
    for scored in sets:
        groups.setdefault(scored.text.name, []).append(scored)
    return [dict(zip(distinct_names(group), group, strict=True)) for group in groups.values()]


def evaluate_run(
    run: RunFolder, *, checkpoint: str = "best", overrides: Sequence[str] = (), own_recipe: bool = False
) -> Evaluation:
    """Translate and score the held-out test sets of a run, as `evaluate_systems` does."""
    return evaluate_systems([System((run,), checkpoint)], overrides=overrides, own_recipe=own_recipe)


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
        split: which part of that text, `test` or `validation`.
        hypotheses: files of translations of a single test set by other programs, by the name of the program.
        overrides: `key.path=value` for search and scoring, of every system.
        engine: `torch`, `ctranslate2` or `auto`, see `Translator.load`.
        device: `cpu`, `mps`, `cuda`, `cuda:N` or `auto`.
        report: whether to write report.html.
        own_recipe: whether the user has written the recipe of the runs, so that its commands may run.
        output: folder of the report; by default the first system's.

    Raises:
        RunError: a run, its checkpoint, held-out text or scores are damaged or missing, or an ensemble is impossible.
        CorpusError: a test set cannot be read, is empty or in other languages.
        InputError: a test set is missing, two texts have one name, or an external metric fails.
    """
    # 1. Report the mistakes of the user that can be found without a model.
    overrides = [WHOLE_LINES, *overrides]
    first_run = systems[0].runs[0]
    config = first_run.config(overrides)
    _refuse_other_directions(systems, config)
    texts = chosen_test_sets(first_run, config, test_sets, split)
    if not texts:
        LOGGER.warning("nothing to evaluate: corpus.split.%s is 0 and evaluation.test_sets is empty", split)
        return Evaluation()
    if hypotheses and len(texts) != 1:
        names = ", ".join(text.name for text in texts)
        raise InputError(f"--hypotheses are translations of one test set, and these are {names}; give --test-set")
    foreign_sets = [set_of_file(file, texts[0], name) for name, file in (hypotheses or {}).items()]
    for system in systems:
        _check_results(system, texts)
    page = (output or systems[0].folder) / "report.html" if report else None
    _check_outputs(systems, page)
    metrics, missing = _metrics_at_hand(config)
    external_metrics = _external_metrics(config, overrides, own_recipe=own_recipe)

    # 2. Translate and score; every result is on the disk before the next begins.
    sets: dict[tuple[Path, str, str], list[ScoredSet]] = {}
    for system in systems:
        translator = _load(system, engine, device, overrides)
        search = search_label(translator.search, translator.engine)
        key = (system.folder, translator.checkpoint_name, search)
        if key in sets:  # `best` and `last` may be one checkpoint
            continue
        sets[key] = []
        if test_sets or system.runs != (first_run,):  # the first run's own text is not in its training text
            for run in system.runs:
                warn_of_leaks(run, texts)
        for text in texts:
            scored = _translate_and_score(text, translator, search, config, metrics, external_metrics)
            save_set(system.folder, scored, list(own_texts(system.runs[0], "test")))
            sets[key].append(scored)

    # 3. Score the translations of other programs.
    rules = rules_of_run(first_run)
    for foreign in foreign_sets:
        scored = _scored(foreign, config, rules, metrics, external_metrics)
        save_set(systems[0].folder, scored, list(own_texts(first_run, "test")))
        sets[systems[0].folder, scored.checkpoint, scored.search] = [scored]

    # 4. Compare the other systems with the first, which also shows what translations look like.
    all_sets = list(chain.from_iterable(sets.values()))
    evaluation = Evaluation(
        sets=all_sets,
        samples=_samples(all_sets[0], config.run.seed),
        comparisons=_compare(list(sets.values()), metrics) if len(sets) > 1 else [],
        missing=missing,
        folders=list(dict.fromkeys(system.folder for system in systems)),
        report=page,
        glossary=NO_GLOSSARY if config.search.glossary is None else Glossary.read(Path(config.search.glossary)),
    )
    if page is not None:
        _write_page(page, evaluation, systems)
    return evaluation


def as_evaluated(search: SearchConfig) -> SearchConfig:
    """Return the settings by which test text is searched: in whole lines, and in full precision where it is `auto`."""
    precision = "float32" if search.precision == "auto" else search.precision
    return search.model_copy(update={"split_sentences": False, "precision": precision})


# --- before the work ---


def _refuse_other_directions(systems: Sequence[System], config: Config) -> None:
    """Raise InputError if a run translates in another direction than `config`, that of the first run."""
    direction = config.corpus.direction
    for run in chain.from_iterable(system.runs for system in systems):
        run_direction = run.config().corpus.direction
        if run_direction != direction:
            raise InputError(
                f"{systems[0].runs[0].path} translates {direction}, and {run.path} {run_direction}; "
                "evaluate them one after the other"
            )


def _check_results(system: System, texts: Sequence[HeldOutSet]) -> None:
    """Raise RunError or InputError if the results of a system cannot be added to those in its folder."""
    read_scores(system.folder)  # report a damaged file before the translation
    texts_of_run: Mapping[str, HeldOutSet] = {}
    # A separate folder has no results on the run's own text that could be mistaken.
    if system.results is None:
        texts_of_run = own_texts(system.runs[0], "validation") | own_texts(system.runs[0], "test")
    for text in texts:
        refuse_other_text(text, texts_of_run, system.folder)


def _check_outputs(systems: Sequence[System], page: Path | None) -> None:
    """Make the folders of the results; raise StorageError if one cannot, or if report.html is a folder."""
    folders = [system.folder for system in systems]
    if page is not None:
        folders.append(page.parent)
    for folder in folders:
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
    if page is not None:
        resolve_output(page)


def _metrics_at_hand(config: Config) -> tuple[list[MetricName], list[str]]:
    """Return the metrics that can be computed, and what the others need that is not there."""
    lack = spbleu_lacks() if "spbleu" in config.evaluation.metrics else None
    if lack is None:
        return list(config.evaluation.metrics), []
    return [metric for metric in config.evaluation.metrics if metric != "spbleu"], [lack]


def _external_metrics(config: Config, overrides: Sequence[str], *, own_recipe: bool) -> Sequence[ExternalMetric]:
    """Return the external metrics to compute: a command in the recipe of somebody else's run is not run unasked."""
    metrics = config.evaluation.external_metrics
    key = "evaluation.external_metrics"
    if own_recipe or not metrics or any(override.strip().startswith(key) for override in overrides):
        return metrics
    LOGGER.info("the commands of %s in the recipe of the run are not run; give them with --set %s=[...]", key, key)
    return ()


# --- translating and scoring ---


def _load(system: System, engine: str, device: str, overrides: Sequence[str]) -> Translator:
    """Return the translator of a system; torch gets the number of threads of the run."""
    # Scores are of full precision, unless a run or its user names another.
    if system.runs[0].config(overrides).search.precision == "auto":
        overrides = [*overrides, _EXACT]
    translator = Translator.load(
        [run.path for run in system.runs],
        engine=engine,
        checkpoint=system.checkpoint,
        device=device,
        overrides=overrides,
    )
    if translator.searcher.name == "torch":  # CTranslate2 has threads of its own
        from translator.speed.device import use_threads  # it imports torch, which a mistyped path need not load

        use_threads(translator.threads)
    return translator


def _translate_and_score(
    text: HeldOutSet,
    translator: Translator,
    search: str,
    config: Config,
    metrics: Sequence[MetricName],
    external_metrics: Sequence[ExternalMetric],
) -> ScoredSet:
    """Translate a test set and score the translations by these metrics, as the run of `config` is scored.

    `search` is the short name of the translator's search settings.
    """
    # 1. Translate, and score the translations.
    translations = _translate(text.sources, translator, text.name, text.origins)
    cut_off = [number for number, translation in enumerate(translations, start=1) if not translation.finished]
    translated = ScoredSet(
        text=text,
        system=translator.label,
        checkpoint=translator.checkpoint_name,
        search=search,
        hypotheses=tuple(translation.text for translation in translations),
        cut_off=tuple(cut_off),
    )
    scored = _scored(translated, config, translator.normalizer.rules, metrics, external_metrics)
    if not config.evaluation.robustness:
        return scored

    # 2. Translate and score noisy input.
    def translate_noisy(sources: Sequence[str], numbers: Sequence[int]) -> list[str]:
        origins = [text.origins[number] for number in numbers]
        noisy = _translate(sources, translator, f"{text.name} with noise", origins)
        return [translation.text for translation in noisy]

    return replace(scored, noise=tuple(measure_robustness(scored, translator, translate_noisy)))


def _scored(
    translated: ScoredSet,
    config: Config,
    rules: NormalizerRules,
    metrics: Sequence[MetricName],
    external_metrics: Sequence[ExternalMetric],
) -> ScoredSet:
    """Return a translated test set with the scores of its translations; `rules` spell the normalized text."""
    text = translated.text
    scores = compute_scores(
        translated.hypotheses,
        text.references,
        metrics=metrics,
        variants=text_variants(config.corpus.normalization, config.corpus.languages, rules),
        intervals=True,
        description=f"scoring {text.name}",
    )
    for metric in external_metrics:
        scores.append(external_score(metric, text.sources, translated.hypotheses, text.references))
    named_scores: list[Score] = []
    for score in scores:
        named_score = replace(
            score,
            test_set=text.name,
            search=translated.search,
            checkpoint=translated.checkpoint,
            left_out=text.left_out,
        )
        named_scores.append(named_score)
    return replace(translated, scores=tuple(named_scores))


def _translate(sources: Sequence[str], translator: Translator, name: str, origins: Sequence[str]) -> list[Translation]:
    """Return the best translation of each source.

    Args:
        sources: the sentences.
        translator: the system.
        name: what the progress calls the text.
        origins: for each sentence, the source of the corpus that it is from.
    """
    translations: list[Translation] = []
    block_size = max(_BLOCK, translator.searcher.batch_rows)
    progress: tqdm[object] = progress_bar(description=f"translating {name}", total=len(sources), unit="lines")
    with progress:
        for start in range(0, len(sources), block_size):
            block = sources[start : start + block_size]
            results = translator.translations(
                block, first_line=start + 1, scored=False, origins=origins[start : start + block_size]
            )
            translations += [ranked[0] for ranked in results]
            progress.update(len(block))
    return translations


# --- summing up ---


def _compare(sets_of_systems: Sequence[Sequence[ScoredSet]], metrics: Sequence[MetricName]) -> list[SystemComparison]:
    """Return the comparison of all systems on each test set, by those of `metrics` that a test takes."""
    tested_metrics = [metric for metric in METRICS if metric in metrics] or METRICS
    comparisons = []
    for sets in zip(*sets_of_systems, strict=True):
        description = f"comparing on {sets[0].text.name}"
        comparisons.append(compare_systems(sets, metrics=tested_metrics, description=description))
    return comparisons


def _samples(scored: ScoredSet, seed: int) -> list[TranslatedPair]:
    """Return random sentences of a test set; all systems get the same ones."""
    text = scored.text
    sentence_count = len(text.sources)
    samples: list[TranslatedPair] = []
    for number in random.Random(seed).sample(range(sentence_count), min(_SAMPLES, sentence_count)):
        pair = TranslatedPair(
            source=text.sources[number],
            reference=text.references[number][0],
            hypothesis=scored.hypotheses[number],
        )
        samples.append(pair)
    return samples


def _write_page(page: Path, evaluation: Evaluation, systems: Sequence[System]) -> None:
    """Write the report: the sets of this evaluation, then those that the folder of the first system has of earlier."""
    shown = {scored.text.name for scored in evaluation.sets}
    sets = list(evaluation.sets)
    for scored in saved_sets(systems[0].folder, evaluation.sets[0].system):
        if scored.text.name not in shown:
            shown.add(scored.text.name)
            sets.append(scored)
    runs = dict.fromkeys(chain.from_iterable(system.runs for system in systems))
    write_output(page, evaluation_page(by_test_set(sets), evaluation.comparisons, evaluation.missing, list(runs)))
