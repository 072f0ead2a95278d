"""Muon is torch's, whatever lies in one stack, and takes matrices that lie in one weight apart."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from translator.training.muon import Muon, near_orthonormal

SHAPES = [(8, 8), (24, 8), (8, 24), (16, 4), (8, 8), (4, 16), (24, 8)]


def matrices(shapes: list[tuple[int, int]], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def weights() -> list[Tensor]:
    return [weight.requires_grad_() for weight in matrices(SHAPES)]


@pytest.mark.parametrize("pays", [True, False])
def test_it_is_torchs(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32 too, which it takes where bf16 is slower: torch's rounds to bf16 in any case."""
    seen: list[torch.dtype] = []

    def noted(stack: Tensor, precision: torch.dtype) -> Tensor:
        seen.append(precision)
        return near_orthonormal(stack, precision)

    monkeypatch.setattr("translator.training.muon.bf16_pays", lambda device: pays)
    monkeypatch.setattr("translator.training.muon.near_orthonormal", noted)
    allowed = 0.02 if pays else 0.04  # of two that round there is much that both lose
    ours, theirs = weights(), weights()
    optimizer = Muon([{"params": ours, "lr": 0.1, "weight_decay": 0.1}])
    peer = torch.optim.Muon(theirs, lr=0.1, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    for number in range(5):
        for some in (ours, theirs):
            for weight, gradient in zip(some, matrices(SHAPES, seed=number + 1), strict=True):
                weight.grad = gradient
        rate = 0.1 / (number + 1)
        optimizer.param_groups[0]["lr"] = peer.param_groups[0]["lr"] = rate
        optimizer.step()
        peer.step()  # type: ignore[no-untyped-call]
        for mine, other in zip(ours, theirs, strict=True):
            # One or both round to bf16, in another order; the root mean square of an update is 0.2 times the rate.
            torch.testing.assert_close(mine, other, rtol=0.0, atol=allowed * rate * (number + 1))
            moments = optimizer.state[mine]["momentum_buffer"], peer.state[other]["momentum_buffer"]
            torch.testing.assert_close(*moments)
    assert set(seen) == {torch.bfloat16 if pays else torch.float32}


def test_the_blocks_of_a_weight_are_weights_of_their_own() -> None:
    (whole,) = matrices([(24, 8)])
    parts = [part.clone().requires_grad_() for part in whole.chunk(3)]
    whole.requires_grad_()
    together = Muon([{"params": [whole], "blocks": 3, "lr": 0.1, "weight_decay": 0.1}])
    apart = Muon([{"params": parts, "lr": 0.1, "weight_decay": 0.1}])
    for number in range(3):
        (gradient,) = matrices([(24, 8)], seed=number + 1)
        gradient[:8] *= 100.0  # were they one, the first would leave little to the others
        whole.grad = gradient
        for part, of_part in zip(parts, gradient.chunk(3), strict=True):
            part.grad = of_part
        together.step()
        apart.step()
    assert torch.equal(whole, torch.cat(parts))
    moved = whole.detach() - matrices([(24, 8)])[0]
    first, second, third = (part.norm() for part in moved.chunk(3))
    assert max(first, second, third) < 1.5 * min(first, second, third)


def test_groups_have_rates_of_their_own_and_what_has_no_gradient_stays() -> None:
    slow, fast, still = weights()[0], weights()[0], weights()[0]
    before = slow.detach().clone()
    settings = {"weight_decay": 0.0}
    optimizer = Muon([{"params": [slow], "lr": 0.1, **settings}, {"params": [fast, still], "lr": 0.3, **settings}])
    slow.grad = fast.grad = matrices([(8, 8)], seed=1)[0]
    optimizer.step()
    torch.testing.assert_close(3.0 * (slow - before), fast - before, rtol=1e-4, atol=1e-5)
    assert torch.equal(still, before)
    assert still not in optimizer.state


PRECISIONS = pytest.mark.parametrize("precision", [torch.bfloat16, torch.float32])


@PRECISIONS
@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 40), columns=st.integers(1, 40), size=st.floats(1e-3, 1e6), seed=st.integers(0, 99))
def test_singular_values_come_near_one_and_vectors_stay(
    precision: torch.dtype, rows: int, columns: int, size: float, seed: int
) -> None:
    stack = size * torch.randn(3, rows, columns, generator=torch.Generator().manual_seed(seed))
    near = near_orthonormal(stack, precision)
    assert (near.shape, near.dtype) == (stack.shape, precision)
    near = near.float()
    left, values, right = torch.linalg.svd(stack, full_matrices=False)
    along = (left.mT @ near @ right.mT).diagonal(dim1=1, dim2=2)
    large = values > 0.05 * values[:, :1]  # five iterations do not lift the very smallest
    assert along[large].min() > 0.3
    assert along.abs().max() < 1.4


@PRECISIONS
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 5, 3)])
def test_nothing_stays_nothing(precision: torch.dtype, shape: tuple[int, int, int]) -> None:
    assert torch.equal(near_orthonormal(torch.zeros(shape), precision), torch.zeros(shape, dtype=precision))
