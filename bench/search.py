"""Translation speed, text to text: torch, CTranslate2 and Hugging Face `generate` with the same weights.

Each contestant runs in one process per core, with one thread each.
"""

import contextlib
import functools
import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from bench.options import Options, in_turns, ratios, spread
from bench.processes import TRANSLATOR, run_command
from translator.config import Config
from translator.data import DataHandler
from translator.inference.translator import Translator
from translator.run.files import write_text
from translator.run.workers import WorkerPool, available_cores
from translator.speed.device import use_threads

RECIPES: Final = ("bench/search.yaml", "bench/training-sample.yaml")
SENTENCES: Final = 480
BATCH: Final = 64  # sentences of a batch of `generate`; our engines choose theirs
BEAMS: Final = (1, 5)


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on sentences per second.

    Raises ConfigError: the recipe is invalid, or a contestant is unknown; RunError: training or an export failed.
    """
    # 1. A trained run, its exports, and its test sentences.
    names = options.chosen(CONTESTANTS)
    config = options.load(*RECIPES)
    run = Path(config.run.directory)
    folder = options.output / "search-files"
    _train_and_export(config, run, folder)
    lines = _test_lines(config)
    yield f"search, d {config.model.d_model}, {len(lines)} sentences, {available_cores()} processes of one thread"

    # 2. Processes that run already.
    for beam in BEAMS:
        rates = _rates(names, run, folder, lines, beam, options.rounds)
        yield f"  beam {beam}: sentences a second, median (lowest to highest of {options.rounds} rounds)"
        for name, values in rates.items():
            yield f"    {name:<34} {spread(values, '{:,.1f}')}"
        for name in rates:
            if OURS in rates and name != OURS:
                yield f"    {OURS:<34} ÷ {name:<34} {ratios(rates[OURS], rates[name])}"


def _train_and_export(config: Config, run: Path, folder: Path) -> None:
    """Train the run of `config` if it is missing, and write its exports into `folder`; errors as `run_command`."""
    shutil.rmtree(folder, ignore_errors=True)
    write_text(folder / "recipe.yaml", config.model_dump_json())
    log = folder / "log.txt"
    if not (run / "checkpoints" / "best").exists():
        print(f"bench: training {run}; {log} has its output", file=sys.stderr, flush=True)
        run_command([*TRANSLATOR, "train", "--config", str(folder / "recipe.yaml")], log)
    run_command([*TRANSLATOR, "export", "--run", str(run), "--to", "marian", str(folder / "marian")], log)


def _test_lines(config: Config) -> list[str]:
    """Return evenly spaced sentences of the test text that fit into a row."""
    data = DataHandler(config)
    lines: list[str] = []
    for held_out in data.held_out("test"):
        lines += map(data.normalizer.source, held_out.sources)
    fitting_lines = []
    for line, ids in zip(lines, data.subword.source.encode(lines), strict=True):
        if 0 < len(ids) < config.batching.max_length:
            fitting_lines.append(line)
    spacing = max(1, len(fitting_lines) // SENTENCES)
    return fitting_lines[::spacing][:SENTENCES]


def _rates(
    names: Sequence[str], run: Path, folder: Path, lines: Sequence[str], beam: int, rounds: int
) -> dict[str, list[float]]:
    """Return the sentences per second of each contestant in each round."""
    cores = available_cores()
    by_length = sorted(lines, key=len, reverse=True)

    def rate(pool: WorkerPool) -> float:
        began = time.perf_counter()
        parts = [pool.submit((by_length[core::cores], beam)) for core in range(cores)]
        count: int = sum(part.result() for part in parts)
        return count / (time.perf_counter() - began)

    rates: dict[str, list[float]] = {name: [] for name in names}
    pools: dict[str, WorkerPool] = {}
    with contextlib.ExitStack() as stack:
        for name in names:
            pool = WorkerPool(functools.partial(_contestant, name, run, folder), cores)
            pools[name] = stack.enter_context(contextlib.closing(pool))
            rate(pool)  # warm-up
        for name in in_turns(names, rounds):
            rates[name].append(rate(pools[name]))
    return rates


# --- in a process of a contestant ---

Translate = Callable[[Sequence[str], int], int]
"""Translates lines with this beam, and returns the number of translations."""


def _engine(run: Path, folder: Path, engine: str, precision: str) -> Translate:
    loaded: dict[int, Translator] = {}

    def translate(lines: Sequence[str], beam: int) -> int:
        if beam not in loaded:
            method = "greedy" if beam == 1 else "beam"
            overrides = [f"search.method={method}", f"search.beam_size={beam}", f"search.precision={precision}"]
            loaded[beam] = Translator.load(run, engine=engine, overrides=overrides)
        return len(loaded[beam].translate_lines(lines))

    return translate


def _transformers(run: Path, folder: Path) -> Translate:
    library: Any = importlib.import_module("transformers")
    library.logging.set_verbosity_error()
    model = library.MarianMTModel.from_pretrained(str(folder / "marian"), local_files_only=True).eval()
    tokenizer = library.MarianTokenizer.from_pretrained(str(folder / "marian"), local_files_only=True)

    @torch.inference_mode()
    def translate(lines: Sequence[str], beam: int) -> int:
        translations: list[str] = []
        for start in range(0, len(lines), BATCH):  # lines come sorted by length
            batch = tokenizer(list(lines[start : start + BATCH]), return_tensors="pt", padding=True)
            output = model.generate(**batch, num_beams=beam, do_sample=False, max_new_tokens=128)
            translations += tokenizer.batch_decode(output, skip_special_tokens=True)
        return len(translations)

    return translate


OURS: Final = "translator float32"
CONTESTANTS: Final[dict[str, Callable[[Path, Path], Translate]]] = {
    OURS: functools.partial(_engine, engine="torch", precision="float32"),
    "CTranslate2 float32": functools.partial(_engine, engine="ctranslate2", precision="float32"),
    "CTranslate2 int8": functools.partial(_engine, engine="ctranslate2", precision="int8"),
    "transformers": _transformers,
}
"""What each contestant translates with, from the run and the folder of its exports."""


def _contestant(name: str, run: Path, folder: Path) -> Callable[[tuple[Sequence[str], int]], int]:
    """Return the function of a process of contestant `name`."""
    use_threads(1)
    translate = CONTESTANTS[name](run, folder)
    return lambda work: translate(*work)
