"""All GPU benchmarks in one call of at most eight minutes: `make bench-gpu`.

`loop` is the product's own loop: `translator train` on a generated corpus, waiting for data included. `search` times
greedy and beam search of Transformer-base. `sample` trains the sample's recipe.
"""

import functools
import json
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch

from bench.generated import generated_recipe, write_corpus
from bench.gpu_search import bench_search
from bench.options import FailedError, Options, spread
from bench.processes import TRANSLATOR, run_command
from translator.errors import ConfigError
from translator.plots.curves import read_curves
from translator.run.folder import RunFolder
from translator.speed.device import choose_device

SIZES: Final[Mapping[str, Mapping[str, Any]]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}
_NEVER: Final = 1_000_000  # updates


@dataclass(frozen=True)
class Work:
    """The data and the duration of the measurements."""

    device: torch.device
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: SIZES)
    pairs: int = 150_000  # of the generated corpus
    vocabulary: int = 8_000
    rows: int = 256  # of a batch
    row_length: int = 128
    loop_minutes: float = 0.5  # of each `translator train`, the compilation included
    log_every: int = 50  # updates of a report of that training
    sentences: int = 4_400  # that are searched


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the GPU.

    Raises:
        ConfigError: there is no GPU, or a part is unknown.
        FailedError: a part failed; the others have run.
    """
    parts = options.chosen(PARTS)
    if not torch.cuda.is_available():
        raise ConfigError("the GPU benchmark needs a CUDA GPU, but torch finds none here")
    work = Work(choose_device("cuda"))
    yield f"{torch.cuda.get_device_name(work.device)}, torch {torch.__version__}"
    yield from run_parts(parts, work, options.output / "gpu")


def run_parts(parts: list[str], work: Work, folder: Path) -> Iterator[str]:
    """Yield the lines of `parts`; raise FailedError if one failed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    failed = []
    for name in parts:
        began = time.monotonic()
        try:
            yield from PARTS[name](work, folder)
        except Exception as error:  # noqa: BLE001 - the time on a card is short: the other parts go on
            failed.append(name)
            traceback.print_exc()
            yield f"  {name}: FAILED: {type(error).__name__}: {error}"
        yield f"    ({time.monotonic() - began:.0f} s)"
    if failed:
        raise FailedError(f"failed: {', '.join(failed)}; see {folder}/log.txt")


def _loop(work: Work, folder: Path, size: str) -> Iterator[str]:
    """Yield the speed of `translator train` on the generated corpus."""
    # 1. The recipe of a short training, without what is not the loop.
    run = RunFolder(folder / f"loop-{size}")
    recipe = {
        **generated_recipe(folder, work.vocabulary, work.rows, work.row_length),
        "run": {"directory": str(run.path), "device": work.device.type},
        "model": {"dropout": 0.1, **work.sizes[size]},
        "training": {
            "max_steps": _NEVER,
            "max_minutes": work.loop_minutes,
            "log_every": work.log_every,
            "validate_every": _NEVER,
            "checkpoint_every": _NEVER,
            "processes": 1,
        },
        "search": {"method": "greedy"},
    }
    config = folder / f"loop-{size}.json"
    config.write_text(json.dumps(recipe), encoding="utf-8")

    # 2. The corpus, which the first training prepares.
    if not (folder / "corpus.tsv").exists():
        write_corpus(folder, work.pairs, work.vocabulary, work.row_length)

    # 3. The training; its first report includes the compilation.
    run_command([*TRANSLATOR, "train", "--config", str(config)], folder / "log.txt")
    curves = read_curves(run.path)
    speeds = curves["speed/tokens_per_second"][1].tolist()
    waits = curves["speed/data_wait"][1].tolist()
    speeds, waits = speeds[1:] or speeds, waits[1:] or waits
    choices = run.sessions()[-1]["choices"]
    yield f"  translator train, Transformer-{size}, {work.rows} rows of {work.row_length}, {len(speeds)} reports:"
    yield (
        f"    {spread(speeds, '{:,.0f}')} target tokens a second, waits {spread(waits, '{:.2%}')} of the time for data"
    )
    yield f"    compiled: {choices['compile']}, captured: {choices['capture']}"


def _search(work: Work, folder: Path) -> Iterator[str]:
    """Yield the speed of searches."""
    yield from bench_search(work.sizes["base"], work.vocabulary, work.sentences, work.device)


def _sample(work: Work, folder: Path) -> Iterator[str]:
    """Yield time and score of the sample's recipe."""
    run = RunFolder(folder / "sample")
    settings = [f"run.directory={run.path}", f"run.device={work.device.type}"]
    began = time.monotonic()
    run_command([*TRANSLATOR, "train", "--config", "sample", "--set", *settings], folder / "log.txt")
    seconds = time.monotonic() - began
    score = json.loads((run.evaluation_folder / "scores.json").read_text(encoding="utf-8"))[0]
    yield f"  the sample: {seconds:.0f} s from the start to the scores, {score['metric']} {score['score']:.2f}"


Measure = Callable[[Work, Path], Iterator[str]]
"""Yields a report; the path is a folder for its files."""
PARTS: Final[Mapping[str, Measure]] = {
    "loop-base": functools.partial(_loop, size="base"),
    "loop-big": functools.partial(_loop, size="big"),
    "search": _search,
    "sample": _sample,
}
"""The parts in the order of their importance."""
