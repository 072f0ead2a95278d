"""Translation speed, text to text, compared with CTranslate2 and Hugging Face `generate` with the same weights.

Each contestant runs in one process per core, with one thread each.
"""

import contextlib
import functools
import importlib
import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import torch

from bench.options import Options, in_turns, ratios, spread
from bench.processes import TRANSLATOR, environment, run_command
from translator.config import Config
from translator.data import DataHandler
from translator.inference.translator import Translator
from translator.run.files import write_text
from translator.run.workers import WorkerPool, available_cores
from translator.speed.device import use_threads

RECIPES: Final = ("bench/search.yaml", "bench/training-sample.yaml")
SENTENCES: Final = 480
SIZES: Final = (32, 64, 128)
"""Sentences per batch: the fastest value for each other library; ours chooses its own."""
BEAMS: Final = (1, 5)
FORMATS: Final = ("ctranslate2", "marian")
SHELL: Final = {
    "translator translate": ["--engine", "torch"],
    "the same, CTranslate2 float32": ["--engine", "ctranslate2"],
    "the same, CTranslate2 int8": ["--engine", "ctranslate2", "--precision", "int8"],
}
MOST_SHELL_ROUNDS: Final = 3


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
    other_names = [name for name in names if name != OURS]
    for beam in BEAMS:
        rates = _rates(names, run, folder, lines, beam, options.rounds)
        yield f"  beam {beam}: sentences a second, median (lowest to highest of {options.rounds} rounds)"
        for name, values in rates.items():
            yield f"    {name:<34} {spread(values, '{:,.1f}')}"
        for name in other_names if OURS in names else []:
            yield f"    {OURS:<34} ÷ {name:<34} {ratios(rates[OURS], rates[name])}"

    # 3. The command, from its start.
    seconds = _from_the_shell(run, folder, lines, min(options.rounds, MOST_SHELL_ROUNDS))
    yield "  from the shell, beam 5, start included: seconds"
    first_name, first_values = next(iter(seconds.items()))
    for name, values in seconds.items():
        ratio = "" if name == first_name else f"÷ {first_name} {ratios(values, first_values)}"
        yield f"    {name:<34} {spread(values, '{:.1f}'):<28} {ratio}".rstrip()


def _train_and_export(config: Config, run: Path, folder: Path) -> None:
    """Train the run of `config` if it is missing, and write its exports into `folder`; errors as `run_command`."""
    shutil.rmtree(folder, ignore_errors=True)
    write_text(folder / "recipe.yaml", config.model_dump_json())
    log = folder / "log.txt"
    if not (run / "checkpoints" / "best").exists():
        print(f"bench: training {run}; {log} has its output", file=sys.stderr, flush=True)
        run_command([*TRANSLATOR, "train", "--config", str(folder / "recipe.yaml")], log)
    for form in FORMATS:
        run_command([*TRANSLATOR, "export", "--run", str(run), "--to", form, str(folder / form)], log)


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

    def rate(pool: WorkerPool, size: int) -> float:
        began = time.perf_counter()
        parts = [pool.submit((by_length[core::cores], beam, size)) for core in range(cores)]
        count: int = sum(part.result() for part in parts)
        return count / (time.perf_counter() - began)

    rates: dict[str, list[float]] = {name: [] for name in names}
    pools: dict[str, WorkerPool] = {}
    sizes: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        # 1. Start the contestants, and choose their batch sizes.
        for name in names:
            pool = WorkerPool(functools.partial(_contestant, name, run, folder), cores)
            pools[name] = stack.enter_context(contextlib.closing(pool))
            rate(pool, SIZES[0])  # warm-up
            sizes[name] = SIZES[0] if name == OURS else max(SIZES, key=functools.partial(rate, pool))

        # 2. Measure them in turns.
        for name in in_turns(names, rounds):
            rates[name].append(rate(pools[name], sizes[name]))
    return rates


def _from_the_shell(run: Path, folder: Path, lines: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of `translator translate` on all lines with each engine, in each round."""
    source = folder / "lines.txt"
    output = folder / "translated.txt"
    write_text(source, "".join(f"{line}\n" for line in lines))
    seconds: dict[str, list[float]] = {name: [] for name in SHELL}
    for _, (name, flags) in itertools.product(range(rounds), SHELL.items()):
        files = ["--input", str(source), "--output", str(output)]
        command = [*TRANSLATOR, "translate", "--run", str(run), "--beam", "5", *files, *flags]
        began = time.perf_counter()
        subprocess.run(command, check=True, env=environment(), stderr=subprocess.DEVNULL)
        seconds[name].append(time.perf_counter() - began)
        output.unlink()
    return seconds


# --- in a process of a contestant ---

Translate = Callable[[Sequence[str], int, int], int]
"""Translates lines with this beam in batches of this size, and returns the number of translations."""


def _ours(run: Path, folder: Path) -> Translate:
    loaded: dict[int, Translator] = {}

    def translate(lines: Sequence[str], beam: int, size: int) -> int:
        if beam not in loaded:
            method = "greedy" if beam == 1 else "beam"
            overrides = [f"search.method={method}", f"search.beam_size={beam}", "search.precision=float32"]
            loaded[beam] = Translator.load(run, engine="torch", overrides=overrides)
        return len(loaded[beam].translate_lines(lines))

    return translate


def _ctranslate2(run: Path, folder: Path, kind: str) -> Translate:
    import sentencepiece

    library: Any = importlib.import_module("ctranslate2")
    model = library.Translator(str(folder / "ctranslate2"), compute_type=kind, inter_threads=1, intra_threads=1)
    subword = folder / "ctranslate2" / "subword"
    source = sentencepiece.SentencePieceProcessor(model_file=str(subword / "source.model"))
    target = sentencepiece.SentencePieceProcessor(model_file=str(subword / "target.model"))

    def translate(lines: Sequence[str], beam: int, size: int) -> int:
        pieces = source.encode(list(lines), out_type=str)  # the exported model adds EOS
        results = model.translate_batch(pieces, max_batch_size=size, beam_size=beam, max_decoding_length=128)
        return len(target.decode([result.hypotheses[0] for result in results]))

    return translate


def _transformers(run: Path, folder: Path) -> Translate:
    library: Any = importlib.import_module("transformers")
    library.logging.set_verbosity_error()
    model = library.MarianMTModel.from_pretrained(str(folder / "marian"), local_files_only=True).eval()
    tokenizer = library.MarianTokenizer.from_pretrained(str(folder / "marian"), local_files_only=True)

    @torch.inference_mode()
    def translate(lines: Sequence[str], beam: int, size: int) -> int:
        translations: list[str] = []
        for start in range(0, len(lines), size):  # lines come sorted by length
            batch = tokenizer(list(lines[start : start + size]), return_tensors="pt", padding=True)
            output = model.generate(**batch, num_beams=beam, do_sample=False, max_new_tokens=128)
            translations += tokenizer.batch_decode(output, skip_special_tokens=True)
        return len(translations)

    return translate


OURS: Final = "translator float32"
CONTESTANTS: Final[dict[str, Callable[[Path, Path], Translate]]] = {
    OURS: _ours,
    "CTranslate2 float32": functools.partial(_ctranslate2, kind="float32"),
    "CTranslate2 int8": functools.partial(_ctranslate2, kind="int8"),
    "transformers": _transformers,
}
"""What each contestant translates with, from the run and the folder of its exports."""


def _contestant(name: str, run: Path, folder: Path) -> Callable[[tuple[Sequence[str], int, int]], int]:
    """Return the function of a process of contestant `name`."""
    use_threads(1)
    translate = CONTESTANTS[name](run, folder)
    return lambda work: translate(*work)
