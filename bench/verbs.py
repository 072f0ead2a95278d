"""Verbs killed on tiny models: `fine-tune`, `distill`, `back-translate`, `evaluate`, `export` and `download`."""

import contextlib
import functools
import http.server
import multiprocessing
import os
import random
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.kills import Case, Command, make_inputs, strike_all
from bench.options import FailedError, Options

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
    Case(
        "export",
        "export --run {work}/en-fa --to safetensors {work}/exported",
        outputs=("exported",),
        refused_when_done="is not empty",
    ),
    Case(
        "download",
        "download mizan --folder {work}/corpora",
        outputs=("corpora",),
        strangers_in=("corpora",),
    ),
    Case(
        "evaluate",
        "evaluate --run {work}/en-fa --test-set other={work}/new.tsv",
        outputs=("en-fa",),
        strangers_in=("en-fa/evaluation",),
    ),
    Case(
        "back-translate",
        "back-translate --run {work}/fa-en --monolingual {work}/more.fa --output {work}/pairs --engine torch",
        outputs=("pairs",),
        strangers_in=("pairs",),
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


class Slow(http.server.SimpleHTTPRequestHandler):
    """A local server that sends a file in small pieces, so that a kill strikes a download."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        with contextlib.suppress(ConnectionError):  # the client was killed
            while piece := source.read(2048):
                outputfile.write(piece)
                time.sleep(0.01)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def offer_small_corpus(folder: Path) -> None:
    """Let `translator download mizan` fetch a small corpus from a process of this computer."""
    from translator.corpus import public_corpora

    # 1. Serve it, until this process ends.
    lines = "".join(f"line {number} {random.Random(number).random()}\n" for number in range(2000))
    with zipfile.ZipFile(folder / "toy.zip", "w") as archive:
        archive.writestr("T.en-fa.en", lines)
        archive.writestr("T.en-fa.fa", lines)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Slow, directory=str(folder)))
    multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True).start()

    # 2. Let the verb find it.
    address = f"http://127.0.0.1:{server.server_port}/toy.zip"
    small_file = public_corpora.RemoteFile(address=address, name="mizan.zip")
    public_corpora.DATASETS["mizan"] = replace(public_corpora.DATASETS["mizan"], files=(small_file,))
    os.environ["no_proxy"] = "127.0.0.1"


def bench(options: Options) -> Iterator[str]:
    """Kill each verb and yield a line on it; errors as `strike_all`."""
    folder = make_inputs()
    chosen = options.chosen(case.name for case in CASES)
    commands = " ".join(case.command for case in CASES if case.name in chosen)
    for direction in ("en-fa", "fa-en"):
        if f"/{direction} " not in commands:
            continue
        training = Command(f"train --config {folder}/inputs/{direction}.yaml", folder / f"{direction}.log")
        training.start()
        training.join()
        if training.exitcode:
            raise FailedError(f"training ended with exit code {training.exitcode}: {training.output[-500:]}")
    offer_small_corpus(folder)
    yield from strike_all("verbs", CASES, folder, options)
