"""The speed benchmarks: contestants learn, tokens are counted correctly, and failed processes are reported."""

import itertools
import math
import sys
from pathlib import Path

import pytest
import torch

from bench.learners import NAMES, OURS, answers, build_learner, marian_is_installed, our_batches
from bench.processes import run_command
from tests.support.tiny_recipe import Recipe
from translator.core import PAD
from translator.data import DataHandler, collate_rows
from translator.errors import Interrupted, RunError


@pytest.mark.parametrize("name", NAMES)
def test_each_contestant_overfits_a_batch_and_gives_chance_loss_if_zeroed(name: str, tiny: Recipe) -> None:
    if "Marian" in name and not marian_is_installed():
        pytest.skip("Hugging Face transformers is not installed (the extra `bench` has it)")
    batch = collate_rows([[([5, 6, 7, 8, 9], [20, 21, 22, 23])], [([10, 11], [24, 25])]])
    config = tiny("model.dropout=0", "training.learning_rate=0.01", "training.schedule=constant")
    learner = build_learner(name, config, (21, 27))

    # Sixty updates on one batch.
    before = learner.held_out_loss([batch])
    for number in range(1, 61):
        learner.update(batch, number)
    assert learner.held_out_loss([batch]) < 0.3 * before
    assert learner.model.training

    # A model of zeros takes each of the 27 target tokens for equally likely.
    for parameter in learner.model.parameters():
        torch.nn.init.zeros_(parameter)
    assert learner.held_out_loss([batch]) == pytest.approx(math.log(27), rel=1e-3)


def test_token_counts_exclude_padding_and_match_the_training_batches(tiny: Recipe) -> None:
    config = tiny()
    verbs = answers(OURS, config)
    batches = list(itertools.islice(our_batches(DataHandler(config)), 4))
    for batches_of_call in (batches[:2], batches[2:]):
        answer = verbs["train"](2)
        target_tokens = sum(int((batch.labels != PAD).sum()) for batch in batches_of_call)
        source_tokens = sum(int((batch.source != PAD).sum()) for batch in batches_of_call)
        positions = sum(batch.source.numel() + batch.labels.numel() for batch in batches_of_call)
        assert answer["target_tokens"] == target_tokens
        assert answer["tokens"] == target_tokens + source_tokens
        assert answer["positions"] == positions
        assert answer["seconds"] > 0
    assert verbs["facts"]()["loss"] > 0


def test_a_command_that_fails_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    run_command(["sh", "-c", "echo fine; test $OMP_NUM_THREADS = 3"], log, 3)
    with pytest.raises(RunError, match=r"exit code 7; .*log.txt ends with: fine / too bad"):
        run_command(["sh", "-c", "echo too bad; exit 7"], log)


def test_a_command_that_is_stopped_is_reported_as_interrupted(tmp_path: Path) -> None:
    # The command sends the signal to this process and waits until it is sent on.
    program = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(143));"
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(600)"
    )
    with pytest.raises(Interrupted) as stop:
        run_command([sys.executable, "-c", program], tmp_path / "log.txt")
    assert stop.value.exit_code == 143
