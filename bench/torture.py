"""Commands killed and stopped: in the end, their outputs must have the bytes of undisturbed ones."""

import shutil
import signal
import time
from collections.abc import Iterator
from typing import Final

from bench.kills import Case, Command, Torture, make_inputs
from bench.options import FailedError, Options

TRAIN: Final = (
    "train --config {work}/en-fa.yaml --set run.directory={work}/run corpus.prepared_directory={work}/prepared "
    "model.dropout=0.1 training.max_steps=72 training.accumulation_steps=2 training.log_every=3 "
    "training.validate_every=12 training.validation_sentences=8 training.checkpoint_every=5 "
    "training.keep_checkpoints=1 training.early_stopping=6 search.method=greedy "
)
"""A training with dropout, micro-batches, validation, checkpoints and early stopping, in seconds."""
ALL_THAT_DRAWS: Final = (
    "subword.model_type=unigram subword.vocabulary_size=40 subword.sampling=0.3 training.augmentation.typos=0.3 "
    "training.augmentation.final_punctuation=0.3 training.r_drop=1.0 training.ema_decay=0.9"
)
"""Everything that draws random numbers, and what follows the weights."""
SHORT: Final = (
    " --set training.max_steps=4 training.validate_every=2 training.checkpoint_every=2 training.schedule_clock=steps "
    "training.max_minutes=null training.dropout_from=0 run.threads=1 training.processes=1 "
    "corpus.prepared_directory={work}/prepared"
)
SMALL_STUDENT: Final = (
    " model.d_model=8 model.heads=2 model.encoder_layers=1 model.decoder_layers=1 model.feed_forward=16 "
    "subword.model_type=char subword.vocabulary_size=60 batching.tokens_per_batch=512 batching.max_length=64 "
    "training.initialization=random"
)
CASES: Final = (
    Case("plain", TRAIN, ("run",)),
    Case("all", TRAIN + ALL_THAT_DRAWS, ("run",)),
    Case("stop", TRAIN, ("run",), blows=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)),
    Case("processes", TRAIN + "training.processes=2", ("run",), has_ranks=True),
    Case(
        "export",
        "export --run {work}/en-fa --to safetensors {work}/exported",
        outputs=("exported",),
    ),
    Case(
        "evaluate",
        "evaluate --run {work}/en-fa --test-set other={work}/new.tsv",
        outputs=("en-fa",),
    ),
    Case(
        "back-translate",
        "back-translate --run {work}/fa-en --monolingual {work}/more.fa --output {work}/pairs --engine torch",
        outputs=("pairs",),
    ),
    Case(
        "fine-tune",
        "fine-tune --run {work}/en-fa --corpus {work}/new.tsv --output {work}/tuned" + SHORT,
        outputs=("tuned", "tuned.yaml", "tuned.text"),
    ),
    Case(
        "distill",
        "distill --run {work}/en-fa --monolingual {work}/more.en --output {work}/student --beam 2"
        + SHORT
        + SMALL_STUDENT,
        outputs=("student", "student.yaml", "student.text", "student-int8"),
    ),
)


def bench(options: Options) -> Iterator[str]:
    """Kill each command many times, and yield a line on it; the folder of all of them stays if one failed.

    Raises:
        ConfigError: a case is unknown.
        FailedError: a command failed.
    """
    # 1. The runs that the commands read.
    names = options.chosen(case.name for case in CASES)
    cases = [case for case in CASES if case.name in names]
    folder = make_inputs()
    for direction in ("en-fa", "fa-en"):
        if any(f"--run {{work}}/{direction}" in case.command for case in cases):
            training = Command(f"train --config {folder}/inputs/{direction}.yaml", folder / f"{direction}.log")
            training.start()
            training.join()
            if training.exitcode:
                raise FailedError(f"training ended with exit code {training.exitcode}: {training.output[-500:]}")

    # 2. The blows.
    failed = []
    for case in cases:
        began = time.monotonic()
        torture = Torture(case, folder, options.seed)
        torture.run(options.kills)
        verdict = "FAILED" if torture.failures else "PASSED"
        ends = ", ".join(f"{count} with {end}" for end, count in torture.ends.most_common())
        yield (
            f"{case.name}: {torture.struck} blows in {torture.series} series, {torture.seconds:.1f} s alone; {ends}; "
            f"{time.monotonic() - began:.0f} s; {verdict}"
        )
        for failure in torture.failures:
            yield f"  {failure}"
        if torture.failures:
            failed.append(case.name)
    if failed:
        raise FailedError(f"failed: {', '.join(failed)}; seed {options.seed}; logs kept in {folder}")
    shutil.rmtree(folder)
