"""Evaluation of runs: translate the test sets, score and diagnose the translations, and save the results."""

import hashlib
import os
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json
from tqdm import tqdm

from translator.config import Config, MetricName, SearchConfig
from translator.corpus.held_out import HeldOutSet
from translator.errors import InputError
from translator.evaluation.compare import METRICS, SystemComparison, compare_systems
from translator.evaluation.diagnosis import Diagnosis, diagnose
from translator.evaluation.metrics import Score, comet_lacks, comet_score, compute_scores, spbleu_lacks
from translator.evaluation.report import TranslatedPair, evaluation_page
from translator.evaluation.results import (
    ModelScore,
    ScoredSet,
    add_scores,
    distinct_labels,
    json_lines,
    read_scores,
    write_scored_set,
)
from translator.evaluation.robustness import measure_robustness
from translator.evaluation.test_sets import chosen_test_sets, look_into_training
from translator.inference.translator import Translator
from translator.run.folder import RunFolder
from translator.run.logging import LOGGER, progress_bar
from translator.run.storage import resolve_output, storage_errors, write_bytes, write_json, write_output, write_text

_SAMPLES: Final = 10  # samples of each test set
_BLOCK: Final = 256  # sentences translated and written at a time
_LONGEST_NAME: Final = 100
WHOLE_LINES: Final = "search.split_sentences=false"
"""The override with which test lines stay whole, as published scores have them; a later override can replace it."""
_COMMON: Final = {
    "max_length_ratio": "ratio-",
    "min_length_ratio": "min-ratio-",
    "no_repeat_ngram": "no-repeat-",
    "avoid_loops": "loops-",
    "correct_spelling": "spelling-",
    "orthography": "orthography-",
    "precision": "",
}
_DETAILS: Final[Mapping[str, Mapping[str, str]]] = {
    "greedy": _COMMON,
    "beam": {"length_penalty": "penalty-", "length_normalization": "", **_COMMON},
    "sampling": {"temperature": "temperature-", "top_k": "top-k-", "top_p": "top-p-", **_COMMON},
}
"""By search method: settings that a search label names if they differ from the defaults, with their prefixes."""


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


Loader = Callable[[System, Sequence[str]], Translator]  # loads a system with `key.path=value` overrides


def search_label(config: SearchConfig, engine: str = "") -> str:
    """Return a short name of all search settings, and of an explicitly chosen engine, for use in file names.

    Without `by-sentence`, lines are translated whole.
    """
    always = {"greedy": [], "beam": [str(config.beam_size)], "sampling": [f"seed-{config.seed}"]}
    parts = [config.method, *always[config.method]]
    defaults = SearchConfig()
    for key, prefix in _DETAILS[config.method].items():
        value = getattr(config, key)
        if value != getattr(defaults, key):
            parts.append(f"{prefix}{value:g}" if isinstance(value, float) else f"{prefix}{value}".lower())
    if config.split_sentences:
        parts.append("by-sentence")
    return "-".join([*parts, engine] if engine else parts)


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


_Result = tuple[ScoredSet, Diagnosis]


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

    Args:
        systems: at least one.
        test_sets: as on the command line (see `held_out_argument`); by default the held-out text of the first run.
        split: which part of that text, `test` or `validation`.
        overrides: `key.path=value` for search and scoring, of every system.
        load: makes the translator of a system.
        report: whether to write report.html.
        output: folder of the report; by default the first system's.

    Raises:
        RunError: a run, its checkpoint, held-out text or scores are damaged or missing, or an ensemble is impossible.
        CorpusError: a test set cannot be read, is empty or in other languages.
        InputError: a test set is missing, or COMET fails.
    """
    overrides = [WHOLE_LINES, *overrides]
    run = systems[0].runs[0]
    config = run.config(overrides)
    for one in (one for system in systems for one in system.runs):
        if (other := one.config().corpus.direction) != config.corpus.direction:
            message = f"{run.path} translates {config.corpus.direction}, and {one.path} {other}"
            raise InputError(f"{message}; evaluate them one after the other")
    for system in systems:
        read_scores(system.folder)  # report a damaged file before the translation
    held_out = chosen_test_sets(run, config, test_sets, split)
    if not held_out:
        LOGGER.warning("nothing to evaluate: corpus.split.%s is 0 and evaluation.test_sets is empty", split)
        return Evaluation()
    page = (output or systems[0].folder) / "report.html" if report else None
    for folder in [*(system.folder for system in systems), *([page.parent] if page else [])]:
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()  # fail before the translation, not after it
    if page is not None:
        resolve_output(page)
    lacks = {"spbleu": spbleu_lacks(), "comet": comet_lacks(config.evaluation.comet_model, run)}
    metrics = [name for name in config.evaluation.metrics if lacks.get(name) is None]
    found: dict[tuple[Path, str, str], list[_Result]] = {}
    rare: dict[RunFolder, Mapping[str, tuple[float, ...]]] = {}
    for system in systems:
        translator = (load or _load)(system, overrides)
        search = search_label(translator.search, translator.engine)
        key = system.folder, translator.checkpoint_name, search
        if key in found:  # `best` and `last` may be one checkpoint
            continue
        for one in (one for one in system.runs if one not in rare):
            leaks = bool(test_sets) or one != run
            rare[one] = look_into_training(one, held_out, config.evaluation.rare_below, leaks=leaks)
        found[key] = results = []
        for sentences in held_out:
            shares = rare[system.runs[0]].get(sentences.name, ())
            scored = _translate_and_score(sentences, translator, search, config, metrics, shares, system.folder)
            results.append((scored, diagnose(scored)))
            _write(system.folder, results, first=not test_sets and split == "test")
    searches = list(dict.fromkeys(search for _, _, search in found))
    if len(searches) > 1:
        LOGGER.warning("the runs have different search settings (%s); set --search for all", ", ".join(searches))
    by_test = list(zip(*found.values(), strict=True))
    every = [result for results in found.values() for result in results]
    compared = [name for name in METRICS if name in metrics] or METRICS
    evaluation = Evaluation(
        scores=[score for scored, _ in every for score in scored.scores],
        samples=[pair for (scored, _), *_ in by_test for pair in _samples(scored, config.run.seed)],
        sets=[scored for scored, _ in every],
        diagnoses=[diagnosis for _, diagnosis in every],
        comparisons=[
            compare_systems([scored for scored, _ in of_test], metrics=compared)
            for of_test in by_test
            if len(of_test) > 1
        ],
        missing=[lack for name in config.evaluation.metrics if (lack := lacks.get(name)) is not None],
        folders=list(dict.fromkeys(folder for folder, _, _ in found)),
        report=page,
    )
    if page is not None:
        title = f"Evaluation of {', '.join(dict.fromkeys(distinct_labels(evaluation.sets)))}"
        of_sets = evaluation.sets, evaluation.diagnoses, evaluation.comparisons, evaluation.missing
        write_output(page, evaluation_page(title, *of_sets))
    return evaluation


def _load(system: System, overrides: Sequence[str]) -> Translator:
    return Translator.load([run.path for run in system.runs], checkpoint=system.checkpoint, overrides=overrides)


def _translate_and_score(
    held_out: HeldOutSet,
    translator: Translator,
    search: str,
    config: Config,
    metrics: Sequence[MetricName],
    rare_shares: tuple[float, ...],
    folder: Path,
) -> ScoredSet:
    name, checkpoint = held_out.name, translator.checkpoint_name
    first_references = [several[0] for several in held_out.references]

    def translate(sources: Sequence[str], of: str) -> list[ModelScore]:
        return _translate(sources, translator, of, folder / f"{of}.{checkpoint}.{search}.partial.jsonl")

    translations = translate(held_out.sources, name)
    hypotheses = [translation.text or "" for translation in translations]
    of_references = translator.score(held_out.sources, first_references)
    LOGGER.info("scoring %s", name)
    scores = compute_scores(
        hypotheses,
        held_out.references,
        metrics=[metric for metric in metrics if metric != "comet"],
        normalization=config.corpus.normalization,
        languages=config.corpus.languages,
        rules=translator.normalizer.rules,
        bootstrap_samples=config.evaluation.bootstrap_samples,
        test_set=name,
    )
    if "comet" in metrics:
        scores.append(comet_score(config, held_out.sources, hypotheses, held_out.references))
    scored = ScoredSet(
        test_set=name,
        system=translator.label,
        checkpoint=checkpoint,
        search=search,
        sources=held_out.sources,
        references=held_out.references,
        hypotheses=tuple(hypotheses),
        origins=held_out.origins,
        left_out=held_out.left_out,
        scores=tuple(
            replace(score, test_set=name, search=search, checkpoint=checkpoint, left_out=held_out.left_out)
            for score in scores
        ),
        hypothesis_scores=tuple(one.model_copy(update={"text": None}) for one in translations),
        reference_scores=tuple(map(ModelScore.of, of_references, first_references)),
        rare_shares=rare_shares,
    )
    if not config.evaluation.robustness:
        return scored
    typed = measure_robustness(
        scored,
        translator,
        lambda sources, way: [one.text or "" for one in translate(sources, f"{name}.{way}")],
        config.evaluation.bootstrap_samples,
    )
    return replace(scored, typed=tuple(typed))


def _write(folder: Path, results: Sequence[_Result], *, first: bool) -> None:
    scored, diagnosis = results[-1]
    sides = {f"{scored.test_set}.source": scored.sources, f"{scored.name}.hypotheses": scored.hypotheses}
    # Line N of every file is sentence N; a further reference that it lacks is a blank line.
    for number, side in enumerate(zip_longest(*scored.references, fillvalue=""), start=1):
        sides[f"{scored.test_set}.reference{f'-{number}' if number > 1 else ''}"] = side
    for file, lines in sides.items():
        write_text(folder / f"{file}.txt", "".join(f"{line}\n" for line in lines))
    write_scored_set(folder, scored)
    write_json(folder / f"{scored.name}.diagnosis.json", diagnosis.to_json())
    if scored.typed:
        write_json(folder / f"{scored.name}.robustness.json", [one.to_json() for one in scored.typed])
    add_scores(folder, [score for one, _ in results for score in one.all_scores], first=first)
    with storage_errors(folder):
        for way in ("", *(f".{one.way}" for one in scored.typed)):
            partial = folder / f"{scored.test_set}{way}.{scored.checkpoint}.{scored.search}.partial.jsonl"
            partial.unlink(missing_ok=True)


def _translate(sources: Sequence[str], translator: Translator, name: str, partial: Path) -> list[ModelScore]:
    """Return the translations; continue the file `partial` (JSON lines: a key of model and input, then each)."""
    key = {
        "model": [translator.label, translator.identity, translator.searcher.arithmetic],
        "search": translator.search.model_dump(mode="json"),
        "sources": hashlib.sha256("\n".join(sources).encode("utf-8", "replace")).hexdigest(),
    }
    found = _kept(partial, key)[: len(sources)]
    if found:
        LOGGER.info("%s: continuing after %d of %d sentences, from %s", name, len(found), len(sources), partial)
    progress: tqdm[object] = progress_bar(
        description=f"translating {name}", total=len(sources), unit=" lines", initial=len(found)
    )
    with storage_errors(partial), progress:
        write_bytes(partial, json_lines([key, *(one.to_json() for one in found)]))
        for start in range(len(found), len(sources), _BLOCK):
            block = sources[start : start + _BLOCK]
            fresh = [ModelScore.of(best) for best, *_ in translator.translations(block, first_line=start + 1)]
            with partial.open("ab") as stream:
                stream.write(json_lines([one.to_json() for one in fresh]))
            found += fresh
            progress.update(len(fresh))
    return found


def _kept(partial: Path, key: Mapping[str, Any]) -> list[ModelScore]:
    """Return the translations of an interrupted evaluation; none if model, search or sources have changed."""
    try:
        head, *lines = partial.read_bytes().split(b"\n")[:-1]
        return list(map(ModelScore.model_validate_json, lines)) if from_json(head) == key else []
    except (OSError, ValueError):
        return []


def _samples(scored: ScoredSet, seed: int) -> list[TranslatedPair]:
    numbers = random.Random(seed).sample(range(len(scored.sources)), min(_SAMPLES, len(scored.sources)))
    return [TranslatedPair(scored.sources[n], scored.references[n][0], scored.hypotheses[n]) for n in numbers]
