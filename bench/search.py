"""Search speed beside CTranslate2 and Hugging Face `generate`, with the same weights: `make bench-search`."""

import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file

from bench.options import Options
from translator.checkpoint import load_model
from translator.config import Config
from translator.data import DataHandler
from translator.errors import ConfigError, RunError
from translator.export import export_model_to_ctranslate2, export_model_to_marian
from translator.large_pages import large_pages
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.storage import new_folder, write_json
from translator.subword import SubwordPair
from translator.workers import available_cores

RECIPE, SAMPLE_RECIPE = "bench/search.yaml", "bench/training-sample.yaml"
SENTENCES: Final = 480
SIZES: Final = (32, 64, 128, 256)
"""Sentences of a batch: each contestant takes what is fastest for it."""
ENGINES: Final = {
    "translator float32": None,
    "translator bf16": None,
    "translator int8": None,
    "CTranslate2 float32": "ctranslate2",
    "CTranslate2 int8": "ctranslate2",
    "transformers": "transformers",
}
"""The contestants, and the library that each needs besides ours."""
OURS: Final = "translator"
BEAMS: Final = {"greedy": 1, "beam 5": 5}


@dataclass(frozen=True)
class Task:
    """What is translated in a round."""

    method: str
    forced: bool

    def __str__(self) -> str:
        return f"{self.method}, {'forced' if self.forced else 'natural'} lengths"

    def command(self, size: int, every: int = 1) -> str:
        """Return the line that asks for it, with `size` sentences a batch and one sentence of `every`."""
        command = {"size": size, "beam": BEAMS[self.method], "forced": self.forced, "every": every}
        return json.dumps(command) + "\n"


class Crew:
    """The processes of one contestant in one setting of processes and threads; they sleep between two rounds."""

    def __init__(self, name: str, folder: Path, processes: int, threads: int) -> None:
        self.label = f"{name}, {processes} × {threads}"
        inside = name.startswith("CTranslate2")  # it has its own workers
        parts = 1 if inside else processes
        environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # finds what this process finds
        environment |= large_pages()  # for all, whoever made them
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", "bench.search_contest", name, str(folder)]
                + [str(number) for number in (processes if inside else 1, threads, part, parts)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=environment,
            )
            for part in range(parts)
        ]

    def rate(self, command: str) -> float:
        """Have every process obey `command` and return sentences a second of all together.

        Raises:
            RunError: a process is gone.
        """
        began = time.perf_counter()
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(command)
            process.stdin.flush()
        sentences = 0
        for process in self._processes:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RunError(f"the contestant `{self.label}` ended with exit code {process.wait()}; see above")
            sentences += json.loads(line)["sentences"]
        return sentences / (time.perf_counter() - began)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


def bench_search(options: Options) -> Iterator[str]:
    """Yield the lines of a report on sentences a second; the numbers of each round go to a file.

    Raises:
        ConfigError: the recipe cannot be used, or no contestant is called as asked.
        RunError: a contestant fails.
    """
    unknown = [name for name in options.only if name not in ENGINES]
    if unknown:
        raise ConfigError(f"no contestant {', '.join(unknown)}; there are: {', '.join(ENGINES)}")
    config = _recipe(options)
    folder = options.output / "search"
    trained = _write(config, folder)
    cores = available_cores()
    settings = [(cores, 1), (1, cores)] if cores > 1 else [(1, 1)]
    chosen = [name for name in ENGINES if name in options.only or not options.only]
    present = [name for name in chosen if ENGINES[name] is None or importlib.util.find_spec(str(ENGINES[name]))]
    yield f"search, {_sizes(config)}, {SENTENCES} sentences at most, {cores} cores; processes × threads"
    for name in sorted(set(chosen) - set(present)):
        yield f"  {name} is left out: the library `{ENGINES[name]}` is not installed (the extra `bench` has it)"
    if not trained:
        yield f"  natural lengths are left out: {config.run.directory} holds no trained run of this recipe"
    results: dict[str, Any] = {}
    for method, forced in itertools.product(BEAMS, (True, False) if trained else (True,)):
        task = Task(method, forced)
        rates, sizes = _rounds(task, present, settings, folder, options.rounds)
        results[str(task)] = {"rates": rates, "sizes": sizes}
        yield from _report(task, rates, sizes)
    results["config"] = config.model_dump(mode="json")
    write_json(options.output / "search.json", results)
    yield f"  written: {options.output}/search.json"


def _rounds(
    task: Task, names: list[str], settings: list[tuple[int, int]], folder: Path, rounds: int
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Return the rate of each contestant and setting in each round, and the size of batches that it chose."""
    with ExitStack() as stack:
        crews = [
            stack.enter_context(Crew(name, folder, *setting)) for name, setting in itertools.product(names, settings)
        ]
        sizes = {}
        for crew in crews:
            crew.rate(task.command(SIZES[0], every=8))  # loads what is loaded at first use
            tried = {size: crew.rate(task.command(size)) for size in SIZES}
            sizes[crew.label] = max(tried, key=lambda size: tried[size])
        rates: dict[str, list[float]] = {crew.label: [] for crew in crews}
        for number in range(rounds):
            turn = number % len(crews)
            for crew in crews[turn:] + crews[:turn]:  # nobody is always the first
                rates[crew.label].append(crew.rate(task.command(sizes[crew.label])))
    return rates, sizes


def _report(task: Task, rates: Mapping[str, list[float]], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield a table: sentences a second, and what the best setting of each precision of ours is to the others."""
    yield f"  {task}: sentences a second, median (lowest to highest of {len(next(iter(rates.values())))} rounds)"
    best: dict[str, str] = {}
    for label, values in rates.items():
        yield f"    {label:<34} {_spread(values, '{:,.1f}'):<34} batches of {sizes[label]}"
        name = label.rpartition(",")[0]
        if name not in best or statistics.median(values) > statistics.median(rates[best[name]]):
            best[name] = label
    ours = [label for name, label in best.items() if name.startswith(OURS)]
    for own, label in itertools.product(ours, best.values()):
        if label not in ours or own == ours[0] != label:
            ratios = [mine / theirs for mine, theirs in zip(rates[own], rates[label], strict=True)]
            yield f"    {own:<34} ÷ {label:<34} {_spread(ratios, '{:.2f}')}×"


def _spread(values: list[float], form: str) -> str:
    return "{} ({} to {})".format(*map(form.format, (statistics.median(values), min(values), max(values))))


def _recipe(options: Options) -> Config:
    """Return the recipe that is asked for, else the figure's, else the same sizes on the embedded sample."""
    config = options.load(RECIPE)
    missing = [str(source.path) for source in config.corpus.sources if not Path(str(source.path)).exists()]
    if not missing or options.config is not None:
        return config
    print(f"bench: {', '.join(missing)} is not here, so the embedded sample is taken instead", flush=True)
    return Options(overrides=["model.norm=post", *options.overrides]).load(SAMPLE_RECIPE)


def _write(config: Config, folder: Path) -> bool:
    """Write weights, exports and sentences for the contestants; return whether the weights are trained ones."""
    data = DataHandler(config)
    subword, subword_folder = data.subword, data.subword_folder
    trained = (Path(config.run.directory) / "checkpoints" / "best").exists()
    if trained:
        run = RunFolder.open(config.run.directory)
        subword, subword_folder = SubwordPair.load(run.subword_folder), run.subword_folder
        model, _ = load_model(run.checkpoints_folder, "best", torch.device("cpu"))
    else:
        torch.manual_seed(config.run.seed)
        model = Transformer(config.model, subword.source.vocabulary_size, subword.target.vocabulary_size)
    model.eval()
    vocabularies = subword.source.vocabulary_size, subword.target.vocabulary_size
    lines = [line for name in data.corpus.names("test") for line in data.corpus.lines("test", name, "en")]
    room = config.batching.max_length - 1
    rows = [list(ids) for ids in subword.source.encode(lines) if 0 < len(ids) <= room]
    step = max(1, len(rows) // SENTENCES)
    with new_folder(folder) as beside:
        write_json(beside / "rows.json", rows[::step][:SENTENCES])
        write_json(beside / "pieces.json", subword.source.pieces_of(range(vocabularies[0])))
        settings = {"config": config.model.model_dump(mode="json"), "vocabularies": vocabularies}
        write_json(beside / "model.json", settings)
        save_file(
            {name: tensor.contiguous() for name, tensor in model.state_dict().items()}, beside / "model.safetensors"
        )
        _export(model, config, subword, subword_folder, beside)
    return trained


def _export(model: Transformer, config: Config, subword: SubwordPair, subword_folder: Path, folder: Path) -> None:
    """Write the model as the other libraries load it, where they are installed."""
    if importlib.util.find_spec("ctranslate2"):
        export_model_to_ctranslate2(model, config.model, subword, folder / "ctranslate2")
    if importlib.util.find_spec("transformers"):
        export_model_to_marian(model, config.model, subword_folder, folder / "marian")


def _sizes(config: Config) -> str:
    model = config.model
    return (
        f"d {model.d_model}, {model.heads} heads, {model.encoder_layers}+{model.decoder_layers} layers, "
        f"feed-forward {model.feed_forward}, vocabulary {config.subword.vocabulary_size:,}"
    )
