"""All GPU benchmarks in one call of at most eight minutes: `make bench-gpu`.

`loop` is the product's own loop: `translator train` on a generated corpus, waiting for data included. `search` times
greedy and beam search of Transformer-base. `sample` trains the sample's recipe, and restarts it. `loss` compares the
loss after equal updates with that of a CPU. `training` trains on real text for the time that is left. `update` times
updates alone, compiled or not, captured or not, by precision, and those of `MarianMTModel`; it needs a call of its own
(`--only update-base`). Parts for which there is no time left are left out.
"""

import gc
import itertools
import json
import shutil
import statistics
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch

from bench.flops import StepFlops
from bench.generated import GeneratedData, write_text, write_tokens
from bench.gpu_sample import bench_sample
from bench.gpu_search import bench_search
from bench.gpu_training import bench_training
from bench.learners import CPU, MARIAN, Contest, Learner, OurLearner, build_learner, marian_is_installed, sorted_batches
from bench.matrix_rate import matrix_rate
from bench.options import FailedError, Options, model_sizes, spread
from bench.processes import TRANSLATOR, peak_memory, run_command
from translator.config import Config, parse_config
from translator.data import Batch, DataPosition
from translator.errors import ConfigError
from translator.plots.curves import read_curves
from translator.run.files import write_json
from translator.run.folder import RunFolder
from translator.speed.device import choose_device

SIZES: Final[Mapping[str, Mapping[str, Any]]] = {
    "base": {"d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 2048},
    "big": {"d_model": 1024, "heads": 16, "encoder_layers": 6, "decoder_layers": 6, "feed_forward": 4096},
}
_SMALL: Final = {"d_model": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 256}
PARTS: Final = ("loop-base", "loop-big", "search", "sample", "loss", "training", "update-base", "update-big")
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
    batches: int = 20  # of `update`, which repeat
    warm_steps: int = 5  # untimed updates of each variant; the first ones compile and capture
    steps: int = 20  # updates of each variant in a round
    rounds: int = 3
    seconds: float = 465.0  # of all parts


@dataclass(frozen=True)
class Variant:
    """One way to make an update."""

    name: str
    sizes: tuple[str, ...]  # the models that make it
    compile: bool = False
    capture: bool = False
    settings: tuple[str, ...] = ()  # changes of the recipe
    is_marian: bool = False


VARIANTS: Final = (
    Variant("bf16, compiled and captured", ("base", "big"), compile=True, capture=True),
    Variant("bf16, compiled", ("base",), compile=True),
    Variant("bf16, captured", ("base",), capture=True),
    Variant("bf16", ("base", "big")),
    Variant(
        "attention dropout 0.1, compiled and captured",
        ("base",),
        compile=True,
        capture=True,
        settings=("model.attention_dropout=0.1",),
    ),
    Variant("float32", ("base",), settings=("training.precision=float32",)),
    Variant("fp16", ("base",), settings=("training.precision=fp16",)),
    Variant(f"{MARIAN}, sorted batches", ("base", "big"), is_marian=True),
)


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
        elif kind == "loss":
            yield part, 20.0, partial(compare_losses, folder, work, results)
        elif kind == "training":
            yield part, 150.0, partial(bench_training, folder, work.device, ends_at, results)
        else:
            yield part, 20.0, partial(bench_updates, size, work.sizes[size], folder, work, results)


def _free_memory(device: torch.device) -> None:
    gc.collect()
    torch._dynamo.reset()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def recipe(work: Work, sizes: Mapping[str, Any], *settings: str) -> Config:
    """Return the recipe of a model of these sizes, for updates without a corpus."""
    values = {
        "run": {"directory": "runs/bench/gpu"},
        "corpus": {"sources": [{"name": "none", "path": "none.tsv"}]},  # required, but never read
        "subword": {"vocabulary_size": work.vocabulary},
        "batching": {"tokens_per_batch": work.rows * work.row_length, "max_length": work.row_length},
        "model": {"dropout": 0.1, **sizes},
    }
    precision = "training.precision=bf16"
    return parse_config(json.dumps(values), "the recipe of the benchmark", (precision, *settings))


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


# --- the update alone ---


def _pairs_for(work: Work) -> int:
    """Return the number of pairs that make at least `work.batches` batches: 1 for every 16 positions."""
    return work.batches * work.rows * work.row_length // 16


def read_batches(folder: Path, work: Work) -> list[Batch]:
    """Return the first batches of the token stores in `folder`, in page-locked memory where there is a GPU."""
    data = GeneratedData(folder, _pairs_for(work), rows=work.rows, row_length=work.row_length)
    batches = [batch for batch, _ in itertools.islice(data.train_batches(DataPosition()), work.batches)]
    if work.device.type == "cuda":
        batches = [batch.pin_memory() for batch in batches]
    return batches


@dataclass
class Speed:
    """The speed of a variant: one entry for each round."""

    tokens_per_second: list[float] = field(default_factory=list)  # real target tokens
    utilisation: list[float] = field(default_factory=list)  # of the bf16 matrix rate, measured before the round
    update_ms: list[float] = field(default_factory=list)
    warm_seconds: float = 0.0  # of the first updates, which compile and capture
    peak_bytes: int = 0

    def __str__(self) -> str:
        return (
            f"{spread(self.tokens_per_second, '{:,.0f}'):<32} {statistics.median(self.utilisation):6.1%}  "
            f"{statistics.median(self.update_ms):7.1f} ms an update  {self.peak_bytes / 2**20:,.0f} MiB  "
            f"ready in {self.warm_seconds:.0f} s"
        )


def bench_updates(
    name: str, sizes: Mapping[str, Any], folder: Path, work: Work, results: dict[str, Any]
) -> Iterator[str]:
    """Yield the speed of each variant of an update. One after the other: together they need too much memory."""
    write_tokens(folder / "tokens", _pairs_for(work), work.vocabulary, work.row_length)
    batches = read_batches(folder / "tokens", work)
    speeds: dict[str, Speed] = {}
    failures = []
    yield f"  updates of Transformer-{name}, {model_sizes(recipe(work, sizes))}"
    yield "    real target tokens a second; share of the bf16 matrix rate"
    for variant in VARIANTS:
        if name not in variant.sizes or (variant.is_marian and not marian_is_installed()):
            continue
        if work.device.type == "cpu" and (variant.compile or variant.capture):
            continue  # only for GPUs
        _free_memory(work.device)
        try:
            speeds[variant.name] = measure_variant(variant, sizes, batches, work)
            yield f"    {variant.name:<46} {speeds[variant.name]}"
        except Exception as error:  # noqa: BLE001 - such as too little memory: the other variants go on
            failures.append(variant.name)
            yield f"    {variant.name:<46} FAILED: {type(error).__name__}: {str(error)[:200]}"
    if not marian_is_installed():
        yield "    Marian is excluded: the library `transformers` is not installed (the extra `bench` has it)"
    results["update"][name] = {variant: asdict(speed) for variant, speed in speeds.items()}
    if failures:
        raise FailedError(f"updates of {', '.join(failures)}")


def measure_variant(variant: Variant, sizes: Mapping[str, Any], batches: list[Batch], work: Work) -> Speed:
    """Return the speed of a variant, in rounds."""
    on_gpu = work.device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(work.device)
    config = recipe(work, sizes, *variant.settings)
    learner = build_variant(variant, config, work)
    if variant.is_marian:
        batches = list(sorted_batches(batches, work.rows * work.row_length))
    contest = Contest(learner, itertools.cycle(batches), StepFlops(config.model, work.vocabulary))
    speed = Speed()
    began = time.monotonic()
    contest.train(work.warm_steps)
    speed.warm_seconds = time.monotonic() - began
    for _ in range(work.rounds):
        rate = matrix_rate(work.device, "bf16")
        answer = contest.train(work.steps)
        speed.tokens_per_second.append(answer["target_tokens"] / answer["seconds"])
        speed.utilisation.append(answer["flops"] / answer["seconds"] / rate)
        speed.update_ms.append(1000 * answer["seconds"] / work.steps)
    speed.peak_bytes = torch.cuda.max_memory_allocated(work.device) if on_gpu else peak_memory()
    return speed


def build_variant(variant: Variant, config: Config, work: Work) -> Learner:
    """Return the model of a variant with its optimizer."""
    vocabularies = (work.vocabulary, work.vocabulary)
    if variant.is_marian:
        return build_learner(MARIAN, config, vocabularies, work.device)
    torch.manual_seed(config.run.seed)
    return OurLearner(config, vocabularies, work.device, compile=variant.compile, capture=variant.capture)


# --- the loss on the CPU and the GPU ---


def compare_losses(folder: Path, work: Work, results: dict[str, Any]) -> Iterator[str]:
    """Yield the loss of a small model after the same updates without dropout, on this device and on the CPU."""
    small = replace(work, rows=min(16, work.rows), batches=30)
    write_tokens(folder / "small-tokens", _pairs_for(small), small.vocabulary, small.row_length)
    on_cpu = read_batches(folder / "small-tokens", replace(small, device=CPU))
    ways: list[tuple[str, torch.device, str, bool]] = [
        ("CPU float32", CPU, "float32", False),
        ("float32", work.device, "float32", False),
        ("bf16", work.device, "bf16", False),
        ("fp16", work.device, "fp16", False),
    ]
    if work.device.type == "cuda":
        ways.append(("bf16, compiled and captured", work.device, "bf16", True))
    losses = {}
    for name, device, precision, fast in ways:
        config = recipe(small, {**_SMALL, "dropout": 0.0}, f"training.precision={precision}")
        torch.manual_seed(1)
        learner = OurLearner(config, (small.vocabulary, small.vocabulary), device, compile=fast, capture=fast)
        for number, batch in enumerate(on_cpu, 1):
            learner.update(batch, number)
        losses[name] = learner.held_out_loss([batch.to(device) for batch in on_cpu[:5]])
    listed = ", ".join(f"{name} {loss:.5f}" for name, loss in losses.items())
    yield f"  loss after {len(on_cpu)} equal updates, nats a token: {listed}"
    results["loss"] = losses
