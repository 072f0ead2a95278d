"""All GPU benchmarks in one call of at most eight minutes: `make bench-gpu`.

`loop` is the product's own loop: `translator train` on a generated corpus, waiting for data included. `search` times
greedy and beam search of Transformer-base. `sample` trains the sample's recipe, and restarts it.
`training` trains on real text for the time that is left. Parts for which there is no time left are left out.
"""

import gc
import json
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from bench.generated import write_text
from bench.gpu_sample import bench_sample
from bench.gpu_search import bench_search
from bench.gpu_training import bench_training
from bench.options import FailedError, Options, spread
from bench.processes import TRANSLATOR, run_command
from translator.errors import ConfigError
from translator.plots.curves import read_curves
from translator.run.files import write_json
from translator.run.folder import RunFolder
from translator.speed.device import choose_device

SIZES: Final[Mapping[str, Mapping[str, Any]]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}
PARTS: Final = ("loop-base", "loop-big", "search", "sample", "training")
"""In the order of their importance."""
_CURVES: Final = {
    "tokens_per_second": "speed/tokens_per_second",
    "data_wait": "speed/data_wait",
}
"""What the line of a training reports, by TensorBoard tag."""


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
    seconds: float = 465.0  # of all parts


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the GPU, and write all figures to gpu.json.

    Raises:
        ConfigError: there is no GPU, or a part is unknown.
        FailedError: a part failed; the others have run.
    """
    parts = options.chosen(PARTS)
    if not torch.cuda.is_available():
        raise ConfigError("the GPU benchmark needs a CUDA GPU, but torch finds none here")
    work = Work(choose_device("cuda"))
    yield f"{torch.cuda.get_device_name(work.device)}, torch {torch.__version__}"
    yield from run_parts(parts, work, options.output)


def run_parts(parts: list[str], work: Work, output: Path) -> Iterator[str]:
    """Yield the lines of `parts` while there is time, and write their figures; raise FailedError if one failed."""
    folder = output / "gpu"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    results: dict[str, Any] = {"device": str(work.device), "torch": torch.__version__}
    failures: list[str] = []
    for name, seconds_needed, measure in _measurements(parts, work, folder, results):
        remaining = work.seconds - (time.monotonic() - began)
        if remaining < seconds_needed:
            yield f"  {name}: left out; it needs {seconds_needed:.0f} s, and {remaining:.0f} s remain"
            continue
        part_began = time.monotonic()
        try:
            yield from measure()
        except Exception as error:  # noqa: BLE001 - the time on a card is short: the other parts go on
            failures.append(name)
            (folder / "failures.txt").open("a", encoding="utf-8").write(f"{name}\n{traceback.format_exc()}\n")
            yield f"  {name}: FAILED: {type(error).__name__}: {error}"
        _free_memory(work.device)
        yield f"    ({time.monotonic() - part_began:.0f} s)"
        write_json(output / "gpu.json", results)
    yield f"  written: {output}/gpu.json"
    if failures:
        raise FailedError(f"failed: {', '.join(failures)}; see {folder}/failures.txt")


Measurement = tuple[str, float, Callable[[], Iterator[str]]]


def _measurements(parts: list[str], work: Work, folder: Path, results: dict[str, Any]) -> Iterator[Measurement]:
    """Yield name, least seconds and function of each measurement of `parts`."""
    ends_at = time.monotonic() + work.seconds
    for part in parts:
        kind, _, size = part.partition("-")  # such as `loop` and `base`
        results.setdefault(kind, {})
        if kind == "loop":
            yield part, 60 * work.loop_minutes, partial(bench_loop, size, work.sizes[size], work, folder, results)
        elif kind == "search":
            yield part, 20.0, partial(bench_search, work.sizes["base"], work.vocabulary, work.device, results)
        elif kind == "sample":
            yield part, 130.0, partial(bench_sample, folder, work.device, results)
        else:
            yield part, 150.0, partial(bench_training, folder, work.device, ends_at, results)


def _free_memory(device: torch.device) -> None:
    gc.collect()
    torch._dynamo.reset()
    if device.type == "cuda":
        torch.cuda.empty_cache()


# --- the product's own loop ---


def bench_loop(name: str, sizes: Mapping[str, Any], work: Work, folder: Path, results: dict[str, Any]) -> Iterator[str]:
    """Yield the speed of `translator train` on the generated corpus, which the first call prepares."""
    corpus = folder / "corpus.tsv"
    config = folder / f"loop-{name}.json"
    run = folder / f"loop-{name}"
    config.write_text(json.dumps(loop_recipe(sizes, work, corpus, run)), encoding="utf-8")
    if not corpus.exists():
        write_text(corpus, work.pairs, words=work.vocabulary * 3 // 4, longest=work.row_length * 3 // 4)
        began = time.monotonic()
        run_command([*TRANSLATOR, "prepare", "--config", str(config)], folder / "log.txt")
        yield f"  {work.pairs:,} generated pairs are prepared in {time.monotonic() - began:.0f} s"
    run_command([*TRANSLATOR, "train", "--config", str(config)], folder / "log.txt")
    curves = read_curves(run)
    figures: dict[str, list[float]] = {}
    for figure, tag in _CURVES.items():
        values = curves[tag][1].tolist()
        # The first report includes the compilation.
        figures[figure] = values[1:] or values
    choices = RunFolder(run).sessions()[-1]["choices"]
    results["loop"][name] = {"figures": figures, "choices": choices}
    speeds = figures["tokens_per_second"]
    yield f"  translator train, Transformer-{name}, {work.rows} rows of {work.row_length}, {len(speeds)} reports:"
    yield (
        f"    {spread(speeds, '{:,.0f}')} target tokens a second, "
        f"waits {spread(figures['data_wait'], '{:.2%}')} of the time for data"
    )
    yield f"    compiled: {_yes_or_no(choices['compile'])}, captured: {_yes_or_no(choices['capture'])}"


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def loop_recipe(sizes: Mapping[str, Any], work: Work, corpus: Path, run: Path) -> dict[str, Any]:
    """Return the recipe of a short training on the generated corpus, without what is not the loop."""
    never = 1_000_000
    return {
        "run": {"directory": str(run), "device": work.device.type},
        "corpus": {
            "sources": [{"name": "generated", "path": str(corpus)}],
            "prepared_directory": str(corpus.parent / "prepared"),
            "filters": {"min_target_script": None, "max_untranslated": None, "near_duplicates": None},
            "split": {"validation": 20, "test": 20},
        },
        "subword": {"model_type": "bpe", "vocabulary_size": work.vocabulary},
        "batching": {"tokens_per_batch": work.rows * work.row_length, "max_length": work.row_length},
        "model": {"dropout": 0.1, **sizes},
        "training": {
            "max_steps": never,
            "max_minutes": work.loop_minutes,
            "log_every": work.log_every,
            "validate_every": never,
            "checkpoint_every": never,
            "processes": 1,
        },
        "search": {"method": "greedy"},
    }
