"""Packed batches, which hold no padding, give the same results as padded batches."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_model import small_batch, small_model
from torch import Tensor

from translator.model.layers import MULTIPLE, PADDED, Packed
from translator.special_tokens import PAD


def tokens_of(lengths: list[int]) -> Tensor:
    tokens = torch.full((len(lengths), max(lengths)), PAD)
    for row, length in enumerate(lengths):
        tokens[row, :length] = torch.arange(4, 4 + length)
    return tokens


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_packing_and_unpacking_keep_every_real_token(lengths: list[int]) -> None:
    tokens = tokens_of(lengths)
    layout = Packed(tokens, PAD)
    assert layout.count == sum(lengths)
    packed = layout.pack(tokens)
    assert len(packed) % MULTIPLE == 0
    assert packed[: layout.count].tolist() == tokens[tokens != PAD].tolist()
    assert not packed[layout.count :].any()
    assert torch.equal(layout.unpack(packed)[tokens != PAD], tokens[tokens != PAD])
    assert layout.sentences[: layout.count].tolist() == [row for row, n in enumerate(lengths) for _ in range(n)]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kernel", ["fused", "plain"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_states_and_gradients_equal_those_of_padded_batches(norm: str, kernel: str, positions: str) -> None:
    source, target_input, labels = small_batch()
    results = []
    for packed in (False, True):
        model = small_model(norm=norm, positions=positions, dropout=0.0).double()
        model.use_attention(kernel)  # type: ignore[arg-type]
        layouts = (Packed(source, PAD), Packed(target_input, PAD)) if packed else (PADDED, PADDED)
        states = model.states(source, target_input, layouts)
        states = states[: layouts[1].count] if isinstance(layouts[1], Packed) else states[labels != PAD]
        torch.autograd.backward((states * torch.linspace(-1, 1, 32)).sum())
        results.append((states, {name: weight.grad for name, weight in model.named_parameters()}))
    (states, gradients), (packed_states, packed_gradients) = results
    torch.testing.assert_close(packed_states, states, rtol=1e-9, atol=1e-9)
    for name, gradient in gradients.items():
        if gradient is None:
            assert packed_gradients[name] is None, name
        else:
            torch.testing.assert_close(packed_gradients[name], gradient, rtol=1e-9, atol=1e-9, msg=name)
