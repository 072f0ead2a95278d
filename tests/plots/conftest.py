"""A run that was never trained, with the search that the pictures need."""

from pathlib import Path
from typing import Any

import pytest
from untrained import untrained_run


@pytest.fixture
def run(tiny: Any) -> Path:
    """The folder of a run of two layers and two heads."""
    overrides = ("model.encoder_layers=2", "model.decoder_layers=2", "search.method=beam", "search.beam_size=3")
    return untrained_run(tiny(*overrides, "search.max_length_ratio=2.0")).path
