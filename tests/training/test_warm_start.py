"""Warm start: which weights of another run are taken, which are not, and why."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.tiny_runs import assert_same_bits
from tests.support.untrained import untrained_run
from translator.checkpoint.files import load_checkpoint, save_checkpoint
from translator.checkpoint.state import find_checkpoint
from translator.config import Config
from translator.core.transformer import Transformer
from translator.data import DataHandler
from translator.errors import CheckpointError, RunError
from translator.run.folder import RunFolder
from translator.subword import SubwordPair
from translator.training.warm_start import SOURCE_TABLE, TARGET_TABLE, initial_checkpoint, initialize

BY_TEXT = "matched by their text"
OTHER_PIECES = ("subword.model_type=unigram", "subword.vocabulary_size=30", "subword.byte_fallback=false")


@pytest.fixture
def old(tiny: Any, tmp_path: Path) -> RunFolder:
    return untrained_run(tiny(f"run.directory={tmp_path}/old"))


def weights_of(run: RunFolder) -> dict[str, torch.Tensor]:
    return load_checkpoint(find_checkpoint(run.checkpoints_folder, "best")).model


def start(config: Config) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], list[str]]:
    data = DataHandler(config)
    subword = data.subword
    torch.manual_seed(99)
    model = Transformer(config.model.settings, subword.source.vocabulary_size, subword.target.vocabulary_size)
    fresh = {name: weight.clone() for name, weight in model.state_dict().items()}
    return fresh, model.state_dict(), initialize(model, subword, config)


def test_the_same_model_copies_all_weights(tiny: Any, old: RunFolder) -> None:
    _, weights, lines = start(tiny(f"training.initialize_from={old.path}"))
    assert_same_bits(weights, weights_of(old))
    path = find_checkpoint(old.checkpoints_folder, "best").resolve()
    assert lines == [
        f"starting from the weights of {path}",
        "layers: 36 of 36 tensors copied",
        f"source embedding: {len(weights[SOURCE_TABLE])} of {len(weights[SOURCE_TABLE])} pieces copied, {BY_TEXT}",
        f"target embedding: {len(weights[TARGET_TABLE])} of {len(weights[TARGET_TABLE])} pieces copied, {BY_TEXT}",
    ]


def test_the_moving_average_of_the_weights_is_preferred(tiny: Any, old: RunFolder) -> None:
    path = find_checkpoint(old.checkpoints_folder, "best").resolve()
    loaded = load_checkpoint(path)
    average = {name: weight + 1 for name, weight in loaded.model.items()}
    state = replace(loaded.state, average={"updates": 3})
    save_checkpoint(old.checkpoints_folder, state, loaded.model, training={}, average=average)

    _, weights, lines = start(tiny(f"training.initialize_from={path}"))
    assert_same_bits(weights, average)
    assert lines[0] == f"starting from the moving average of the weights of {path}"


def test_embeddings_are_matched_by_piece_text_across_vocabularies(tiny: Any, old: RunFolder) -> None:
    config = tiny(*OTHER_PIECES, f"training.initialize_from={old.path}")
    fresh, weights, lines = start(config)
    old_model = SubwordPair.load(old.subword_folder).source
    new_model = DataHandler(config).subword.source
    old_rows = {piece: row for row, piece in enumerate(old_model.pieces_of(range(old_model.vocabulary_size)))}
    pieces = new_model.pieces_of(range(new_model.vocabulary_size))

    # The row of a piece is that of the same piece in the old model, or a new one.
    old_table = weights_of(old)[SOURCE_TABLE]
    matches = []
    for row, piece in enumerate(pieces):
        expected = fresh[SOURCE_TABLE][row]
        if piece in old_rows:
            matches.append((row, old_rows[piece]))
            expected = old_table[old_rows[piece]]
        assert torch.equal(weights[SOURCE_TABLE][row], expected), piece

    assert 4 < len(matches) < len(pieces)
    assert any(row != old_row for row, old_row in matches), "copying by number would be wrong"
    counts = f"{len(matches)} of {len(pieces)}"
    assert f"source embedding: {counts} pieces copied, {BY_TEXT}" in lines


def test_a_deeper_model_copies_existing_layers_and_initializes_the_rest(tiny: Any, old: RunFolder) -> None:
    config = tiny("model.encoder_layers=3", f"training.initialize_from={old.path}")
    fresh, weights, lines = start(config)
    expected = weights_of(old)
    for name, weight in weights.items():
        source = expected[name] if name in expected else fresh[name]
        assert torch.equal(weight, source), name
    assert "layers: 36 of 60 tensors copied" in lines
    (fresh_layers,) = [line for line in lines if line.startswith("newly initialized: encoder.layers.1.")]
    assert "encoder.layers.2." in fresh_layers
    assert "layers.0" not in fresh_layers


def test_a_model_of_another_width_is_refused(tiny: Any, old: RunFolder) -> None:
    message = r"no weight of .* fits .*source embedding: 0 of .*or leave training\.init"
    with pytest.raises(CheckpointError, match=message):
        start(tiny("model.d_model=32", f"training.initialize_from={old.path}"))


def test_a_path_without_a_run_or_checkpoint_is_refused(tiny: Any, tmp_path: Path, old: RunFolder) -> None:
    for name in ("nowhere", "prepared"):
        with pytest.raises(RunError, match=rf"{name}, which is neither a run nor a checkpoint; set training"):
            initial_checkpoint(tiny(f"training.initialize_from={tmp_path}/{name}"))
    shutil.rmtree(old.checkpoints_folder)
    with pytest.raises(CheckpointError, match=r"no checkpoint `best`"):
        initial_checkpoint(tiny(f"training.initialize_from={old.path}"))
