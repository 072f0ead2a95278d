"""Translation speed, text to text, compared with CTranslate2 and Hugging Face `generate` with the same weights.

Each contestant runs in one process per core, with one thread each. `python -m bench.search NAME FOLDER PART PARTS`
starts one of them.
"""

import contextlib
import importlib
import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from bench.options import Options, model_sizes, ratios, spread
from bench.processes import TRANSLATOR, Answer, Worker, environment, in_turns, run_command, serve
from translator.config import Config
from translator.data import DataHandler
from translator.inference.translator import Translator
from translator.run.files import write_json, write_text
from translator.run.workers import available_cores
from translator.speed.device import use_threads

RECIPES: Final = ("bench/search.yaml", "bench/training-sample.yaml")
SENTENCES: Final = 480
SIZES: Final = (32, 64, 128)
"""Sentences per batch: the fastest value for each other library; ours chooses its own."""
LIBRARIES: Final = {
    "translator float32": "torch",
    "CTranslate2 float32": "ctranslate2",
    "CTranslate2 int8": "ctranslate2",
    "transformers": "transformers",
}
"""The contestants, and the library that each needs."""
FORMATS: Final = {"ctranslate2": "ctranslate2", "transformers": "marian"}
BEAMS: Final = (1, 5)
SHELL: Final = {
    "translator translate": ["--engine", "torch"],
    "the same, CTranslate2 float32": ["--engine", "ctranslate2"],
    "the same, CTranslate2 int8": ["--engine", "ctranslate2", "--precision", "int8"],
}
MOST_SHELL_ROUNDS: Final = 3


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on sentences per second; writes the numbers of each round to a file.

    Raises ConfigError: the recipe is invalid, or a contestant is unknown; RunError: a contestant failed.
    """
    # 1. The contestants whose library is installed.
    requested_names = options.chosen(LIBRARIES)
    names = [name for name in requested_names if importlib.util.find_spec(LIBRARIES[name])]
    config = options.load(*RECIPES)
    folder = options.output / "search-files"
    count = _train_and_export(config, {LIBRARIES[name] for name in names}, folder)
    yield f"search, {model_sizes(config)}, {count} sentences, {available_cores()} processes of one thread"
    for name in sorted(set(requested_names) - set(names)):
        yield f"  {name} is excluded: `{LIBRARIES[name]}` is not installed (the extra `bench` has it)"

    # 2. Processes that run already.
    results: dict[str, Any] = {"config": config.model_dump(mode="json")}
    our_names = [name for name in names if LIBRARIES[name] == "torch"]
    other_names = [name for name in names if LIBRARIES[name] != "torch"]
    for beam in BEAMS:
        rates = _rounds(names, folder, beam, options.rounds)
        results[f"beam {beam}"] = rates
        yield f"  beam {beam}: sentences a second, median (lowest to highest of {options.rounds} rounds)"
        for name, values in rates.items():
            yield f"    {name:<34} {spread(values, '{:,.1f}')}"
        for our_name, other_name in itertools.product(our_names, other_names):
            yield f"    {our_name:<34} ÷ {other_name:<34} {ratios(rates[our_name], rates[other_name])}"

    # 3. The command, from its start.
    seconds = _from_the_shell(config, folder, options)
    results["shell"] = seconds
    yield "  from the shell, beam 5, start included: seconds"
    first_name, first_values = next(iter(seconds.items()))
    for name, values in seconds.items():
        ratio = "" if name == first_name else f"÷ {first_name} {ratios(values, first_values)}"
        yield f"    {name:<34} {spread(values, '{:.1f}'):<28} {ratio}".rstrip()
    write_json(options.output / "search.json", results)
    yield f"  written: {options.output}/search.json"


def _train_and_export(config: Config, libraries: set[str], folder: Path) -> int:
    """Train the run of `config` if it is missing, and write its exports and sentences into `folder`.

    Returns the number of sentences; raises RunError if training or an export failed.
    """
    # 1. The run.
    shutil.rmtree(folder, ignore_errors=True)
    write_text(folder / "recipe.yaml", config.model_dump_json())
    run = Path(config.run.directory)
    log = folder / "log.txt"
    if not (run / "checkpoints" / "best").exists():
        print(f"bench: training {run}; {log} has its output", file=sys.stderr, flush=True)
        run_command([*TRANSLATOR, "train", "--config", str(folder / "recipe.yaml")], log)

    # 2. Its exports.
    for library, form in FORMATS.items():
        if library in libraries:
            run_command([*TRANSLATOR, "export", "--run", str(run), "--to", form, str(folder / form)], log)

    # 3. Sentences of its test text that fit into a row, evenly spaced.
    data = DataHandler(config)
    lines: list[str] = []
    for held_out in data.held_out("test"):
        lines += map(data.normalizer.source, held_out.sources)
    longest = config.batching.max_length - 1
    fitting_lines = []
    for line, ids in zip(lines, data.subword.source.encode(lines), strict=True):
        if 0 < len(ids) <= longest:
            fitting_lines.append(line)
    spacing = max(1, len(fitting_lines) // SENTENCES)
    chosen_lines = fitting_lines[::spacing][:SENTENCES]
    write_text(folder / "lines.txt", "".join(f"{line}\n" for line in chosen_lines))
    write_json(folder / "run.json", str(run))
    return len(chosen_lines)


def _rounds(names: Sequence[str], folder: Path, beam: int, rounds: int) -> dict[str, list[float]]:
    """Return the sentences per second of each contestant in each round."""

    def rate(worker: Worker, size: int) -> float:
        began = time.perf_counter()
        answers = worker.ask("translate", beam=beam, size=size)
        return sum(answer["sentences"] for answer in answers) / (time.perf_counter() - began)

    parts = available_cores()
    rates: dict[str, list[float]] = {name: [] for name in names}
    batch_sizes: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        # 1. Start the contestants, and choose their batch sizes.
        workers = []
        for name in names:
            commands = [["-m", "bench.search", name, str(folder), str(part), str(parts)] for part in range(parts)]
            worker = stack.enter_context(Worker(name, commands))
            workers.append(worker)
            rate(worker, SIZES[0])  # warm-up
            batch_sizes[name] = SIZES[0]
            if LIBRARIES[name] != "torch":
                batch_sizes[name] = max(SIZES, key=partial(rate, worker))

        # 2. Measure them in turns.
        for worker in in_turns(workers, rounds):
            rates[worker.name].append(rate(worker, batch_sizes[worker.name]))
    return rates


def _from_the_shell(config: Config, folder: Path, options: Options) -> dict[str, list[float]]:
    """Return the seconds of `translator translate` on all lines with each engine, in each round."""
    is_installed = importlib.util.find_spec("ctranslate2") is not None
    flags_of_name = {name: flags for name, flags in SHELL.items() if is_installed or "torch" in flags}
    output = folder / "translated.txt"
    files = ["--input", str(folder / "lines.txt"), "--output", str(output)]
    seconds: dict[str, list[float]] = {name: [] for name in flags_of_name}
    for _ in range(min(options.rounds, MOST_SHELL_ROUNDS)):
        for name, flags in flags_of_name.items():
            command = [*TRANSLATOR, "translate", "--run", config.run.directory, "--beam", "5", *files, *flags]
            began = time.perf_counter()
            subprocess.run(command, check=True, env=environment(), stdout=sys.stderr, stderr=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - began)
            output.unlink()
    return seconds


# --- the process of a contestant ---

Translate = Callable[[Sequence[str], int, int], int]
"""Translates lines with this beam in batches of this size, and returns the number of translations."""


def _ours(folder: Path, precision: str) -> Translate:
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    loaded: dict[int, Translator] = {}

    def translate(lines: Sequence[str], beam: int, size: int) -> int:
        if beam not in loaded:
            method = "greedy" if beam == 1 else "beam"
            overrides = [f"search.method={method}", f"search.beam_size={beam}", f"search.precision={precision}"]
            loaded[beam] = Translator.load(run, engine="torch", overrides=overrides)
        return len(loaded[beam].translate_lines(lines))

    return translate


def _ctranslate2(folder: Path, kind: str) -> Translate:
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


def _transformers(folder: Path, _: str) -> Translate:
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


def _answers(name: str, folder: Path, part: int, parts: int) -> dict[str, Callable[..., Answer]]:
    """Return the functions of the process of a contestant, by verb."""
    use_threads(1)
    all_lines = (folder / "lines.txt").read_text(encoding="utf-8").splitlines()
    lines = sorted(all_lines, key=len, reverse=True)[part::parts]
    build = {"torch": _ours, "ctranslate2": _ctranslate2, "transformers": _transformers}[LIBRARIES[name]]
    translate = build(folder, name.partition(" ")[2])
    return {"translate": lambda beam, size: {"sentences": translate(lines, beam, size)}}


if __name__ == "__main__":
    sys.exit(serve(lambda: _answers(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))))
