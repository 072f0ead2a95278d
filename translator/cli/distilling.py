"""The verb distill: a small student learns the translations of a run (Kim and Rush 2016)."""

import argparse
import shlex
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from translator.checkpoint.state import MODEL_FILE, find_checkpoint
from translator.cli.arguments import load_model, say
from translator.cli.deriving import compare_runs, monolingual_lines, open_trained_run, write_translations
from translator.cli.training import train_recipe
from translator.corpus.derived import best_translations, corpus_of_run, read_texts, test_set_arguments, write_lines
from translator.corpus.normalizer.normalizer_file import rules_of_run
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.errors import InputError
from translator.evaluation.metrics import sentence_bleu
from translator.inference.engines.exported import is_export
from translator.recipes.derived_recipe import derived_folder, free_name, names_of
from translator.recipes.distillation import write_distillation
from translator.recipes.text_folder import text_folder
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest

_TIMED_SENTENCES: Final = 500
_WARM_UP_SENTENCES: Final = 8  # translated before the clock starts


def distill(options: argparse.Namespace, stop: StopRequest) -> None:
    """Train a student on the translations of a run, export it, and compare both."""
    # 1. Read the run and its text.
    if options.beam < 2:
        raise InputError(f"--beam {options.beam}: distillation needs at least two hypotheses; 5 is usual")
    teacher = open_trained_run(options.run)
    student = derived_folder(options.output or f"{teacher.path}-student", teacher)
    corpus = corpus_of_run(teacher.config(), rules_of_run(teacher))
    source_side, target_side = corpus.sides
    monolingual = None
    lines: list[str] = []
    if options.monolingual:
        monolingual = free_name("monolingual", names_of(teacher.config()))
        lines = monolingual_lines(options.monolingual, teacher)

    # 2. Write the recipe of the student.
    folder = student.with_name(f"{student.name}.text")
    recipe, line = write_distillation(
        teacher,
        corpus,
        student,
        folder,
        monolingual=monolingual,
        recipe=options.recipe,
        overrides=options.overrides,
    )
    say(line)

    # 3. The teacher translates; of its hypotheses for a pair, the one nearest to the reference is used.
    beam_search = ("search.method=beam", f"search.beam_size={options.beam}")
    load_teacher = partial(load_model, (teacher.path,), "auto", "best", "auto", beam_search)
    names = [f"{name}.{target_side}" for name in corpus.names("train")]
    if monolingual is not None:
        names += [f"{monolingual}.{source_side}", f"{monolingual}.{target_side}"]
    with text_folder(folder, names) as texts:
        if monolingual is not None:
            source = folder / f"{monolingual}.{source_side}"
            write_lines(source, lines)
            write_translations(load_teacher, source, texts, f"{monolingual}.{target_side}")
        for name in corpus.names("train"):
            n_best = f"{name}.jsonl"
            source = corpus.directory / "train" / f"{name}.{source_side}"
            write_translations(load_teacher, source, texts, n_best, options.beam)
            best = f"{name}.{target_side}"
            made_from = f"{corpus.fingerprint} {texts.made_from(n_best)}"
            if texts.made_from(best) != made_from:
                references = corpus.lines("train", name, target_side)
                write_lines(folder / best, best_translations(read_texts(folder / n_best), references, sentence_bleu))
                texts.note(best, made_from)

    # 4. The student learns.
    say("", f"translator train --config {shlex.quote(str(recipe))}", "")
    train_recipe(str(recipe), (), stop)
    _export_and_compare(teacher, student, corpus)


def _export_and_compare(teacher: RunFolder, student: Path, corpus: PreparedCorpus) -> None:
    """Export a student in int8, and compare its scores, size and speed with those of its teacher."""
    from translator.export.package import export_run  # with torch, after the mistakes of the user

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
    translator = load_model([folder], "auto", "best", "auto", ())
    translator.translate_lines(lines[:_WARM_UP_SENTENCES])
    start = time.perf_counter()
    translator.translate_lines(lines)
    speed = len(lines) / (time.perf_counter() - start)
    model = folder / "model.bin"  # of an export
    if not model.exists():
        model = find_checkpoint(folder / "checkpoints", "best") / MODEL_FILE
    return f"{name}: {model.stat().st_size / 1e6:.1f} MB, {speed:.0f} sentences a second ({translator.searcher.name})"
