"""The verbs fine-tune, back-translate and distill: each builds on a trained run and prints the commands it runs."""

import argparse
import filecmp
import itertools
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from translator.cli.arguments import RUN, SEARCH, SET, load_model, option, place, repeat_set, say, search_flags, verb
from translator.errors import InputError
from translator.inference.output import OutputForm
from translator.inference.stream import Work, translate_file
from translator.run.signals import StopRequest

if TYPE_CHECKING:
    from translator.config import Config
    from translator.inference.translator import Translator
    from translator.run.folder import RunFolder

_CORPUS: Final = "the new text, in any form that `translator train --corpus` accepts; repeat it for several corpora"
_ALONE: Final = "one sentence per line, in UTF-8 or UTF-16, plain or compressed by gzip, xz or zstd"
_FEWEST_UPDATES: Final = 900
_BATCH: Final = 2048  # tokens at most: in the same time, small batches gain more
_PASSES: Final = 3  # over the new text, but at least `_FEWEST_UPDATES` updates
_REPLAYED: Final = 50_000  # old pairs, or all if fewer; more if the new text has more: preparing all takes minutes
_MOST_REPLAYED: Final = 0.99  # share of the training text: the updates grow with 1 / (1 - share)
_TOKENS_A_WORD: Final = 1.5
_TIMED: Final = 500  # sentences whose translation is timed


def _free_name(name: str, known: Container[str]) -> str:
    names = itertools.chain((name, f"{name}-new"), (f"{name}-new-{number}" for number in itertools.count(2)))
    return next(one for one in names if one not in known)


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
    from translator.corpus.derived import (
        corpus_of_run,
        inherited_sources,
        test_set_arguments,
        training_weights,
        write_sample,
    )
    from translator.corpus.normalizer_file import rules_of_run
    from translator.corpus.sources import corpora_in_arguments, with_overrides
    from translator.recipes.corpus_recipe import measure, shipped_settings, write_derived
    from translator.run.folder import RunFolder

    if not 0 <= options.replay <= _MOST_REPLAYED:
        raise InputError(f"--replay {options.replay}: the share must be at least 0 and at most {_MOST_REPLAYED}")
    new = with_overrides(corpora_in_arguments(options.corpora), options.overrides)
    run, config = _opened(options.run)
    old = corpus_of_run(config, rules_of_run(run))
    known = {one.name for one in (*config.corpus.sources, *config.evaluation.test_sets)}
    new = [one.model_copy(update={"name": _free_name(one.name, known)}) for one in new]
    folder = Path(options.output or f"{run.path}-{'+'.join(one.name for one in new)[:60]}")
    sizes = [measure([one]) for one in new]
    pairs, words = sum(size.pairs for size in sizes), sum(size.words for size in sizes)
    if not pairs:
        raise InputError("the new text has no sentence pairs; give files with one sentence per line")
    held_out = min(500 // len(new), *(size.pairs // 10 for size in sizes))  # for testing, of each new corpus
    validating = (held_out + 1) // 2  # of each new corpus; they only choose the checkpoint
    batch = min(config.batching.tokens_per_batch, max(_BATCH, config.batching.max_length))
    read = batch * config.training.accumulation_steps * (1 - options.replay)
    steps = max(_FEWEST_UPDATES, round(_PASSES * _TOKENS_A_WORD * words / read))
    weight = training_weights(config)
    # Old text is drawn in proportion to weight × pairs; the new text has weight 1.
    mass = sum(weight(name) * old.count("train", name) for name in old.names("train"))
    share = options.replay / (1 - options.replay) * (pairs - (held_out + validating) * len(new)) / mass
    # Of each source, one pair in `spacing` is replayed, with its weight multiplied by `spacing`.
    most = max(_REPLAYED, pairs)
    spacing = {name: max(1.0, mass / (weight(name) * most)) for name in old.names("train")}
    text = folder.with_name(f"{folder.name}.text") / old.fingerprint  # a name that no run gets by default
    weights = {name: share * weight(name) * step for name, step in spacing.items()}
    replayed = inherited_sources(old, "train", weights.__getitem__, folder=text) if options.replay else []
    # Old and new text have equal shares of the validation text, so the best checkpoint suits both.
    names = old.names("validation")
    validation = inherited_sources(old, "validation", most=max(1, validating // max(1, len(names))))
    # The run's placeholders come with its subword models, and so does the share of pairs that teaches to copy them.
    training = shipped_settings(options.recipe, "training")
    training = [setting for setting in training if not setting.startswith("training.augmentation.copies=")]
    line = write_derived(
        run,
        folder.with_name(f"{folder.name}.yaml"),
        [*new, *replayed, *validation, *inherited_sources(old, "test")],
        [
            *training,
            *(one for one in shipped_settings(options.recipe, "model") if one.partition("=")[0].endswith("dropout")),
            f"training.learning_rate={config.training.learning_rate / 3}",
            f"training.max_steps={steps}",
            f"training.validate_every={-(-steps // 6)}",
            f"training.checkpoint_every={-(-steps // 6)}",
            f"training.initialize_from={json.dumps(str(run.path.resolve()))}",
            f"subword.models_from={json.dumps(str(run.path.resolve()))}",
            f"training.validation_sentences={max(1, min(50, 2 * validating))}",
            f"corpus.split.validation={validating}",
            f"corpus.split.test={held_out}",
            f"batching.tokens_per_batch={batch}",
            "batching.temperature=1.0",
            *options.overrides,
        ],
    )
    say(line, f"  {pairs:,} new pairs and {options.replay:.0%} old text; {steps:,} updates unless --set changes that")
    if replayed:
        write_sample(old, spacing, text)
    say(f"  held out of each new corpus: {validating:,} pairs for validation, {held_out:,} for testing")
    _run_verb(stop, "train", "--config", str(folder.with_name(f"{folder.name}.yaml")))
    tuned = RunFolder.open(folder)
    _compare(run.path, folder, test_set_arguments(corpus_of_run(tuned.config(), rules_of_run(tuned))))
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

    if options.min_chrf is not None and options.round_trip is None:
        raise InputError("--min-chrf has no meaning without --round-trip; name an en-fa run there, or leave it out")
    run, config = _opened(options.run, "fa-en")
    forward = None if options.round_trip is None else _opened(options.round_trip, "en-fa")[0]
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    persian, english, back = (folder / name for name in ("monolingual.fa", "translated.en", "round-trip.fa"))
    _write_monolingual(options.monolingual, run, config, persian)
    model = options.engine, "best", options.device, tuple(search_flags(options))
    _translate(partial(load_model, (run.path,), *model), persian, english)
    scores = None
    if forward is not None:
        _translate(partial(load_model, (forward.path,), *model), english, back)
        scores = sentence_chrf(list(read_texts(back)), [(text,) for text in read_texts(persian)])
    synthetic = folder / "synthetic"
    counts = write_synthetic(
        english,
        persian,
        config.corpus.filters,
        synthetic,
        scores,
        20.0 if options.min_chrf is None else options.min_chrf,
    )
    say(f"back-translated pairs: {_counted(counts)}")
    if not counts["kept"]:
        raise InputError(
            f"no back-translated pair is left; check the text ({persian}) and its translations ({english}), or loosen "
            "corpus.filters of the run"
        )
    say("", "Next: mix them in, as configs/back-translation.yaml does:")
    paths = [f"corpus.sources.2.{side}_path={synthetic}.{code}" for side, code in (("source", "en"), ("target", "fa"))]
    say(f"  translator train --config back-translation --set {shlex.join(paths)}", "")


def _write_monolingual(
    files: Sequence[str], run: "RunFolder", config: "Config", output: Path, student: "RunFolder | None" = None
) -> None:
    """Write the distinct lines of `files` to `output`; print counts. A trained `student` keeps its text."""
    from translator.corpus.derived import write_monolingual
    from translator.corpus.normalizer_file import normalizer_of_run

    new = output.with_name(f"{output.name}.new")
    normalizer = normalizer_of_run(run, config)
    try:
        counts = write_monolingual([Path(file) for file in files], normalizer, config.corpus.filters.max_words, new)
        if not counts["kept"]:
            raise InputError(f"no line of {', '.join(files)} has text to translate ({_counted(counts)})")
        trained = student is not None and student.has_checkpoint and output.exists()
        if trained and not filecmp.cmp(new, output, shallow=False):
            raise InputError(f"the student was trained on other text than {', '.join(files)}; give another --output")
        new.replace(output)
    finally:
        new.unlink(missing_ok=True)
    say(f"{config.corpus.languages[0].name} lines: {_counted(counts)}")


def _counted(counts: "Counter[str]") -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in counts.most_common())


def _translate(load: "Callable[[], Translator]", source: Path, output: Path, count: int = 1) -> None:
    """Write `count` translations of each line of `source` to `output` unless it is complete; print what was done."""
    work = Work(load, OutputForm("text" if count == 1 else "jsonl", count))
    made = translate_file(work, source, output, reuse=True)
    say(f"{output} {'is written' if made else 'exists and is reused'}")


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
    from translator.config import SourceConfig
    from translator.corpus.derived import (
        corpus_of_run,
        inherited_sources,
        test_set_arguments,
        training_weights,
        write_best,
    )
    from translator.corpus.normalizer_file import rules_of_run
    from translator.evaluation.metrics import sentence_bleu
    from translator.export.package import export_run
    from translator.inference.exported import is_export
    from translator.recipes.corpus_recipe import shipped_settings, write_derived
    from translator.run.folder import RunFolder

    if options.beam < 2:
        raise InputError(f"--beam {options.beam}: distillation needs at least two hypotheses; 5 is usual")
    run, config = _opened(options.run)
    corpus = corpus_of_run(config, rules_of_run(run))
    source, target = corpus.sides
    student = Path(options.output or f"{run.path}-student")
    text = student.with_name(f"{student.name}-text")
    text.mkdir(parents=True, exist_ok=True)
    originals = inherited_sources(corpus, "train", training_weights(config))
    key = "target_path" if target == "fa" else "source_path"
    sources = [one.model_copy(update={key: str((text / f"{one.name}.{target}").resolve())}) for one in originals]
    name = _free_name("monolingual", {one.name for one in (*config.corpus.sources, *config.evaluation.test_sets)})
    alone = {side: text / f"{name}.{side}" for side in corpus.sides}
    if options.monolingual:
        english, persian = (str(alone[side].resolve()) for side in ("en", "fa"))
        sources.append(SourceConfig(name=name, source_path=english, target_path=persian, use="train"))
    held_out = [*inherited_sources(corpus, "validation"), *inherited_sources(corpus, "test")]
    recipe = student.with_name(f"{student.name}.yaml")
    settings = shipped_settings(options.recipe, "subword", "model", "training", defaults=True)
    # A small teacher's text does not allow as many pieces as the recipe has.
    pieces = next(int(one.partition("=")[2]) for one in settings if one.startswith("subword.vocabulary_size="))
    settings.append(f"subword.vocabulary_size={min(pieces, config.subword.vocabulary_size // 2)}")
    if source == "fa":  # these change English input only
        settings += [f"training.augmentation.{kind}=0" for kind in ("typos", "final_punctuation", "case")]
    say(write_derived(run, recipe, [*sources, *held_out], [*settings, *options.overrides]))
    beam = ("search.method=beam", f"search.beam_size={options.beam}")
    teacher = partial(load_model, (run.path,), "auto", "best", "auto", beam)
    if options.monolingual:
        _write_monolingual(options.monolingual, run, config, alone[source], RunFolder(student))
        _translate(teacher, alone[source], alone[target])
    for one in originals:
        paths = {"en": Path(str(one.source_path)), "fa": Path(str(one.target_path))}
        n_best, best = text / f"{one.name}.jsonl", text / f"{one.name}.{target}"
        _translate(teacher, paths[source], n_best, options.beam)
        write_best(n_best, corpus.lines("train", one.name, target), corpus.fingerprint, sentence_bleu, best)
    _run_verb(stop, "train", "--config", str(recipe))
    small = student.with_name(f"{student.name}-int8")
    if is_export(small):
        say("", f"{small} exists and is reused; delete it to export the student again")
    else:
        export_run(student, "ctranslate2", small, quantization="int8")
    if not corpus.names("test"):
        say("", f"no test text: {run.path} and {small} are not compared")
        return
    _compare(run.path, small, test_set_arguments(corpus))
    lines = [line for name in corpus.names("test") for line in corpus.lines("test", name, source)][:_TIMED]
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
