"""All GPU benchmarks in one call of at most eight minutes: `make bench-gpu`.

Training speed of Transformer-base and -big by precision, compiled or not, compared with `MarianMTModel`; the loss after
the same updates on the CPU; the sample's recipe, with a bit-exact restart; the three search methods. The speeds use
random ids with lengths of a realistic distribution, so that no text is needed.
"""

import gc
import itertools
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from bench.learners import CPU, MARIAN, OURS, Contest, build_learner, marian_is_installed
from bench.options import Options, model_sizes
from bench.processes import TRANSLATOR, Answer, peak_memory, run_command
from bench.training import speed_lines
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config, parse_config
from translator.data import Batch, collate
from translator.data.batching import epoch_generator, plan_batches
from translator.errors import ConfigError
from translator.inference.translator import Translator
from translator.model.device import matrix_rate
from translator.run.folder import RunFolder
from translator.run.storage import write_json
from translator.training.meter import StepFlops

SIZES: Final[Mapping[str, Mapping[str, Any]]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}
_SMALL: Final = {
    "d_model": 128,
    "heads": 4,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "feed_forward": 256,
    "dropout": 0,
}
COMPILED: Final = f"{OURS}, bf16, compiled"
VARIANTS: Final[Mapping[str, Mapping[str, str]]] = {
    COMPILED: {"precision": "bf16", "compile": "always"},
    f"{OURS}, bf16": {"precision": "bf16", "compile": "never"},
    f"{OURS}, fp16": {"precision": "fp16", "compile": "never"},
    f"{OURS}, float32": {"precision": "float32", "compile": "never"},
    MARIAN: {"precision": "bf16"},
}
"""Training settings by name of a contestant; the last is the library's model."""
_RESUMED_AT, _RESUMED_TO = 40, 80  # updates of the run whose second half runs twice


@dataclass(frozen=True)
class Work:
    """The data and the duration of the measurements."""

    device: torch.device
    vocabulary: int = 8000
    tokens_per_batch: int = 25_000
    pairs: int = 20_000  # drawn once; their batches repeat
    warm_steps: int = 40  # untimed warm-up updates of each contestant; the first ones compile
    steps: int = 20  # updates of each contestant in a round
    rounds: int = 3


def bench(options: Options) -> Iterator[str]:
    """Yield the lines of a report on the GPU, and write all figures to gpu.json.

    Raises:
        ConfigError: there is no GPU, or a part is unknown.
        RunError: training the sample failed.
    """
    if not torch.cuda.is_available():
        raise ConfigError("the GPU benchmark needs a CUDA GPU, but torch finds none here")
    work, results = Work(torch.device("cuda")), dict[str, Any]()
    yield f"{torch.cuda.get_device_name(work.device)}, torch {torch.__version__}"
    for part in options.chosen([*SIZES, "loss", "sample"]):
        began = time.monotonic()
        if part in SIZES:
            yield from bench_size(part, SIZES[part], work, results)
        elif part == "loss":
            yield from compare_losses(work, results)
        else:
            yield from bench_sample(options.output / "gpu-sample", work.device, results)
        yield f"    ({time.monotonic() - began:.0f} s)"
        write_json(options.output / "gpu.json", results | {"work": asdict(replace(work, device=str(work.device)))})  # type: ignore[arg-type]
    yield f"  written: {options.output}/gpu.json"


def recipe(work: Work, sizes: Mapping[str, Any], training: Mapping[str, str], name: str) -> Config:
    """Return the recipe of a model of these sizes."""
    source = {"name": "none", "path": "none.tsv"}  # required, but never read
    values = {
        "run": {"directory": "runs/bench/gpu"},
        "corpus": {"sources": [source]},
        "subword": {"vocabulary_size": work.vocabulary},
        "model": {"dropout": 0.1, **sizes},
        "training": training,
    }
    return parse_config(json.dumps(values), name)


def bench_size(name: str, sizes: Mapping[str, Any], work: Work, results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines on one model size: all `VARIANTS` in interleaved rounds; for `big`, without the slow ones."""
    batches, on_gpu = list(synthetic_batches(work)), work.device.type == "cuda"
    contests: dict[str, Contest] = {}
    facts: dict[str, Answer] = {}
    for contestant, training in VARIANTS.items():
        slow = "fp16" in contestant or "float32" in contestant
        if (contestant == MARIAN and not marian_is_installed()) or (slow and name == "big"):
            continue
        if contestant == COMPILED and not on_gpu:
            continue  # no gain on a CPU
        gc.collect()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(work.device)
        held = torch.cuda.memory_allocated(work.device) if on_gpu else 0  # by earlier contestants
        config = recipe(work, sizes, training, f"Transformer-{name}")
        learner = build_learner(contestant.partition(",")[0], config, (work.vocabulary, work.vocabulary), work.device)
        flops = StepFlops(config.model, work.vocabulary)
        contests[contestant] = Contest(learner, itertools.cycle(batches), flops)
        contests[contestant].train(work.warm_steps)
        peak = torch.cuda.max_memory_allocated(work.device) - held if on_gpu else peak_memory()
        facts[contestant] = {"bytes": peak, "weights": sum(one.numel() for one in learner.model.parameters())}
    rates, rounds = [], {contestant: list[Answer]() for contestant in contests}
    for number in range(work.rounds):
        rates.append({"bf16": matrix_rate(work.device, "bf16")})
        for contestant in list(contests)[:: 1 if number % 2 else -1]:
            rounds[contestant].append(contests[contestant].train(work.steps))
    yield f"  Transformer-{name}, {model_sizes(config)}, up to {work.tokens_per_batch:,} positions a batch"
    yield from speed_lines(rates, rounds, facts)
    if MARIAN not in contests:
        yield "    Marian is excluded: the library `transformers` is not installed (the extra `bench` has it)"
    results[name] = {"rates": rates, "rounds": rounds, "facts": facts}


def compare_losses(work: Work, results: dict[str, Any]) -> Iterator[str]:
    """Yield the loss of a small model after the same updates without dropout, on this device and on the CPU."""
    batches = list(itertools.islice(synthetic_batches(replace(work, tokens_per_batch=2000, pairs=2000)), 30))
    losses = {}
    for precision, device in (("float32", CPU), ("float32", work.device), ("bf16", work.device), ("fp16", work.device)):
        config = recipe(work, _SMALL, {"precision": precision, "compile": "never"}, "the small model")
        learner = build_learner(OURS, config, (work.vocabulary, work.vocabulary), device)
        for number, batch in enumerate(batches, 1):
            learner.update(batch, number)
        losses[f"{device.type} {precision}"] = learner.held_out_loss([one.to(device) for one in batches[:5]])
    shown = ", ".join(f"{name} {loss:.5f}" for name, loss in losses.items())
    yield f"  loss after {len(batches)} equal updates, nats a token: {shown}"
    results["loss"] = losses


def bench_sample(folder: Path, device: torch.device, results: dict[str, Any], *settings: str) -> Iterator[str]:
    """Yield time and score of the sample's recipe, whether a restart is bit-exact, and the speed of each search."""
    shutil.rmtree(folder, ignore_errors=True)
    train = [*TRANSLATOR, "train", "--config", "sample", "--set", f"run.device={device.type}", *settings]
    run, short = folder / "sample", RunFolder(folder / "short")
    began = time.monotonic()
    run_command([*train, f"run.directory={run}"], folder / "log.txt")
    seconds = time.monotonic() - began
    score = json.loads((run / "evaluation" / "scores.json").read_text(encoding="utf-8"))[0]
    yield f"  the sample: {seconds:.0f} s from the start to the scores, {score['metric']} {score['score']:.2f}"
    often = [f"training.{key}={_RESUMED_AT}" for key in ("validate_every", "checkpoint_every")]
    short_run = [*train, f"run.directory={short.path}", *often, f"training.max_steps={_RESUMED_TO}"]
    found = []
    for _ in range(2):
        run_command(short_run, folder / "log.txt")
        last = find_checkpoint(short.checkpoints_folder, "last")
        found.append(load_checkpoint(last).model)
        shutil.rmtree(last.resolve())  # the same command resumes from the previous checkpoint
    same = all(torch.equal(first, found[1][name]) for name, first in found[0].items())
    yield f"  resumed at update {_RESUMED_AT} of {_RESUMED_TO}: {'the same' if same else 'OTHER'} bits"
    lines = (run / "evaluation" / "sample.source.txt").read_text(encoding="utf-8").splitlines()
    speeds = {}
    for method in ("greedy", "beam", "sampling"):
        overrides = [f"search.method={method}"]
        translator = Translator.load(run, engine="torch", device=device.type, overrides=overrides)
        translator.translate_lines(lines[:64])
        began = time.monotonic()
        translator.translate_lines(lines)
        speeds[method] = len(lines) / (time.monotonic() - began)
    yield "  sentences a second: " + ", ".join(f"{name} {speed:,.0f}" for name, speed in speeds.items())
    results["sample"] = {"seconds": seconds, "score": score, "resumed_alike": same, "sentences_a_second": speeds}


def synthetic_batches(work: Work) -> Iterator[Batch]:
    """Yield an epoch of batches of random ids by length, the same at every call.

    Lengths are log-normal with a long tail, like those of literary prose in subwords.
    """
    generator = np.random.default_rng(1)
    longest = min(128, work.tokens_per_batch)
    source = np.exp(generator.normal(2.9, 0.65, work.pairs)).astype(np.int64).clip(1, longest - 1)
    target = (source * np.exp(generator.normal(0.05, 0.25, work.pairs))).astype(np.int64).clip(1, longest - 1)
    budget, order = work.tokens_per_batch, epoch_generator(1, 0)
    plan = plan_batches(source + 1, target + 1, tokens_per_batch=budget, max_sentences=None, generator=order)
    for rows in plan:
        sources, targets = (
            [generator.integers(4, work.vocabulary, length) for length in lengths[rows]] for lengths in (source, target)
        )
        yield collate(sources, targets, rows)
