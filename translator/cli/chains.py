"""The verbs fine-tune, back-translate and distill: each builds on a trained run and prints the commands it runs."""

import argparse
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import RUN, SEARCH, SET, load_model, option, place, repeat_set, say, search_flags, verb
from translator.errors import InputError
from translator.inference.file_translation import translate_file
from translator.inference.line_translation import Work
from translator.inference.output_formats import OutputForm
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.config import Config
    from translator.corpus.prepared_corpus import PreparedCorpus
    from translator.inference.translator import Translator
    from translator.run.folder import RunFolder
    from translator.run.made_files import MadeFiles

_CORPUS: Final = "the new text, in any form that `translator train --corpus` accepts; repeat it for several corpora"
_ALONE: Final = "one sentence per line, in UTF-8 or UTF-16, plain or compressed by gzip, xz or zstd"
_TIMED: Final = 500  # sentences whose translation is timed


def _run_verb(stop: StopRequest, *arguments: str) -> None:
    from translator.cli import parser

    say("", f"translator {shlex.join(arguments)}", "")
    options = parser().parse_args(repeat_set(arguments), argparse.Namespace(arguments=list(arguments)))
    options.verb(options, stop)


def _compare(before: Path, after: Path, test_sets: Sequence[str]) -> None:
    """Evaluate two runs on the same test sets; print score differences with p-values of paired bootstrap tests."""
    from translator.evaluation import System, evaluate_systems
    from translator.evaluation.metrics import show_value
    from translator.run.folder import RunFolder
    from translator.run.text import text_table

    output = after / "evaluation"
    # The evaluation of the run before, which may have more metrics, stays as it is.
    systems = [System((RunFolder(before),), results=output / before.name), System((RunFolder(after),))]
    found = evaluate_systems(systems, test_sets=test_sets, overrides=["evaluation.metrics=[bleu, chrf]"], output=output)
    rows = []
    for comparison in found.comparisons:
        for test in comparison.tests:
            if test.method == "bootstrap":
                first, second = test.systems
                scores = [show_value(test.metric, one.score) for one in (first, second)]
                significance = f"{second.difference:+.2f}", f"{second.p_value:.4f}"
                rows.append([comparison.test_set, test.metric, *scores, *significance])
    header = ["test set", "metric", before.name, after.name, "difference", "p"]
    say("", text_table(header, rows, text_columns=2), f"For a browser: {found.report}")


def _opened(folder: str, direction: str | None = None) -> "tuple[RunFolder, Config]":
    from translator.inference.exported import is_export
    from translator.run.folder import RunFolder

    run = RunFolder.open(folder)
    if is_export(run.path):
        raise InputError(
            f"{folder} is an export, and this command needs the training text of the run; name the run folder"
        )
    config = run.config()
    if direction is not None and config.corpus.direction != direction:
        raise InputError(
            f"{folder} translates {config.corpus.direction}; give a run with corpus.direction: {direction}"
        )
    return run, config


@verb(
    "fine-tune",
    "continue training a run on your text mixed with its own, and compare both models on old and new test text",
    RUN,
    option("--corpus PATH", _CORPUS, dest="corpora", action="append", nargs="+", type=place, required=True),
    option("--replay SHARE", "share of pairs from the run's own text (default: 0.8)", type=float, default=0.8),
    option(
        "--recipe NAME",
        "recipe for `training` and dropout; steps and learning rate are computed (default: fine-tune)",
        default="fine-tune",
    ),
    option("--output FOLDER", "folder of the new run (default: RUN-NAME, with the name of the text)", type=place),
    SET,
    examples=("translator fine-tune --run runs/mizan --corpus my.en my.fa",),
)
def _fine_tune(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.derived import corpus_of_run, test_set_arguments, write_sample
    from translator.corpus.sources import corpora_in_arguments, source_files, with_overrides
    from translator.recipes.corpus_recipe import measure
    from translator.recipes.derived_recipe import (
        derived_folder,
        free_name,
        names_of,
        recipe_file,
        text_folder,
        write_derived,
    )
    from translator.recipes.fine_tuning import LARGEST_REPLAY, plan_fine_tuning
    from translator.run.folder import RunFolder
    from translator.run.made_files import filled_folder

    # 1. Read what is there: the run and the new text.
    if not 0 <= options.replay <= LARGEST_REPLAY:
        raise InputError(f"--replay {options.replay}: the share must be at least 0 and at most {LARGEST_REPLAY}")
    sources = with_overrides(corpora_in_arguments(options.corpora), options.overrides)
    run, config = _opened(options.run)
    taken_names = names_of(config)
    sources = [source.model_copy(update={"name": free_name(source.name, taken_names)}) for source in sources]
    names = "+".join(source.name for source in sources)[:60]
    folder = derived_folder(options.output or f"{run.path}-{names}", run)
    corpus = corpus_of_run(config)
    sizes = [measure([source]) for source in sources]

    # 2. Decide.
    plan = plan_fine_tuning(
        run,
        corpus,
        sources,
        sizes,
        folder,
        replay_share=options.replay,
        recipe=options.recipe,
        overrides=options.overrides,
    )

    # 3. Write the recipe and the old text, train, and compare.
    inputs = [file for source in sources for file in source_files(source)]
    recipe, updates = recipe_file(folder), f"{plan.updates:,} updates unless --set changes that"
    with filled_folder(text_folder(folder), inputs, plan.replay.files) as made_files:
        say(write_derived(run, recipe, plan.config))
        say(f"  {plan.new_pairs:,} new pairs and {options.replay:.0%} old text; {updates}")
        write_sample(corpus, plan.replay.spacing, plan.replay.folder, made_files)
        pairs = f"{plan.held_out.validation:,} pairs for validation, {plan.held_out.test:,} for testing"
        say(f"  held out of each new corpus: {pairs}")
        _run_verb(stop, "train", "--config", str(recipe))
        _compare(run.path, folder, test_set_arguments(corpus_of_run(RunFolder.open(folder).config())))
    example = config.corpus.languages[0].example
    say("", "Next:", f'  translator translate --run {shlex.quote(str(folder))} "{example}"')


@verb(
    "back-translate",
    "make training pairs from monolingual Persian text, with a run that translates Persian into English",
    RUN,
    option("--monolingual FILE", f"Persian text, {_ALONE}", nargs="+", action="extend", type=place, required=True),
    option(
        "--output FOLDER",
        "folder of the pairs (default: data/back-translated)",
        type=place,
        default="data/back-translated",
    ),
    option("--round-trip RUN", "en-fa run that translates the English back to filter pairs", type=place),
    option("--min-chrf SCORE", "with --round-trip: least chrF against the Persian line (default: 20)", type=float),
    *SEARCH,
    examples=("translator back-translate --run runs/mizan-reverse --monolingual persian.txt",),
)
def _back_translate(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.derived import read_texts, write_synthetic
    from translator.evaluation.metrics import sentence_chrf
    from translator.recipes.back_translation import BackTranslationPlan
    from translator.run.made_files import filled_folder

    if options.min_chrf is not None and options.round_trip is None:
        raise InputError("--min-chrf has no meaning without --round-trip; name an en-fa run there, or leave it out")
    run, config = _opened(options.run, "fa-en")
    forward = None if options.round_trip is None else _opened(options.round_trip, "en-fa")[0]
    plan = BackTranslationPlan(Path(options.output), has_round_trip=forward is not None)
    with filled_folder(plan.folder, options.monolingual, plan.outputs) as made_files:
        _write_monolingual(options.monolingual, config, plan.persian, made_files)
        model = options.engine, "best", options.device, tuple(search_flags(options))
        _translate(partial(load_model, (run.path,), *model), plan.persian, plan.english, made_files)
        scores = None
        if forward is not None:
            _translate(partial(load_model, (forward.path,), *model), plan.english, plan.round_trip, made_files)
            references = [(text,) for text in read_texts(plan.persian)]
            scores = sentence_chrf(list(read_texts(plan.round_trip)), references)
        least = 20.0 if options.min_chrf is None else options.min_chrf
        filters = config.corpus.filters
        counts = write_synthetic(plan.english, plan.persian, filters, plan.synthetic, made_files, scores, least)
    say(f"back-translated pairs: {_counted(counts)}")
    if not counts["kept"]:
        raise InputError(
            f"no back-translated pair is left; check the text ({plan.persian}) and its translations ({plan.english}), "
            "or loosen corpus.filters of the run"
        )
    say("", "Next: mix them in, as configs/back-translation.yaml does:")
    say(f"  translator train --config back-translation --set {shlex.join(plan.training_overrides())}", "")


def _write_monolingual(
    files: Sequence[str], config: "Config", output: Path, made_files: "MadeFiles", student: "RunFolder | None" = None
) -> None:
    """Write the distinct lines of `files` to `output`; print counts. A trained `student` keeps its text."""
    from translator.corpus.derived import read_monolingual, read_texts, write_lines
    from translator.corpus.normalizer import Normalizer

    normalizer = Normalizer(config.corpus.normalization, config.corpus.languages)
    text = read_monolingual([Path(file) for file in files], normalizer, config.corpus.filters.max_words)
    if not text.lines:
        raise InputError(f"no line of {', '.join(files)} has text to translate ({_counted(text.counts)})")
    trained = student is not None and student.has_checkpoint and output.exists()
    if trained and list(read_texts(output)) != text.lines:
        raise InputError(f"the student was trained on other text than {', '.join(files)}; give another --output")
    with made_files.writing(output):
        write_lines(output, text.lines)
    say(f"{config.corpus.languages[0].name} lines: {_counted(text.counts)}")


def _counted(counts: "Counter[str]") -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def _translate(
    load: "Callable[[], Translator]", source: Path, output: Path, made_files: "MadeFiles", count: int = 1
) -> None:
    """Write `count` translations of each line of `source` to `output` unless it is complete; print what was done."""
    work = Work(load, OutputForm("text" if count == 1 else "jsonl", count))
    is_written = translate_file(work, source, output, made_files)
    say(f"{output} {'is written' if is_written else 'exists and is reused'}")


@verb(
    "distill",
    "train a small, fast student on the translations of a run, and export it in int8",
    RUN,
    option("--recipe NAME", "recipe of subwords, model and training (default: student)", default="student"),
    option("--beam N", "beam width; the hypothesis nearest to a reference is used (default: 5)", type=int, default=5),
    option(
        "--monolingual FILE",
        f"more text for the teacher to translate, in its source language, {_ALONE}",
        nargs="+",
        action="extend",
        type=place,
    ),
    option("--output FOLDER", "folder of the student's run (default: RUN-student)", type=place),
    SET,
    examples=("translator distill --run runs/cpu-small",),
)
def _distill(options: argparse.Namespace, stop: StopRequest) -> None:
    from translator.corpus.derived import corpus_of_run, write_best
    from translator.evaluation.metrics import sentence_bleu
    from translator.recipes.derived_recipe import derived_folder, recipe_file, write_derived
    from translator.recipes.distillation import plan_distillation
    from translator.run.folder import RunFolder
    from translator.run.made_files import filled_folder

    if options.beam < 2:
        raise InputError(f"--beam {options.beam}: distillation needs at least two hypotheses; 5 is usual")
    run, config = _opened(options.run)
    student = derived_folder(options.output or f"{run.path}-student", run)
    corpus = corpus_of_run(config)
    monolingual = options.monolingual or []
    plan = plan_distillation(
        run,
        corpus,
        student,
        has_monolingual=bool(monolingual),
        recipe=options.recipe,
        overrides=options.overrides,
    )
    recipe = recipe_file(student)
    beam = ("search.method=beam", f"search.beam_size={options.beam}")
    teacher = partial(load_model, (run.path,), "auto", "best", "auto", beam)
    with filled_folder(plan.folder, monolingual, plan.outputs) as made_files:
        say(write_derived(run, recipe, plan.config))
        if plan.monolingual is not None:
            _write_monolingual(monolingual, config, plan.monolingual.source, made_files, RunFolder(student))
            _translate(teacher, plan.monolingual.source, plan.monolingual.target, made_files)
        for text in plan.texts:
            _translate(teacher, text.source, text.n_best, made_files, options.beam)
            references = corpus.lines("train", text.name, corpus.sides[1])
            write_best(text.n_best, references, corpus.fingerprint, sentence_bleu, text.best, made_files)
        _run_verb(stop, "train", "--config", str(recipe))
        _export_and_compare(run, student, corpus)


def _export_and_compare(run: "RunFolder", student: Path, corpus: "PreparedCorpus") -> None:
    """Export a student in int8, and compare its scores, size and speed with those of its teacher."""
    from translator.corpus.derived import test_set_arguments
    from translator.export.package import export_run
    from translator.inference.exported import is_export

    small = student.with_name(f"{student.name}-int8")
    if is_export(small):
        say("", f"{small} exists and is reused; delete it to export the student again")
    else:
        export_run(student, "ctranslate2", small, quantization="int8")
    if not corpus.names("test"):
        say("", f"no test text: {run.path} and {small} are not compared")
        return
    _compare(run.path, small, test_set_arguments(corpus))
    lines = [line for name in corpus.names("test") for line in corpus.lines("test", name, corpus.sides[0])][:_TIMED]
    say("", *(_sized(name, folder, lines) for name, folder in (("teacher", run.path), ("student in int8", small))))
    say("", "Next:", f"  translator serve --run {shlex.quote(str(small))}")


def _sized(name: str, folder: Path, lines: Sequence[str]) -> str:
    """Return a line with size and speed of a run or an export; a first translation, to warm up, is not timed."""
    from translator.checkpoint.state import MODEL_FILE, find_checkpoint

    translator = load_model([folder], "auto", "best", "auto", ())
    translator.translate_lines(lines[:8])
    start = time.perf_counter()
    translator.translate_lines(lines)
    speed = len(lines) / (time.perf_counter() - start)
    exported = folder / "model.bin"
    model = exported if exported.exists() else find_checkpoint(folder / "checkpoints", "best") / MODEL_FILE
    return f"{name}: {model.stat().st_size / 1e6:.1f} MB, {speed:.0f} sentences a second ({translator.searcher.name})"
