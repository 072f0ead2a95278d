"""The verb distill: a small student learns the translations of a run (Kim and Rush 2016)."""

import argparse
import shlex
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import PARENT_RUN, SET, load_model, option, place, say, verb
from translator.cli.deriving import (
    PLAIN_TEXT,
    compare_runs,
    open_trained_run,
    run_verb,
    write_monolingual,
    write_translations,
)
from translator.cli.training import train
from translator.errors import InputError
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.corpus.prepared_corpus import PreparedCorpus
    from translator.run.folder import RunFolder

_TIMED_SENTENCES: Final = 500
_WARM_UP_SENTENCES: Final = 8  # translated before the clock starts


@verb(
    "distill",
    "train a small, fast student on the translations of a run, and export it in int8",
    PARENT_RUN,
    option("--recipe NAME", "recipe of subwords, model and training (default: student)", type=place, default="student"),
    option("--beam N", "beam width; the hypothesis nearest to a reference is used (default: 5)", type=int, default=5),
    option(
        "--monolingual FILE",
        f"more text for the teacher to translate, in its source language, {PLAIN_TEXT}",
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
    from translator.corpus.normalizer_file import rules_of_run
    from translator.evaluation.metrics import sentence_bleu
    from translator.recipes.derived_recipe import derived_folder, recipe_file, write_derived
    from translator.recipes.distillation import plan_distillation
    from translator.run.folder import RunFolder
    from translator.run.made_files import filled_folder

    # 1. Decide.
    if options.beam < 2:
        raise InputError(f"--beam {options.beam}: distillation needs at least two hypotheses; 5 is usual")
    teacher = open_trained_run(options.run)
    student = derived_folder(options.output or f"{teacher.folder.path}-student", teacher.folder)
    corpus = corpus_of_run(teacher.config, rules_of_run(teacher.folder))
    monolingual = options.monolingual or []
    plan = plan_distillation(
        teacher.folder,
        corpus,
        student,
        has_monolingual=bool(monolingual),
        recipe=options.recipe,
        overrides=options.overrides,
    )
    recipe = recipe_file(student)
    beam_search = ("search.method=beam", f"search.beam_size={options.beam}")
    load_teacher = partial(load_model, (teacher.folder.path,), "auto", "best", "auto", beam_search)

    with filled_folder(plan.folder, monolingual, plan.outputs) as made_files:
        say(write_derived(teacher.folder, recipe, plan.config))

        # 2. The teacher translates; of its hypotheses for a pair, the one nearest to the reference is used.
        if plan.monolingual is not None:
            text = plan.monolingual
            write_monolingual(monolingual, teacher, text.source, made_files, RunFolder(student))
            write_translations(load_teacher, text.source, text.target, made_files)
        for pairs in plan.texts:
            write_translations(load_teacher, pairs.source, pairs.n_best, made_files, options.beam)
            references = corpus.lines("train", pairs.name, corpus.sides[1])
            write_best(pairs.n_best, references, corpus.fingerprint, sentence_bleu, pairs.best, made_files)

        # 3. The student learns.
        run_verb(train, ["--config", str(recipe)], stop)
        _export_and_compare(teacher.folder, student, corpus)


def _export_and_compare(teacher: "RunFolder", student: Path, corpus: "PreparedCorpus") -> None:
    """Export a student in int8, and compare its scores, size and speed with those of its teacher."""
    from translator.corpus.derived import test_set_arguments
    from translator.export.package import export_run
    from translator.inference.exported import is_export

    # Int8 is what a small student is made for: a quarter of the size, and faster on a CPU.
    small = student.with_name(f"{student.name}-int8")
    if is_export(small):
        say("", f"{small} exists and is reused; delete it to export the student again")
    else:
        export_run(student, "ctranslate2", small, quantization="int8")
    names = corpus.names("test")
    if not names:
        say("", f"no test text: {teacher.path} and {small} are not compared")
        return
    compare_runs(teacher.path, small, test_set_arguments(corpus))

    # Speed depends on the machine, so both models translate the same lines here and now.
    lines: list[str] = []
    for name in names:
        lines += corpus.lines("test", name, corpus.sides[0])
    lines = lines[:_TIMED_SENTENCES]
    teacher_line = _size_and_speed("teacher", teacher.path, lines)
    student_line = _size_and_speed("student in int8", small, lines)
    say("", teacher_line, student_line)
    say("", "Next:", f"  translator serve --run {shlex.quote(str(small))}")


def _size_and_speed(name: str, folder: Path, lines: Sequence[str]) -> str:
    """Return a line with size and speed of a run or an export; a first translation, to warm up, is not timed."""
    from translator.checkpoint.state import MODEL_FILE, find_checkpoint

    translator = load_model([folder], "auto", "best", "auto", ())
    translator.translate_lines(lines[:_WARM_UP_SENTENCES])
    start = time.perf_counter()
    translator.translate_lines(lines)
    speed = len(lines) / (time.perf_counter() - start)
    model = folder / "model.bin"  # of an export
    if not model.exists():
        model = find_checkpoint(folder / "checkpoints", "best") / MODEL_FILE
    return f"{name}: {model.stat().st_size / 1e6:.1f} MB, {speed:.0f} sentences a second ({translator.searcher.name})"
