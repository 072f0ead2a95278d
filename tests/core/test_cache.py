"""Incremental decoding: whatever back-pointers a beam follows, its cache gives the logits of a full pass."""

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.support.small_model import small_model
from translator.core import EOS, PAD, SOS
from translator.core.transformer import Transformer


def sources(count: int) -> Tensor:
    """Sources (count, 7) of 2 to 7 tokens, EOS included."""
    rows = torch.full((count, 7), PAD)
    for number, row in enumerate(rows):
        length = 2 + (3 * number) % 6
        row[: length - 1] = torch.randint(4, 21, (length - 1,))
        row[length - 1] = EOS
    return rows


def back_pointers(data: st.DataObject, sentences: int, width: int) -> tuple[list[int], list[int]]:
    """Draw which sentences a search keeps, and which hypothesis each of theirs continues, by its row."""
    remaining = sorted(data.draw(st.sets(st.integers(0, sentences - 1), min_size=1)))
    rows = []
    for sentence in remaining:
        parents = data.draw(st.lists(st.integers(0, width - 1), min_size=width, max_size=width))
        rows += [sentence * width + parent for parent in parents]
    return remaining, rows


def whole_pass(model: Transformer, source: Tensor, prefixes: Tensor) -> Tensor:
    """Return the logits (R, V) that follow each of `prefixes` (R, T), computed without a cache."""
    width = len(prefixes) // len(source)
    logits: Tensor = model(source.repeat_interleave(width, dim=0), prefixes)[:, -1]
    return logits


@pytest.fixture(scope="module", autouse=True)
def small_capacity() -> Iterator[None]:
    """Let a cache grow within a few steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("translator.core.cache.FIRST_CAPACITY", 2)
        yield


@settings(max_examples=25)
@given(
    data=st.data(),
    width=st.integers(1, 3),
    count=st.integers(1, 5),
    norm=st.sampled_from(["pre", "post"]),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary"]),
    activation=st.sampled_from(["relu", "swiglu"]),
)
def test_cached_steps_equal_the_full_pass_for_any_back_pointers(
    data: st.DataObject, width: int, count: int, norm: str, positions: str, activation: str
) -> None:
    torch.manual_seed(count)
    model = small_model(norm=norm, positions=positions, activation=activation).eval()
    source = sources(count)
    prefixes = torch.full((count * width, 1), SOS)
    cache = model.start(source, width)
    for _ in range(data.draw(st.integers(1, 7))):
        logits = model.step(prefixes[:, -1], cache)
        expected = whole_pass(model, source, prefixes)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)

        # Sentences leave, hypotheses are replaced, and each of those that go on gets a token.
        remaining, rows = back_pointers(data, len(source), width)
        cache.select(torch.tensor(rows))
        source = source[remaining]
        newest = torch.randint(4, 27, (len(rows), 1))
        prefixes = torch.cat((prefixes[rows], newest), dim=1)
