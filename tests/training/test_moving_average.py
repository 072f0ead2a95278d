"""The moving average of the weights, against the formula in plain Python."""

import pytest
import torch
from torch import nn

from translator.training.moving_average import MovingAverage


def trained(steps: int) -> tuple[nn.Linear, MovingAverage, float]:
    """Take steps of noise, and follow one weight by the formula."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    average = MovingAverage(model, 0.9)
    expected = model.weight[0, 0].item()
    for number in range(steps):
        shake(model)
        average.update()
        decay = min(0.9, (1 + number) / (10 + number))
        expected = decay * expected + (1 - decay) * model.weight[0, 0].item()
    return model, average, expected


@torch.no_grad()
def shake(model: nn.Module) -> None:
    for weight in model.parameters():
        weight.add_(torch.randn(weight.shape))


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 200])
def test_the_formula(steps: int) -> None:
    model, average, expected = trained(steps)
    assert average.weights()["weight"][0, 0].item() == pytest.approx(expected, abs=1e-5)
    assert average.weights().keys() == model.state_dict().keys()


def test_what_is_no_weight_is_as_the_model_has_it() -> None:
    model = nn.BatchNorm1d(2)
    average = MovingAverage(model, 0.9)
    model.running_mean = torch.tensor([3.0, 4.0])
    assert torch.equal(average.weights()["running_mean"], torch.tensor([3.0, 4.0]))


def test_a_weight_under_two_names_is_averaged_once() -> None:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    average = MovingAverage(nn.Sequential(first, second), 0.5)
    with torch.no_grad():
        first.weight.add_(1.0)
    before = average.weights()["0.weight"].clone()
    average.update()
    assert torch.allclose(average.weights()["0.weight"], before + 0.9)
    assert torch.equal(average.weights()["1.weight"], average.weights()["0.weight"])


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_the_raw_weights_come_back_bit_for_bit(error: type[BaseException] | None) -> None:
    model, average, _ = trained(7)
    raw = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    held = {name: tensor.clone() for name, tensor in average.weights().items()}
    try:
        with average.swapped_in():
            for name, tensor in model.state_dict().items():
                assert torch.equal(tensor, held[name])
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        assert error is not None
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, raw[name])
        assert torch.equal(average.weights()[name], held[name])


def test_a_swap_that_was_broken_off_is_made_good() -> None:
    model, average, _ = trained(7)
    raw = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    block = average.swapped_in()
    block.__enter__()  # and a second signal arrives before its end
    average.swap_out()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, raw[name])
    average.update()


def test_restored_equals_uninterrupted() -> None:
    _, whole, _ = trained(9)
    model, average, _ = trained(5)
    weights, state = {name: tensor.clone() for name, tensor in average.weights().items()}, average.state
    again = MovingAverage(model, 0.9)
    again.restore(weights, state)
    for _ in range(4):
        shake(model)
        again.update()
    for name, tensor in whole.weights().items():
        assert torch.equal(tensor, again.weights()[name])


def test_weights_of_another_model_are_refused() -> None:
    average = MovingAverage(nn.Linear(3, 2), 0.9)
    with pytest.raises(KeyError):
        average.restore({}, {"updates": 3})
    with pytest.raises(RuntimeError, match="size"):
        average.restore({"weight": torch.zeros(5, 4), "bias": torch.zeros(2)}, {"updates": 3})
