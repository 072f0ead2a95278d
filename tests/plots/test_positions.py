"""The vectors of positions, and what is drawn of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from plots.drawn import cells
from untrained import untrained_run

from translator.checkpoint import find_checkpoint, load_checkpoint
from translator.config import ModelConfig
from translator.errors import InputError
from translator.model.embedding import sinusoidal_positions
from translator.model.rotary import rotary_positions
from translator.plots.positions import (
    cosines,
    drawn_dimensions,
    positions_figure,
    positions_of_recipe,
    positions_of_run,
)
from translator.run_folder import RunFolder


def test_the_picture_shows_the_table() -> None:
    table = positions_of_recipe(ModelConfig(d_model=32), 10)
    assert np.array_equal(table, sinusoidal_positions(10, 32).numpy())
    figure = positions_figure(table, "title")
    even, odd, curves, alike = figure.axes[:4]
    assert np.array_equal(cells(even.images[0]), table[:, 0::2].T)
    assert np.array_equal(cells(odd.images[0]), table[:, 1::2].T)
    for line, dimension in zip(curves.lines, drawn_dimensions(32), strict=True):
        assert np.array_equal(line.get_ydata(), table[:, dimension])
        assert line.get_label() == f"dimension {dimension}"
    assert np.array_equal(cells(alike.images[0]), cosines(table))
    assert [axes.get_ylabel() for axes in (even, odd, curves, alike)] == ["dimension", "dimension", "value", "position"]


def test_cosines_depend_on_the_distance_alone() -> None:
    """The inner product of two sinusoidal vectors is a sum of cosines of their distance, Vaswani et al. 2017 §3.5."""
    alike = cosines(sinusoidal_positions(12, 64).numpy())
    frequencies = 10_000.0 ** (-np.arange(0, 64, 2) / 64)
    for distance in range(12):
        assert np.allclose(np.diagonal(alike, distance), np.cos(frequencies * distance).mean(), atol=1e-5)
    assert not cosines(np.zeros((3, 4))).any()


def test_a_run_shows_what_it_has_learned(tiny: Any) -> None:
    run = untrained_run(tiny("model.positions=learned"))
    saved = load_checkpoint(find_checkpoint(run.checkpoints_folder, "best")).model
    (learned,) = (tensor for name, tensor in saved.items() if "target_embedding.positions" in name)
    assert np.array_equal(positions_of_run(run, "best", 9), learned[:9].numpy())


def test_a_run_of_sines_has_those_of_its_recipe(run: Path) -> None:
    folder = RunFolder.open(run)
    assert np.array_equal(positions_of_run(folder, "best", 9), positions_of_recipe(folder.config().model, 9))


def test_rotary_positions_are_what_turns_a_head(tiny: Any) -> None:
    """A vector of ones, turned by two positions, has the product that the picture shows of them."""
    model = ModelConfig(d_model=32, heads=2, positions="rotary")
    table = positions_of_recipe(model, 9)
    rotary = rotary_positions(model)
    assert rotary is not None
    ones = rotary(torch.ones(9, 16)).numpy()
    assert np.allclose(cosines(table), ones @ ones.T / 16, atol=1e-6)
    even, odd, *_ = positions_figure(table, "title", turned=True).axes
    assert even.get_title().startswith("cosines") and odd.get_title().startswith("sines")
    assert (cells(even.images[0])[:, 0] == 1).all() and (cells(odd.images[0])[:, 0] == 0).all()
    run = untrained_run(tiny("model.positions=rotary"))
    assert np.array_equal(positions_of_run(run, "best", 9), positions_of_recipe(run.config().model, 9))


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match=r"learned.*--run"):
        positions_of_recipe(ModelConfig(positions="learned"), 10)
    for length in (1, 33):
        with pytest.raises(InputError, match=f"--length {length} .*give 2 to 32"):
            positions_of_recipe(ModelConfig(max_positions=32), length)
