"""The GPU benchmark in small, on a CPU: its parts measure and report."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from bench import gpu
from bench.gpu import Work, run_parts
from bench.options import FailedError, Options
from bench.processes import TRANSLATOR
from translator.cli import main
from translator.errors import ConfigError

TINY = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 32}
WORK = Work(
    torch.device("cpu"),
    sizes={"base": TINY},
    pairs=400,
    vocabulary=400,
    rows=4,
    row_length=128,
    loop_minutes=0.01,
    log_every=1,
    sentences=4,
)


def run_here(command: Sequence[str], log: Path) -> None:
    """Run a command of `translator` in this process, which has imported torch already."""
    assert main(command[len(TRANSLATOR) :]) == 0


def test_parts_report_and_the_others_go_on_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "run_command", run_here)
    report: list[str] = []
    with pytest.raises(FailedError, match="failed: loop-big"):
        for line in run_parts(["loop-big", "loop-base", "search"], WORK, tmp_path / "gpu"):  # it has no big model
            report.append(line)
    text = "\n".join(report)
    assert "translator train, Transformer-base, 4 rows of 128" in text
    assert "target tokens a second" in text
    assert "beam 5, float32 products `medium`" in text
    assert "a batch has at most 64 sentences and 16,384 positions" in text


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_benchmark_says_so() -> None:
    with pytest.raises(ConfigError, match="needs a CUDA GPU"):
        list(gpu.bench(Options()))
