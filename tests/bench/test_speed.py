"""The speed benchmarks: contestants learn, tokens are counted correctly, and failed processes are reported."""

import itertools
import math
import sys
from pathlib import Path

import pytest
import torch

from bench.learners import MARIAN_MEDIUM, OURS, PLAIN, all_pairs, build_learner, our_batches, sorted_batches
from bench.processes import run_command
from bench.training import contest
from tests.support.tiny_recipe import Recipe
from translator.core import PAD
from translator.core.batch import collate_rows
from translator.data import DataHandler
from translator.errors import Interrupted, RunError


@pytest.mark.parametrize("name", [OURS, PLAIN, MARIAN_MEDIUM])
def test_each_contestant_overfits_a_batch_and_gives_chance_loss_if_zeroed(name: str, tiny: Recipe) -> None:
    if "Marian" in name:
        pytest.importorskip("transformers")
    batch = collate_rows([[([5, 6, 7, 8, 9], [20, 21, 22, 23])], [([10, 11], [24, 25])]])
    config = tiny("model.dropout=0", "training.learning_rate=0.01", "training.schedule=constant")
    learner = build_learner(name, config, (21, 27))

    losses = [float(learner.update(batch, number)) for number in range(1, 61)]
    assert losses[-1] < 0.3 * losses[0]

    # A model of zeros takes each of the 27 target tokens for equally likely.
    for parameter in learner.model.parameters():
        torch.nn.init.zeros_(parameter)
    assert float(learner.update(batch, 61)) == pytest.approx(math.log(27), rel=1e-3)


def test_counted_tokens_are_the_targets_without_padding(tiny: Recipe) -> None:
    config = tiny()
    batches = list(itertools.islice(our_batches(DataHandler(config)), 2))
    counts = contest(OURS, config)(2)
    assert counts["target_tokens"] == sum(int((batch.labels != PAD).sum()) for batch in batches)


def test_sorted_batches_have_each_pair_once_an_epoch_and_one_in_a_row(tiny: Recipe) -> None:
    data = DataHandler(tiny())
    pairs = all_pairs(data)
    read = []
    for batch in sorted_batches(data, positions=200):
        assert batch.source.numel() <= 200
        assert set(batch.pair_counts.tolist()) == {1}
        for source, labels in zip(batch.source, batch.labels, strict=True):
            read.append((source[source != PAD][:-1].tolist(), labels[labels != PAD][:-1].tolist()))
        if len(read) >= len(pairs):
            break
    assert sorted(read) == sorted(pairs)


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
