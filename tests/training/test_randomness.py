"""All generators go on where they were."""

import json
import random

import numpy as np
import torch

from translator.training.randomness import random_numbers, random_tensors, restore_random, seed_everything


def draw() -> tuple[float, float, float, float]:
    return random.random(), random.gauss(0, 1), float(np.random.standard_normal()), torch.rand(()).item()


def test_the_same_numbers_come_again_after_restoring() -> None:
    seed_everything(3)
    draw()
    numbers = json.loads(json.dumps(random_numbers()))
    tensors = {key: value.clone() for key, value in random_tensors().items()}
    expected = [draw() for _ in range(5)]
    seed_everything(99)
    restore_random(tensors, numbers)
    assert [draw() for _ in range(5)] == expected


def test_a_seed_decides_everything() -> None:
    seed_everything(5)
    first = draw()
    seed_everything(5)
    assert draw() == first
    seed_everything(6)
    assert draw() != first
