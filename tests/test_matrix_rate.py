"""Measuring the matrix rate, and telling right bf16 products from wrong ones."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from translator import matrix_rate as room
from translator.device import MatmulPrecision, Precision
from translator.matrix_rate import bf16_is_right, matrix_rate

CPU = torch.device("cpu")


@pytest.mark.parametrize(("precision", "rounding"), [("float32", "medium"), ("bf16", None)])
def test_the_rate_is_operations_over_the_best_time(
    precision: Precision, rounding: MatmulPrecision | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([9.0, 0.5, 0.25, 0.125, 7.0])
    seen: list[tuple[torch.dtype, str]] = []

    def timed(left: Tensor, weight: Tensor) -> float:
        seen.append((left.dtype, torch.get_float32_matmul_precision()))
        return next(times)

    monkeypatch.setattr(room, "_CPU_SHAPE", (10, 20, 30))
    monkeypatch.setattr(room, "_timed", timed)
    assert matrix_rate(CPU, precision, rounding) == 2 * 10 * 20 * 30 / 0.125, "9.0 was the first product, to warm up"
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    assert set(seen) == {(dtype, rounding or "highest")}
    assert torch.get_float32_matmul_precision() == "highest"


def test_torch_keeps_its_precision_when_a_product_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> float:
        raise RuntimeError("no memory")

    monkeypatch.setattr(room, "_timed", failing)
    with pytest.raises(RuntimeError, match="no memory"):
        matrix_rate(CPU, "float32", "medium")
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_real_product_takes_time() -> None:
    assert 0 < room._timed(torch.ones(64, 64), torch.ones(64, 64)) < 60


def test_products_that_are_summed_in_float32_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_product", lambda left, weight: (left.float() @ weight.float().t()).bfloat16())
    assert bf16_is_right(CPU)


def summed_in_bf16(left: Tensor, weight: Tensor) -> Tensor:
    total = torch.zeros(left.size(0), weight.size(0), dtype=torch.bfloat16)
    for column in range(left.size(1)):
        total += left[:, column : column + 1] * weight[:, column]
    return total


def without_the_last_term(left: Tensor, weight: Tensor) -> Tensor:
    return (left[:, :-1].float() @ weight[:, :-1].float().t()).bfloat16()


def one_wrong_corner(left: Tensor, weight: Tensor) -> Tensor:
    product = (left.float() @ weight.float().t()).bfloat16()
    product[-1, -1] = float("nan")
    return product


def as_if_transposed_were_not(left: Tensor, weight: Tensor) -> Tensor:
    """Mistake the layout of a transposed weight."""
    if not weight.is_contiguous():
        weight = weight.t().reshape(weight.shape)
    return (left.float() @ weight.float().t()).bfloat16()


def failing(left: Tensor, weight: Tensor) -> Tensor:
    raise RuntimeError("no bf16 here")


@pytest.mark.parametrize(
    "product", [summed_in_bf16, without_the_last_term, one_wrong_corner, as_if_transposed_were_not, failing]
)
def test_wrong_products_are_found(product: Callable[[Tensor, Tensor], Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_product", product)
    assert not bf16_is_right(CPU)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_there_is_not_right() -> None:
    assert not bf16_is_right(torch.device("cuda"))
