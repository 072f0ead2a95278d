"""The GPU benchmark in small, on a CPU: each part measures and reports."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import gpu
from bench.gpu import Work, run_parts
from bench.gpu_search import bench_search
from bench.gpu_training import bench_training
from bench.options import Options
from translator.errors import ConfigError

TINY = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 32}
WORK = Work(
    torch.device("cpu"),
    sizes={"base": TINY},
    pairs=3_000,
    vocabulary=400,
    rows=4,
    row_length=128,
    loop_minutes=0.05,
    log_every=3,
)
Figures = dict[str, Any]


def measured(part: str, folder: Path) -> tuple[str, Figures]:
    """The report of a part, and the figures of its file."""
    report = "\n".join(run_parts([part], WORK, folder))
    return report, json.loads((folder / "gpu.json").read_text(encoding="utf-8"))


def test_the_loop_is_that_of_translator_train(tmp_path: Path) -> None:
    report, figures = measured("loop-base", tmp_path)
    assert "3,000 generated pairs are prepared" in report
    assert "translator train, Transformer-base, 4 rows of 128" in report
    assert min(figures["loop"]["base"]["figures"]["tokens_per_second"]) > 0
    assert 0 <= min(figures["loop"]["base"]["figures"]["data_wait"]) <= 1


def test_searches_are_timed_with_the_batches_of_the_engine(tmp_path: Path) -> None:
    results: Figures = {"search": {}}
    report = "\n".join(bench_search(TINY, 400, torch.device("cpu"), results, sentences=30))
    assert list(results["search"]) == ["beam 5, medium", "greedy, medium", "beam 5, highest", "greedy, highest"]
    assert "a batch has at most 64 sentences and 16,384 positions" in report


def test_a_training_takes_the_time_that_is_left(tmp_path: Path, tiny_recipe: Path) -> None:
    results: Figures = {}
    ends_at = time.monotonic() + 76.0
    report = "\n".join(bench_training(tmp_path, torch.device("cpu"), ends_at, results, tiny_recipe))
    assert "minutes of training" in report
    assert "toy: bleu" in report
    assert results["translation"]["greedy"] > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_benchmark_says_so() -> None:
    with pytest.raises(ConfigError, match="needs a CUDA GPU"):
        list(gpu.bench(Options()))
