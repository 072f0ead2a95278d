"""Rotary positions: turned pairs, distances, and that no vector says where a token stands."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_model import small_batch, small_model

from translator.model.attention import SelfAttention
from translator.model.rotary import RotaryPositions

POSITIONS = 24


def test_each_pair_of_columns_turns_by_its_own_angle() -> None:
    x = torch.randn(3, 2, POSITIONS, 6)
    turned = RotaryPositions(6, POSITIONS)(x)
    for pair in range(3):
        for position in range(POSITIONS):
            angle = position * 10_000.0 ** (-2 * pair / 6)
            a, b = x[..., position, 2 * pair], x[..., position, 2 * pair + 1]
            found = turned[..., position, 2 * pair : 2 * pair + 2]
            expected = torch.stack(
                (a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle))
            )
            torch.testing.assert_close(found, expected.movedim(0, -1), rtol=1e-5, atol=1e-5)


@given(first=st.integers(0, 11), second=st.integers(0, 11), shift=st.integers(0, 12))
def test_a_product_depends_on_the_distance_alone(first: int, second: int, shift: int) -> None:
    rotary = RotaryPositions(8, POSITIONS)
    query, key = torch.linspace(-1, 1, 8).view(1, 8), torch.linspace(2, -1, 8).view(1, 8)
    here = rotary(query, first) @ rotary(key, second).T
    there = rotary(query, first + shift) @ rotary(key, second + shift).T
    torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-4)
    if first != second:
        assert abs(float(here - rotary(query, first) @ rotary(key, first).T)) > 1e-4


def test_a_start_shifts_the_positions() -> None:
    rotary, x = RotaryPositions(8, POSITIONS), torch.randn(2, 3, 9, 8)
    torch.testing.assert_close(rotary(x[:, :, 4:], start=4), rotary(x)[:, :, 4:], rtol=0, atol=0)


def test_the_gradient_is_that_of_the_formula() -> None:
    rotary = RotaryPositions(4, POSITIONS).double()
    assert torch.autograd.gradcheck(rotary, torch.randn(2, 5, 4, dtype=torch.double, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_the_type_stays_and_is_rounded_once(dtype: torch.dtype) -> None:
    rotary, x = RotaryPositions(8, POSITIONS), torch.randn(2, POSITIONS, 8).to(dtype)
    wide = torch.promote_types(dtype, torch.float32)
    assert rotary(x).dtype == dtype and rotary(x).is_contiguous()
    assert torch.equal(rotary(x), rotary(x.to(wide)).to(dtype))


def test_what_a_compiler_sees_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rotary, outcomes = RotaryPositions(8, POSITIONS), []
    for compiling in (False, True):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda seen=compiling: seen)
        x = torch.linspace(-2, 2, 3 * POSITIONS * 8).view(3, POSITIONS, 8).requires_grad_()
        (gradient,) = torch.autograd.grad((rotary(x) * torch.linspace(0, 1, 8)).sum(), x)
        outcomes.append((rotary(x), gradient))
    torch.testing.assert_close(*outcomes)
    assert len(torch.unique(outcomes[0][1])) > 8


def test_it_is_compiled_whole() -> None:
    x = torch.randn(2, POSITIONS, 8, requires_grad=True)
    rotary = RotaryPositions(8, POSITIONS)
    compiled = torch.compile(rotary, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), rotary(x))
    (gradient,) = torch.autograd.grad(compiled(x).square().sum(), x)
    torch.testing.assert_close(gradient, 2 * x.detach())


def test_there_is_nothing_beyond_the_table() -> None:
    rotary = RotaryPositions(8, POSITIONS)
    for start, length in ((POSITIONS - 1, 2), (POSITIONS, 1)):
        with pytest.raises(AssertionError, match="beyond the table"):
            rotary(torch.zeros(2, length, 8), start)
    with pytest.raises(AssertionError, match="in pairs"):
        RotaryPositions(7, POSITIONS)


def test_attention_without_a_mask_knows_order_by_it_alone() -> None:
    torch.manual_seed(1)
    x, order = torch.randn(1, 7, 16), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    blind = SelfAttention(16, 2)
    seeing = SelfAttention(16, 2, rotary=RotaryPositions(8, POSITIONS))
    torch.testing.assert_close(blind(x[:, order], None), blind(x, None)[:, order])
    assert (seeing(x[:, order], None) - seeing(x, None)[:, order]).abs().max() > 1e-3


def test_nothing_is_added_and_nothing_is_saved() -> None:
    model, plain = small_model(positions="rotary", dropout=0.0), small_model(dropout=0.0)
    assert model.state_dict().keys() == plain.state_dict().keys()
    source, _, _ = small_batch()
    embedding = model.source_embedding
    torch.testing.assert_close(embedding(source), embedding.tokens(source) * embedding.scale, rtol=0, atol=0)
    turning = [module.rotary for module in model.modules() if isinstance(module, SelfAttention)]
    assert None not in turning and len(set(turning)) == 2, "one for each stack"
