"""Compiled once for all shapes, counted, limited, and run as it is where compiling fails."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_model import small_model
from torch import Tensor

from translator.data import Batch, collate, plan_batches
from translator.training.compilation import Compiled
from translator.training.shapes import without_ones

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "train.tsv"


@pytest.fixture(autouse=True)
def nothing_compiled_yet() -> Iterator[None]:
    import torch._dynamo

    torch._dynamo.reset()
    limit = torch._dynamo.config.recompile_limit
    yield
    torch._dynamo.config.recompile_limit = limit
    torch._dynamo.reset()


def overlap(first: Tensor, second: Tensor) -> Tensor:
    """Return how many tokens each row of (B, S) shares with each row of (B, T)."""
    counts = [torch.nn.functional.one_hot(tokens, 9).sum(dim=1) for tokens in (first, second)]
    return counts[0] @ counts[1].T


def tokens(*shape: int) -> Tensor:
    return torch.arange(shape[0] * shape[1]).view(*shape) % 9


def sample_batches(count: int) -> list[Batch]:
    """Return batches of the sample's sentences with a token a word, planned as in training."""
    with SAMPLE.open(encoding="utf-8") as file:
        sides = [
            [[4 + len(word) % 15 for word in side.split()] for side in next(file).split("\t")] for _ in range(1200)
        ]
    source, target = (np.array([len(pair[side]) + 1 for pair in sides]) for side in (0, 1))
    plan = plan_batches(
        source, target, tokens_per_batch=40, max_sentences=None, generator=np.random.Generator(np.random.PCG64(1))
    )
    return [collate([sides[row][0] for row in rows], [sides[row][1] for row in rows], rows) for rows in plan[:count]]


def test_a_run_over_the_sample_compiles_the_model_once() -> None:
    # The first shape is the worst that can be: all its sizes are equal by chance.
    batches = [collate([[5, 6, 7]] * 4, [[5, 6, 7]] * 4, range(4)), *sample_batches(200)]
    shapes = {(*batch.source.shape, batch.labels.size(1)) for batch in batches}
    assert len(batches) == 201 and len(shapes) > 40
    model = small_model(encoder_layers=1, decoder_layers=1).eval()
    compiled = Compiled(model, backend="eager")
    with torch.no_grad():
        for batch in batches:
            batch = without_ones(batch)
            logits = compiled(batch.source, batch.target_input)
            torch.testing.assert_close(logits, model(batch.source, batch.target_input))
    assert compiled.compilations == 1


def test_a_size_of_one_is_compiled_for_itself() -> None:
    compiled = Compiled(overlap, backend="eager")
    counts = []
    for rows, source, target in ((3, 3, 3), (2, 4, 5), (6, 4, 2), (2, 1, 4), (5, 1, 3)):
        first, second = tokens(rows, source), tokens(rows, target)
        assert torch.equal(compiled(first, second), overlap(first, second))
        counts.append(compiled.compilations)
    assert counts == [1, 1, 1, 2, 2]


def test_beyond_the_limit_new_shapes_run_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "translator")
    compiled = Compiled(overlap, backend="eager", limit=1)
    for rows, source in ((3, 3), (2, 1), (1, 4), (4, 5), (1, 1)):
        assert torch.equal(
            compiled(tokens(rows, source), second=tokens(rows, 6)), overlap(tokens(rows, source), tokens(rows, 6))
        )
    assert compiled.compilations == 1 and not compiled.given_up
    assert len(caplog.messages) == 1 and "has compiled 1 pieces of code" in caplog.messages[0]


def test_a_compiler_that_fails_is_given_up_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "translator")
    tried = []

    def broken(graph: Any, inputs: Any) -> Any:
        tried.append(graph)
        raise ValueError("there is no C++ compiler\nhere")

    compiled = Compiled(overlap, backend=broken)
    for rows in (3, 4):
        assert torch.equal(compiled(tokens(rows, 3), tokens(rows, 2)), overlap(tokens(rows, 3), tokens(rows, 2)))
    assert compiled.given_up and len(tried) == 1
    assert len(caplog.messages) == 1
    assert "there is no C++ compiler here" in caplog.messages[0] and "training.compile=never" in caplog.messages[0]


def test_errors_of_the_function_are_its_own() -> None:
    def check(first: Tensor) -> Tensor:
        if first.size(0) > 4:
            raise KeyError("too long")
        return first + 1

    compiled = Compiled(check, backend="eager")
    assert torch.equal(compiled(tokens(2, 2)), tokens(2, 2) + 1)
    with pytest.raises(KeyError, match="too long"):
        compiled(tokens(5, 2))
    assert not compiled.given_up


def test_vectors_may_have_any_size_too() -> None:
    compiled = Compiled(torch.cumsum, backend="eager")
    for shape in ((3, 4), (5, 7), (2, 9)):
        assert torch.equal(compiled(torch.ones(shape), dim=1), torch.ones(shape).cumsum(dim=1))
    assert compiled.compilations == 1
