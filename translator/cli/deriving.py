"""The verbs that build on a trained run: fine-tune, back-translate, distill; first what they share."""

import argparse
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from translator.checkpoint.state import MODEL_FILE, find_checkpoint
from translator.cli.arguments import load_model, say, search_flags
from translator.cli.training import train_recipe
from translator.corpus import derived
from translator.corpus.given_translations import choose_translations, read_translations
from translator.corpus.normalizer.normalizer_file import normalizer_of_run, rules_of_run
from translator.corpus.prepare import prepare_corpus
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.corpus.selecting.filters import PairFilter
from translator.corpus.sources import corpora_in_arguments, with_overrides
from translator.corpus.tags import without_tag
from translator.errors import InputError
from translator.evaluation.metrics import sentence_bleu, sentence_chrf, show_value
from translator.inference.engines.exported import is_export
from translator.inference.files.block_translation import Load
from translator.inference.files.document import Document
from translator.inference.files.file_translation import translate_file
from translator.inference.files.output_formats import OutputForm
from translator.recipes.corpus_recipe import measure
from translator.recipes.derived_recipe import derived_folder, free_name, names_of
from translator.recipes.distillation import write_distillation
from translator.recipes.fine_tuning import LARGEST_REPLAY, write_fine_tuning
from translator.recipes.text_folder import made_from, note_made_from, text_folder
from translator.run.folder import RunFolder
from translator.run.signals import StopRequest
from translator.run.text import text_table
from translator.search.loop_detection import looping_words

_LONGEST_NAME: Final = 60  # characters of the names of the new text, in the name of a fine-tuned run
_LEAST_CHRF: Final = 20.0  # of a round trip
_BACK_TRANSLATION_FILES: Final = ("monolingual.fa", "translated.en", "round-trip.fa", "synthetic.en", "synthetic.fa")
_TIMED_SENTENCES: Final = 500
_WARM_UP_SENTENCES: Final = 8  # translated before the clock starts


def open_trained_run(folder: str, direction: str | None = None) -> RunFolder:
    """Return the run at `folder`.

    Raises InputError: `folder` is an export, or the run has another `direction`, such as `fa-en`.
    """
    run = RunFolder.open(folder)
    if is_export(run.path):
        raise InputError(
            f"{folder} is an export, and this command needs the training text of the run; name the run folder"
        )
    run_direction = run.config().corpus.direction
    if direction is not None and run_direction != direction:
        raise InputError(f"{folder} translates {run_direction}; give a run with corpus.direction: {direction}")
    return run


def _corpus_of(run: RunFolder) -> PreparedCorpus:
    """Return the prepared text of a run, by its own rules; prepare it again if it is missing."""
    config = run.config()
    return prepare_corpus(config.corpus, config.evaluation.test_sources, rules_of_run(run))


def _train(recipe: Path, stop: StopRequest) -> None:
    """Train a recipe that was written here, and say how to do so again."""
    say("", f"translator train --config {shlex.quote(str(recipe))}", "")
    train_recipe(str(recipe), (), stop)


def compare_runs(before: Path, after: Path, test_sets: Sequence[str]) -> None:
    """Evaluate two runs on the same test sets; print score differences with p-values of paired bootstrap tests."""
    from translator.evaluation import System, evaluate_systems

    output = after / "evaluation"
    # The results of both go below `after`: an earlier evaluation in the folder of `before` may have more metrics.
    systems = [System((RunFolder(before),), results=output / before.name), System((RunFolder(after),))]
    evaluation = evaluate_systems(
        systems, test_sets=test_sets, overrides=["evaluation.metrics=[bleu, chrf]"], output=output
    )
    # One test suffices for this short table; the report in the folder has all of them.
    rows = []
    for comparison in evaluation.comparisons:
        for test in comparison.tests:
            if test.method == "bootstrap":
                scores = [show_value(test.metric, result.score) for result in test.systems]
                result_after = test.systems[-1]
                cells = [*scores, f"{result_after.difference:+.2f}", f"{result_after.p_value:.4f}"]
                rows.append([comparison.test_set, test.metric, *cells])
    header = ["test set", "metric", before.name, after.name, "difference", "p"]
    say("", text_table(header, rows, text_columns=2), f"For a browser: {evaluation.report}")


def monolingual_lines(files: Sequence[str], run: RunFolder) -> list[str]:
    """Return the distinct lines of text in one language, normalized as source text of `run`; print counts.

    Raises InputError: there is no text.
    """
    config = run.config()
    normalizer = normalizer_of_run(run, config)
    lines, counts = derived.read_monolingual(
        [Path(file) for file in files], normalizer, config.corpus.filters.max_words
    )
    if not lines:
        raise InputError(f"no line of {', '.join(files)} has text to translate ({format_counts(counts)})")
    say(f"{config.corpus.languages[0].name} lines: {format_counts(counts)}")
    return lines


def format_counts(counts: Counter[str]) -> str:
    """Return counts by reason, the largest first."""
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def write_translations(load: Load, source: Path, output: Path, count: int = 1) -> None:
    """Write `count` translations of each line of `source` to `output`, a file of a text folder; say so.

    An output that was made from the same text, model and settings is reused. Several translations of a line are one row
    of JSON Lines.
    """
    document = Document(source, OutputForm("text" if count == 1 else "jsonl", count))
    earlier_sha256 = made_from(output)  # of all that the output was made from
    sha256 = translate_file(load, document, output, earlier_sha256)
    note_made_from(output, sha256)
    say(f"{output} {'exists and is reused' if sha256 == earlier_sha256 else 'is written'}")


# --- the verbs ---


def fine_tune(options: argparse.Namespace, stop: StopRequest) -> None:
    """Continue the training of a run on new text, and compare both models."""
    # 1. Read the run and the new text, which gets names that the run does not have yet.
    if not 0 <= options.replay <= LARGEST_REPLAY:
        raise InputError(f"--replay {options.replay}: the share must be at least 0 and at most {LARGEST_REPLAY}")
    # The recipe gets all overrides below; here only those of the sources apply, since `measure` reads the sources.
    sources = with_overrides(corpora_in_arguments(options.corpora), options.overrides)
    parent = open_trained_run(options.run)
    taken_names = names_of(parent.config())
    sources = [source.model_copy(update={"name": free_name(source.name, taken_names)}) for source in sources]
    joined_names = "+".join(source.name for source in sources)[:_LONGEST_NAME]
    folder = derived_folder(options.output or f"{parent.path}-{joined_names}", parent)
    sizes = [measure([source]) for source in sources]

    # 2. Write the recipe and the sample of the old text, and train.
    recipe, lines = write_fine_tuning(
        parent,
        _corpus_of(parent),
        sources,
        sizes,
        folder,
        replay_share=options.replay,
        recipe=options.recipe,
        overrides=options.overrides,
    )
    say(*lines)
    _train(recipe, stop)

    # 3. Compare both models on old and new test text.
    corpus = _corpus_of(RunFolder.open(folder))  # it has the test text of both
    compare_runs(parent.path, folder, derived.test_set_arguments(corpus))
    example = parent.config().corpus.languages[0].example
    say("", "Next:", f'  translator translate --run {shlex.quote(str(folder))} "{example}"')


def back_translate(options: argparse.Namespace, stop: StopRequest) -> None:
    """Translate Persian text into English, and write the pairs that pass the filters."""
    # 1. Read the runs and the text.
    if options.min_chrf is not None and options.round_trip is None:
        raise InputError("--min-chrf has no meaning without --round-trip; name an en-fa run there, or leave it out")
    backward = open_trained_run(options.run, "fa-en")
    forward = None if options.round_trip is None else open_trained_run(options.round_trip, "en-fa")
    lines = monolingual_lines(options.monolingual, backward)

    folder = Path(options.output)
    monolingual, english, persian_again, *synthetic = (folder / name for name in _BACK_TRANSLATION_FILES)
    load_arguments = options.engine, "best", options.device, tuple(search_flags(options))
    with text_folder(folder, _BACK_TRANSLATION_FILES):
        # 2. Translate into English; for the filter by round trips, translate the English back.
        derived.write_texts(monolingual, lines)
        write_translations(partial(load_model, (backward.path,), *load_arguments), monolingual, english)
        scores = None  # chrF of each round trip against its line
        if forward is not None:
            write_translations(partial(load_model, (forward.path,), *load_arguments), english, persian_again)
            scores = sentence_chrf(list(derived.read_texts(persian_again)), [(line,) for line in lines])

        # 3. Write the pairs that pass the filters.
        least_chrf = _LEAST_CHRF if options.min_chrf is None else options.min_chrf
        filters = backward.config().corpus.filters
        pairs, counts = derived.synthetic_pairs(list(derived.read_texts(english)), lines, filters, scores, least_chrf)
        for side, file in enumerate(synthetic):
            derived.write_texts(file, (pair[side] for pair in pairs))
    say(f"back-translated pairs: {format_counts(counts)}")
    if not pairs:
        raise InputError(
            f"no back-translated pair is left; check the text ({monolingual}) and its translations ({english}), "
            "or loosen corpus.filters of the run"
        )
    # In the recipe back-translation, corpus.sources.2 is the synthetic text.
    settings = [
        f"corpus.sources.2.{key}_path={file}" for key, file in zip(("source", "target"), synthetic, strict=True)
    ]
    say("", "Next: mix them in, as configs/back-translation.yaml does:")
    say(f"  translator train --config back-translation --set {shlex.join(settings)}", "")


def distill(options: argparse.Namespace, stop: StopRequest) -> None:
    """Train a student on the translations of a run, export it, and compare both."""
    # 1. Read the run and its text.
    if options.beam < 2:
        raise InputError(f"--beam {options.beam}: distillation needs at least two hypotheses; 5 is usual")
    if options.translations and options.monolingual:
        raise InputError("with --translations the run translates nothing; leave out --monolingual, or --translations")
    teacher = open_trained_run(options.run)
    student = derived_folder(options.output or f"{teacher.path}-student", teacher)
    corpus = _corpus_of(teacher)
    names = corpus.names("train")
    given_pairs = None
    if options.translations is not None:
        given_pairs = _given_pairs(Path(options.translations), teacher, corpus)
        names = list(given_pairs)
    monolingual_name = free_name("monolingual", names_of(teacher.config()))
    own_lines: list[str] = []  # monolingual text of the user
    if options.monolingual:
        own_lines = monolingual_lines(options.monolingual, teacher)
        names = [*names, monolingual_name]

    # 2. Write the recipe of the student, which names the text to come. Its mistakes are told before hours of work.
    folder = student.with_name(f"{student.name}.text")
    recipe, line = write_distillation(
        teacher, corpus, student, names, folder, recipe=options.recipe, overrides=options.overrides
    )
    say(line)

    # 3. The teacher translates, unless the translations of another system are given.
    beam_search = ("search.method=beam", f"search.beam_size={options.beam}")
    load_teacher = partial(load_model, (teacher.path,), overrides=beam_search)
    source_side, target_side = corpus.sides
    text_files = [f"{name}.{side}" for name in names for side in corpus.sides]
    with text_folder(folder, text_files):  # refuses a folder of the user that has one of them
        for name in names:
            source, target = folder / f"{name}.{source_side}", folder / f"{name}.{target_side}"
            if given_pairs is not None:
                derived.write_texts(source, (pair[0] for pair in given_pairs[name]))
                derived.write_texts(target, (pair[1] for pair in given_pairs[name]))
            elif name == monolingual_name:
                derived.write_texts(source, own_lines)
                write_translations(load_teacher, source, target)
            else:
                derived.write_texts(source, corpus.lines("train", name, source_side))
                references = corpus.lines("train", name, target_side)
                _write_best_translations(load_teacher, source, references, target, options.beam)

    # 4. The student learns.
    _train(recipe, stop)
    _export_and_compare(teacher, student, corpus)


def _given_pairs(file: Path, teacher: RunFolder, corpus: PreparedCorpus) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs of a file of translations, and the training pairs that get no translation; print counts.

    The pairs, source and target, are listed by the names that they get among the sources of the student's recipe.

    Raises CorpusError: the file cannot be read; InputError: no translation passes the filters.
    """
    config = teacher.config()
    pair_filter = PairFilter(config.corpus.filters)

    def broken_rule(source: str, target: str) -> str | None:
        english, persian = (source, target) if corpus.sides[0] == "en" else (target, source)
        rule = pair_filter.broken_rule(english, persian)
        if rule is None and looping_words(source, target):  # loops are mistakes of translation systems only
            rule = "loop"
        return rule

    # 1. For each source in the file, the translation nearest to the reference of that source.
    references: dict[str, list[str]] = {}
    for name in corpus.names("train"):
        for source, target in corpus.pairs("train", name):
            references.setdefault(without_tag(source), []).append(target)
    counts = Counter[str]()
    rows = read_translations(file, counts)
    normalizer = normalizer_of_run(teacher, config)
    pairs = list(choose_translations(rows, references, normalizer, broken_rule, sentence_bleu, counts))
    say(f"{file}: {format_counts(counts)}")
    if not pairs:
        raise InputError(f"no translation in {file} passes the filters; check it, or loosen corpus.filters of the run")

    # 2. The training pairs whose source has no translation keep their references.
    pairs_by_name = {free_name("teacher", names_of(config)): pairs}
    translated = {source for source, _ in pairs}
    for name in corpus.names("train"):
        untranslated = [pair for pair in corpus.pairs("train", name) if without_tag(pair[0]) not in translated]
        if untranslated:
            pairs_by_name[name] = untranslated
    return pairs_by_name


def _write_best_translations(
    load_teacher: Load, source: Path, references: Iterator[str], target: Path, beam: int
) -> None:
    """Write to `target`, for each line of `source`, the one of `beam` hypotheses that is nearest to its reference."""
    n_best = target.with_suffix(".jsonl")
    write_translations(load_teacher, source, n_best, beam)
    derived.write_texts(target, derived.best_translations(derived.read_texts(n_best), references, sentence_bleu))


def _export_and_compare(teacher: RunFolder, student: Path, corpus: PreparedCorpus) -> None:
    """Export a student in int8, and compare its scores, size and speed with those of its teacher."""
    from translator.export.package import export_run  # imports torch: only after the user's mistakes are told

    # Int8 has a quarter of the size, and is faster on a CPU: what a student is for.
    int8_folder = student.with_name(f"{student.name}-int8")
    if is_export(int8_folder):
        say("", f"{int8_folder} exists and is reused; delete it to export the student again")
    else:
        export_run(student, "ctranslate2", int8_folder, quantization="int8")
    names = corpus.names("test")
    if not names:
        say("", f"no test text: {teacher.path} and {int8_folder} are not compared")
        return
    compare_runs(teacher.path, int8_folder, derived.test_set_arguments(corpus))

    # Speed depends on the machine, so both models translate the same lines here and now.
    lines: list[str] = []
    for name in names:
        lines += corpus.lines("test", name, corpus.sides[0])
    lines = lines[:_TIMED_SENTENCES]
    teacher_line = _size_and_speed("teacher", teacher.path, lines)
    student_line = _size_and_speed("student in int8", int8_folder, lines)
    say("", teacher_line, student_line)
    say("", "Next:", f"  translator serve --run {shlex.quote(str(int8_folder))}")


def _size_and_speed(name: str, folder: Path, lines: Sequence[str]) -> str:
    """Return a line with size and speed of a run or an export; a first translation, to warm up, is not timed."""
    translator = load_model([folder])
    translator.translate_lines(lines[:_WARM_UP_SENTENCES])
    start = time.perf_counter()
    translator.translate_lines(lines)
    speed = len(lines) / (time.perf_counter() - start)
    model_file = folder / "model.bin"  # of an export
    if not model_file.exists():
        model_file = find_checkpoint(folder / "checkpoints", "best") / MODEL_FILE
    return (
        f"{name}: {model_file.stat().st_size / 1e6:.1f} MB, {speed:.0f} sentences a second ({translator.searcher.name})"
    )
