import pytest
import torch
from small_model import small_batch, small_model
from torch import nn

from translator.model.prepared import prepare
from translator.model.prepared_linear import PreparedLinear, PreparedPrecision, padded_rows
from translator.search import beam_search, greedy_search, longest_outputs


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tied", ["none", "target"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_float32_is_the_same_model(norm: str, tied: str, positions: str) -> None:
    model = small_model(norm=norm, tied_embeddings=tied, positions=positions).eval()
    source, target, _ = small_batch()
    torch.testing.assert_close(prepare(model)(source, target), model(source, target), rtol=1e-5, atol=1e-5)


def test_float32_finds_the_same_tokens() -> None:
    model = small_model(norm="post").eval()
    source, _, _ = small_batch()
    limits = longest_outputs(source, 1.0, 40)
    prepared = prepare(model)
    ours = beam_search(prepared, source, limits, 3)
    assert [[one.tokens for one in found] for found in ours] == [
        [one.tokens for one in found] for found in beam_search(model, source, limits, 3)
    ]
    assert [one.tokens for one in greedy_search(prepared, source, limits)] == [
        one.tokens for one in greedy_search(model, source, limits)
    ]


@pytest.mark.parametrize(("precision", "error"), [("bf16", 0.03), ("int8", 0.03)])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_rounded_products_come_near(precision: PreparedPrecision, error: float, activation: str) -> None:
    model = small_model(activation=activation).eval()
    source, target, _ = small_batch()
    exact = model(source, target)
    rounded = prepare(model, precision)(source, target)
    assert rounded.dtype is torch.float32
    distance = (rounded - exact).norm() / exact.norm()
    assert 0 < distance < error


def test_an_input_of_one_row_and_an_output_without_a_bias() -> None:
    weight = torch.randn(7, 16)
    x = torch.randn(1, 1, 16)
    expected = nn.functional.linear(x, weight)
    for precision, tolerance in (("float32", 1e-6), ("bf16", 0.05), ("int8", 0.05)):
        y = PreparedLinear(weight, None, precision)(x)  # type: ignore[arg-type]  # mypy widens the literal
        assert y.shape == (1, 1, 7)
        torch.testing.assert_close(y, expected, rtol=tolerance, atol=tolerance * 4)


def test_the_model_stays_as_it_was() -> None:
    model = small_model().train()
    names = set(model.state_dict())
    source, target, _ = small_batch()
    prepared = prepare(model, "bf16")
    assert model.training and not prepared.training
    assert model.prepared_head is None and set(model.state_dict()) == names
    before = prepared(source, target)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    assert torch.equal(prepared(source, target), before)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 63, 65, 500, 513, 700])
def test_rows_are_filled_up_and_touch_each_other_in_nothing(rows: int) -> None:
    torch.manual_seed(3)
    weight, bias, x = torch.randn(24, 16), torch.randn(24), torch.randn(rows, 16)
    linear = PreparedLinear(weight, bias, "bf16")
    y = linear.of_rows(x)
    assert y.shape == (rows, 24)
    assert padded_rows(rows) >= rows and padded_rows(padded_rows(rows)) == padded_rows(rows)
    torch.testing.assert_close(y, x.bfloat16().float() @ weight.bfloat16().float().T + bias, rtol=0.02, atol=0.1)
    assert torch.equal(linear.of_rows(torch.cat((x, torch.full((1, 16), float("inf")))))[:rows], y)


def test_few_numbers_of_rows_are_ever_multiplied() -> None:
    assert len({padded_rows(rows) for rows in range(1, 2049)}) < 30
