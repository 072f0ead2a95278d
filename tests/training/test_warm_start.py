"""Warm start: which weights of another run are taken, which are not, and why."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.tiny_runs import assert_same_bits
from translator.checkpoint.files import load_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.core.transformer import Transformer
from translator.data import DataHandler
from translator.errors import CheckpointError
from translator.subword import SubwordPair
from translator.training.warm_start import SOURCE_TABLE, initialize


@pytest.fixture
def old(random_run: Path, tmp_path: Path) -> Path:
    """A copy of a run with random weights."""
    return Path(shutil.copytree(random_run, tmp_path / "old", symlinks=True))


def weights_of(run: Path) -> dict[str, Tensor]:
    return load_checkpoint(find_checkpoint(run / "checkpoints", "best")).model


def start(config: Config) -> tuple[dict[str, Tensor], dict[str, Tensor], str]:
    """Return the random weights of a model, those that it starts with, and the lines for the log."""
    subword = DataHandler(config).subword
    torch.manual_seed(99)
    model = Transformer(config.model.settings, subword.source.vocabulary_size, subword.target.vocabulary_size)
    fresh = {name: weight.clone() for name, weight in model.state_dict().items()}
    lines = initialize(model, subword, config)
    return fresh, model.state_dict(), "\n".join(lines)


def test_embeddings_are_matched_by_piece_text_across_vocabularies(tiny: Any, old: Path) -> None:
    pieces_of_another_kind = ("subword.model_type=unigram", "subword.vocabulary_size=30", "subword.byte_fallback=false")
    config = tiny(*pieces_of_another_kind, f"training.initialize_from={old}")
    fresh, weights, log = start(config)
    old_model = SubwordPair.load(old / "subword").source
    new_model = DataHandler(config).subword.source
    old_rows = {piece: row for row, piece in enumerate(old_model.pieces_of(range(old_model.vocabulary_size)))}
    pieces = new_model.pieces_of(range(new_model.vocabulary_size))

    # The row of a piece is that of the same piece in the old model, or a new one.
    old_table = weights_of(old)[SOURCE_TABLE]
    for row, piece in enumerate(pieces):
        expected = old_table[old_rows[piece]] if piece in old_rows else fresh[SOURCE_TABLE][row]
        assert torch.equal(weights[SOURCE_TABLE][row], expected), piece

    matches = [(row, old_rows[piece]) for row, piece in enumerate(pieces) if piece in old_rows]
    assert 4 < len(matches) < len(pieces)
    assert any(row != old_row for row, old_row in matches), "copying by number would be wrong"
    assert f"source embedding: {len(matches)} of {len(pieces)} pieces copied" in log


def test_a_deeper_model_copies_existing_layers_and_initializes_the_rest(tiny: Any, old: Path) -> None:
    fresh, weights, log = start(tiny("model.encoder_layers=3", f"training.initialize_from={old}"))
    assert_same_bits(weights, fresh | weights_of(old))
    assert "layers: 36 of 60 tensors copied" in log
    assert "newly initialized: encoder.layers.1." in log


def test_a_model_of_another_width_is_refused(tiny: Any, old: Path) -> None:
    message = r"no weight of .* fits .*source embedding: 0 of .*or leave training\.init"
    with pytest.raises(CheckpointError, match=message):
        start(tiny("model.d_model=32", f"training.initialize_from={old}"))
