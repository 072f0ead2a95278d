"""Incremental decoding: whatever back-pointers a beam follows, its cache gives the logits of a full pass."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_model import small_batch, small_model
from torch import Tensor

from translator.model import Transformer
from translator.model.cache import FIRST_CAPACITY
from translator.model.inference_copy import prepare
from translator.special_tokens import EOS, PAD, SOS


def sources(count: int) -> Tensor:
    lengths = [2 + (3 * number) % 6 for number in range(count)]
    rows = [[*torch.randint(4, 21, (length - 1,)).tolist(), EOS] for length in lengths]
    return torch.tensor([row + [PAD] * (7 - len(row)) for row in rows])


def whole_pass(model: Transformer, source: Tensor, prefixes: Tensor) -> Tensor:
    """Return the logits (R, V) that follow each of `prefixes` (R, T), computed without a cache."""
    width = len(prefixes) // len(source)
    logits: Tensor = model(source.repeat_interleave(width, dim=0), prefixes)[:, -1]
    return logits


@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    width=st.integers(1, 3),
    count=st.integers(1, 5),
    norm=st.sampled_from(["pre", "post"]),
    positions=st.sampled_from(["sinusoidal", "learned", "rotary"]),
    activation=st.sampled_from(["relu", "swiglu"]),
    prepared=st.booleans(),
)
def test_cached_steps_equal_the_full_pass_for_any_back_pointers(
    data: st.DataObject, width: int, count: int, norm: str, positions: str, activation: str, prepared: bool
) -> None:
    torch.manual_seed(count)
    model = small_model(norm=norm, positions=positions, activation=activation).eval()
    model = prepare(model) if prepared else model
    source = sources(count)
    prefixes = torch.full((count * width, 1), SOS)
    cache = model.start(source, width)
    for _ in range(data.draw(st.integers(1, 7))):
        logits = model.step(prefixes[:, -1], cache)
        torch.testing.assert_close(logits, whole_pass(model, source, prefixes), rtol=1e-4, atol=1e-5)
        kept = sorted(data.draw(st.sets(st.integers(0, len(source) - 1), min_size=1)))
        parents = data.draw(
            st.lists(
                st.lists(st.integers(0, width - 1), min_size=width, max_size=width),
                min_size=len(kept),
                max_size=len(kept),
            )
        )
        rows = torch.tensor(
            [number * width + parent for number, of_one in zip(kept, parents, strict=True) for parent in of_one]
        )
        cache.select(rows)
        source = source[kept]
        prefixes = torch.cat((prefixes[rows], torch.randint(4, 27, (len(rows), 1))), dim=1)


def test_growing_the_cache_keeps_its_entries_and_sentence_slots() -> None:
    model = small_model(max_positions=FIRST_CAPACITY + 8).eval()
    source = sources(4)
    prefixes = torch.full((8, 1), SOS)
    cache = model.start(source, 2)
    for length in range(1, FIRST_CAPACITY + 3):
        logits = model.step(prefixes[:, -1], cache)
        if length == 3:  # the first sentence is removed, and the last one moves into its slot
            rows = torch.tensor([3, 2, 4, 4, 6, 7])
            cache.select(rows)
            source, prefixes, logits = source[1:], prefixes[rows], logits[rows]
        expected = whole_pass(model, source, prefixes)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5, msg=f"at length {length}")
        prefixes = torch.cat((prefixes, torch.randint(4, 27, (len(prefixes), 1))), dim=1)


@pytest.mark.parametrize("tied", ["none", "target"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_prepared_model_is_a_copy_that_computes_the_same(tied: str, precision: str) -> None:
    model = small_model(tied_embeddings=tied).train()
    names = set(model.state_dict())
    source, target, _ = small_batch()
    prepared = prepare(model, precision)  # type: ignore[arg-type]  # mypy widens the literal
    assert model.training and not prepared.training and set(model.state_dict()) == names
    found, exact = prepared(source, target), model.eval()(source, target)
    assert found.dtype is torch.float32
    assert (found - exact).norm() / exact.norm() < (1e-5 if precision == "float32" else 0.03)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert torch.equal(prepared(source, target), found)
