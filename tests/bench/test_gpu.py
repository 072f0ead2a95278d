"""The benchmark for GPUs, run on the CPU with tiny sizes: its logic does not wait for a GPU to be tried."""

import itertools

import pytest
import torch

from bench.gpu import Work, bench_gpu, bench_size, synthetic_batches
from bench.marian import marian_is_here
from bench.options import Options
from translator.errors import ConfigError

TINY = {"d_model": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feed_forward": 32}
WORK = Work(torch.device("cpu"), 50, 300, 500, warm_steps=1, steps=2, rounds=2)


def test_a_size_is_reported() -> None:
    lines = list(bench_size("tiny", TINY, WORK))
    assert lines[0].startswith("  Transformer-tiny, d 16, vocabulary 50, up to 300 positions a batch")
    assert "target tokens/s" in lines[1] and "0 graphs compiled" in lines[1]
    assert ("translator ÷ Marian" in lines[-1]) == marian_is_here()


def test_synthetic_batches_are_full_bucketed_and_the_same_for_all() -> None:
    first, again = (list(itertools.islice(synthetic_batches(WORK), 20)) for _ in range(2))
    for ours, theirs in zip(first, again, strict=True):
        assert torch.equal(ours.source, theirs.source) and torch.equal(ours.labels, theirs.labels)
        assert ours.size * max(ours.source.size(1), ours.labels.size(1)) <= 300
        assert int(ours.source.max()) < 50
    positions = sum(batch.source.numel() + batch.labels.numel() for batch in first)
    assert sum(batch.source_tokens + batch.target_tokens for batch in first) > 0.6 * positions


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so() -> None:
    with pytest.raises(ConfigError, match="needs a CUDA GPU, and torch finds none here"):
        list(bench_gpu(Options()))
