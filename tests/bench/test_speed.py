"""The speed benchmarks: contestants learn, tokens are counted correctly, and failed processes are reported."""

import itertools
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Recipe
from small_model import small_batch

from bench.gpu import Work, bench_size, compare_losses, synthetic_batches
from bench.learners import MARIAN, NAMES, OURS, answers, build_learner, marian_is_installed, our_batches
from bench.options import ratios
from bench.processes import run_command
from translator.data import Batch, DataHandler
from translator.errors import Interrupted, RunError
from translator.special_tokens import PAD

WORK = Work(torch.device("cpu"), 50, 300, 500, warm_steps=1, steps=2, rounds=2)


@pytest.mark.parametrize("name", NAMES)
def test_each_contestant_overfits_a_batch_and_gives_chance_loss_if_zeroed(name: str, tiny: Recipe) -> None:
    if "Marian" in name and not marian_is_installed():
        pytest.skip("Hugging Face transformers is not installed (the extra `bench` has it)")
    source, target_input, labels = small_batch()
    tokens = int((source != PAD).sum()), int((labels != PAD).sum())
    batch = Batch(source, target_input, labels, torch.arange(2), *tokens)
    config = tiny("model.dropout=0", "training.learning_rate=0.01", "training.schedule=constant")
    learner = build_learner(name, config, (21, 27))
    before = learner.held_out_loss([batch])
    for number in range(1, 61):
        learner.update(batch, number)
    assert learner.held_out_loss([batch]) < 0.3 * before
    assert learner.model.training
    for parameter in learner.model.parameters():
        torch.nn.init.zeros_(parameter)
    assert learner.held_out_loss([batch]) == pytest.approx(math.log(27), rel=1e-3)


def test_token_counts_exclude_padding_and_match_the_training_batches(tiny: Recipe) -> None:
    config = tiny()
    verbs = answers(OURS, config)
    batches = list(itertools.islice(our_batches(DataHandler(config).prepare()), 4))
    for seen in (batches[:2], batches[2:]):
        answer = verbs["train"](2)
        assert answer["target_tokens"] == sum(int((one.labels != PAD).sum()) for one in seen)
        assert answer["tokens"] == answer["target_tokens"] + sum(int((one.source != PAD).sum()) for one in seen)
        assert answer["positions"] == sum(one.source.numel() + one.labels.numel() for one in seen)
        assert answer["seconds"] > 0 and answer["flops"] > 0
    assert verbs["facts"]()["loss"] > 0


def test_a_command_that_fails_or_is_stopped_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    run_command(["sh", "-c", "echo fine; test $OMP_NUM_THREADS = 3"], log, 3)
    with pytest.raises(RunError, match=r"exit code 7; .*log.txt ends with: fine / too bad"):
        run_command(["sh", "-c", "echo too bad; exit 7"], log)
    waits = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143));"
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(600)"
    )
    with pytest.raises(Interrupted) as stop:
        run_command([sys.executable, "-c", waits], log)
    assert stop.value.exit_code == 143


def test_gpu_benchmark_runs_and_reports_on_the_cpu() -> None:
    tiny = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 32}
    found: dict[str, Any] = {}
    lines = list(bench_size("tiny", tiny, WORK, found))
    assert "Transformer-tiny, d 16" in lines[0] and "up to 300 positions" in lines[0]
    assert any(f"{OURS}, bf16 ÷ {MARIAN}" in line for line in lines) == marian_is_installed()
    assert {f"{OURS}, fp16", f"{OURS}, float32"} <= found["tiny"]["rounds"].keys()
    (line,) = list(compare_losses(WORK, found))
    assert "nats a token: cpu float32" in line
    assert found["loss"]["cpu bf16"] == pytest.approx(found["loss"]["cpu float32"], rel=0.01)
    first, again = (list(synthetic_batches(WORK)) for _ in range(2))
    for ours, theirs in zip(first, again, strict=True):
        assert torch.equal(ours.source, theirs.source) and torch.equal(ours.labels, theirs.labels)
        assert ours.size * max(ours.source.size(1), ours.labels.size(1)) <= 300
    assert ratios([2.0, 30.0, 4.0], [1.0, 10.0, 1.0]) == "3.00 (2.00 to 4.00)×", "each is taken inside a round"
