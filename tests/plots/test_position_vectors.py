"""The drawn positions are those of the model."""

import numpy as np
import pytest

from translator.config import ModelConfig
from translator.errors import InputError
from translator.plots.position_vectors import position_vectors


def test_sinusoidal_positions_begin_with_sines_of_zero_and_cosines_of_one() -> None:
    vectors = position_vectors(ModelConfig(positions="sinusoidal", d_model=8, heads=2), length=3)
    assert vectors.shape == (3, 8)
    assert sorted(vectors[0].tolist()) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_rotary_positions_have_the_width_of_a_head() -> None:
    vectors = position_vectors(ModelConfig(positions="rotary", d_model=8, heads=2), length=3)
    assert vectors.shape == (3, 4)
    assert np.abs(vectors).max() <= 1


def test_learned_positions_need_a_trained_run() -> None:
    with pytest.raises(InputError, match="name one with --run"):
        position_vectors(ModelConfig(positions="learned"), length=3)


@pytest.mark.parametrize("length", [1, 9])
def test_a_length_out_of_range_is_refused(length: int) -> None:
    config = ModelConfig(positions="sinusoidal", d_model=8, heads=2, max_positions=8)
    with pytest.raises(InputError, match=f"--length {length} is out of range; give 2 to 8"):
        position_vectors(config, length)
