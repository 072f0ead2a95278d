"""Warm start: what of another run's weights is taken, what is not and why."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from untrained import untrained_run

from translator.changes import compare_settings
from translator.checkpoint import find_checkpoint, load_checkpoint, save_checkpoint
from translator.checkpoint.files import _sha256_of_json
from translator.config import Config
from translator.data import DataHandler
from translator.errors import CheckpointError, RunError
from translator.model import Transformer
from translator.run_folder import RunFolder
from translator.storage import write_json
from translator.subword import SubwordPair
from translator.training.warm_start import HEAD, SOURCE_TABLE, TARGET_TABLE, initial_checkpoint, initialize

OTHER_PIECES = ("subword.model_type=unigram", "subword.vocabulary_size=30", "subword.byte_fallback=false")


@pytest.fixture
def old(tiny: Any, tmp_path: Path) -> RunFolder:
    """The run to start from."""
    return untrained_run(tiny(f"run.directory={tmp_path}/old"))


def weights_of(run: RunFolder) -> dict[str, torch.Tensor]:
    return load_checkpoint(find_checkpoint(run.checkpoints_folder, "best"), with_training=False).model


def new_model(config: Config) -> tuple[Transformer, SubwordPair]:
    subword = DataHandler(config).subword
    torch.manual_seed(99)
    return Transformer(config.model, subword.source.vocabulary_size, subword.target.vocabulary_size), subword


def start(config: Config) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], list[str]]:
    """Return the new model's weights before and after, and what was said."""
    model, subword = new_model(config)
    fresh = {name: weight.clone() for name, weight in model.state_dict().items()}
    lines = initialize(model, subword, config)
    return fresh, model.state_dict(), lines


def edit_state(run: RunFolder, **changes: Any) -> None:
    """Change a checkpoint's state, checksum and all, as an older version would have written it."""
    file = find_checkpoint(run.checkpoints_folder, "best") / "state.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    del content["own_sha256"]
    content["state"] |= changes
    write_json(file, content | {"own_sha256": _sha256_of_json(content)})


def test_the_same_model_takes_everything(tiny: Any, old: RunFolder) -> None:
    _, weights, lines = start(tiny(f"training.initialize_from={old.path}"))
    expected = weights_of(old)
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weight, expected[name]) for name, weight in weights.items())
    size = len(weights[SOURCE_TABLE])
    assert lines == [
        f"starting from the weights of {old.path}/checkpoints/step-000005",
        "encoder: 14 of 14 tensors taken",
        "decoder: 22 of 22 tensors taken",
        f"source embedding: all {size} pieces taken",
        f"target embedding: all {len(weights[TARGET_TABLE])} pieces taken",
    ]


def test_a_checkpoint_folder_will_do(tiny: Any, old: RunFolder) -> None:
    folder = old.checkpoints_folder / "last"
    _, weights, _ = start(tiny(f"training.initialize_from={folder}"))
    assert torch.equal(weights[SOURCE_TABLE], weights_of(old)[SOURCE_TABLE])


def test_the_moving_average_is_taken_where_there_is_one(tiny: Any, old: RunFolder) -> None:
    path = find_checkpoint(old.checkpoints_folder, "best")
    loaded = load_checkpoint(path)
    average = {name: weight + 1 for name, weight in loaded.model.items()}
    save_checkpoint(old.checkpoints_folder, replace(loaded.state, average={"updates": 3}), loaded.model, {}, average)
    _, weights, lines = start(tiny(f"training.initialize_from={old.path}"))
    assert all(torch.equal(weight, average[name]) for name, weight in weights.items())
    assert lines[0] == f"starting from the moving average of the weights of {path}"


def test_pieces_are_found_by_their_text_in_another_vocabulary(tiny: Any, old: RunFolder) -> None:
    config = tiny(*OTHER_PIECES, f"training.initialize_from={old.path}")
    fresh, weights, lines = start(config)
    before, now = SubwordPair.load(old.subword_folder).source, DataHandler(config).subword.source
    places = {piece: row for row, piece in enumerate(before.pieces_of(range(before.vocabulary_size)))}
    pieces = now.pieces_of(range(now.vocabulary_size))
    found = [(row, places[piece]) for row, piece in enumerate(pieces) if piece in places]
    assert 4 < len(found) < len(pieces)
    assert any(row != place for row, place in found), "copying by number would be wrong"
    expected = weights_of(old)[SOURCE_TABLE]
    for row, place in found:
        assert torch.equal(weights[SOURCE_TABLE][row], expected[place])
    for row in set(range(len(pieces))) - {row for row, _ in found}:
        assert torch.equal(weights[SOURCE_TABLE][row], fresh[SOURCE_TABLE][row])
    assert (
        f"source embedding: the subword models are others; {len(found)} of {len(pieces)} pieces found by their text, "
        "the rest starts fresh"
    ) in lines


def test_pieces_that_cannot_be_known_start_fresh(tiny: Any, old: RunFolder) -> None:
    shutil.rmtree(old.subword_folder)
    fresh, weights, lines = start(tiny(*OTHER_PIECES, f"training.initialize_from={old.path}"))
    assert torch.equal(weights[SOURCE_TABLE], fresh[SOURCE_TABLE])
    assert torch.equal(weights[TARGET_TABLE], fresh[TARGET_TABLE])
    assert any("target embedding: starts fresh, since the subword models are others" in line for line in lines)
    _, same, _ = start(tiny(f"training.initialize_from={old.path}"))
    assert torch.equal(same[SOURCE_TABLE], weights_of(old)[SOURCE_TABLE]), "the same models need not be at hand"


def test_subword_models_of_somebody_else_are_not_believed(tiny: Any, old: RunFolder) -> None:
    config = tiny(*OTHER_PIECES, f"training.initialize_from={old.path}")
    shutil.rmtree(old.subword_folder)
    old.keep_subword(DataHandler(config).subword_folder)
    fresh, weights, _ = start(config)
    assert torch.equal(weights[SOURCE_TABLE], fresh[SOURCE_TABLE])


def test_a_deeper_model_takes_the_layers_that_there_are(tiny: Any, old: RunFolder) -> None:
    config = tiny("model.encoder_layers=3", f"training.initialize_from={old.path}")
    fresh, weights, lines = start(config)
    expected = weights_of(old)
    for name, weight in weights.items():
        source = expected[name] if name in expected else fresh[name]
        assert torch.equal(weight, source), name
    assert (
        "encoder: 14 of 38 tensors taken; not there, so they start fresh: encoder.layers.1, encoder.layers.2" in lines
    )


def test_a_shallower_model_leaves_layers_unused(tiny: Any, tmp_path: Path) -> None:
    deep = untrained_run(tiny(f"run.directory={tmp_path}/deep", "model.decoder_layers=2"))
    _, _, lines = start(tiny(f"training.initialize_from={deep.path}"))
    assert "decoder: 22 of 22 tensors taken; not used: decoder.layers.1" in lines


def test_another_inner_width_is_listed(tiny: Any, old: RunFolder) -> None:
    fresh, weights, lines = start(tiny("model.feed_forward=48", f"training.initialize_from={old.path}"))
    name = "encoder.layers.0.feed_forward.inner.weight"
    assert torch.equal(weights[name], fresh[name])
    assert (
        "encoder: 10 of 14 tensors taken; 4 start fresh for their shape, or that of their matrix: "
        f"{name}, for one, is 32 × 16 there and 48 × 16 here"
    ) in lines


def test_tied_tables_are_parted_and_parted_ones_tied(tiny: Any, old: RunFolder, tmp_path: Path) -> None:
    _, weights, lines = start(tiny("model.tied_embeddings=none", f"training.initialize_from={old.path}"))
    assert torch.equal(weights[HEAD], weights_of(old)[TARGET_TABLE])
    assert any(line.startswith("output head: all ") for line in lines)
    parted = untrained_run(tiny(f"run.directory={tmp_path}/parted", "model.tied_embeddings=none"))
    _, weights, lines = start(tiny(f"training.initialize_from={parted.path}"))
    assert torch.equal(weights[TARGET_TABLE], weights_of(parted)[TARGET_TABLE])
    assert "output head: tied in the new model, so that one of its own is not used" in lines


def test_a_model_of_another_width_takes_nothing_and_that_is_refused(tiny: Any, old: RunFolder) -> None:
    config = tiny("model.d_model=32", f"training.initialize_from={old.path}")
    with pytest.raises(
        CheckpointError, match=r"nothing of .* fits the new model: .*16 wide there and 32 here"
    ) as caught:
        start(config)
    assert "or leave training.initialize_from out" in str(caught.value)


def test_what_the_weights_do_not_know_is_told(tiny: Any, old: RunFolder) -> None:
    edit_state(
        old,
        normalizer_version=-1,
        normalization=tiny("corpus.normalization.digits=ascii").corpus.normalization.model_dump(),
    )
    _, _, lines = start(tiny("model.activation=gelu", f"training.initialize_from={old.path}"))
    cautions = [line for line in lines if line.startswith("caution: ")]
    assert len(cautions) == 3
    assert "model.activation was relu there and is gelu here" in cautions[0]
    assert "their text went through version -1 of the normalizer" in cautions[1]
    assert "other rules of corpus.normalization (digits)" in cautions[2]


def test_a_path_that_leads_nowhere(tiny: Any, tmp_path: Path, old: RunFolder) -> None:
    for name in ("nowhere", "prepared"):
        with pytest.raises(RunError, match=rf"{name}, where there is neither a run nor a checkpoint; set training"):
            initial_checkpoint(tiny(f"training.initialize_from={tmp_path}/{name}"))
    shutil.rmtree(old.checkpoints_folder)
    with pytest.raises(CheckpointError, match=r"no checkpoint `best`"):
        initial_checkpoint(tiny(f"training.initialize_from={old.path}"))


def test_a_run_does_not_start_from_itself(tiny: Any, old: RunFolder) -> None:
    for path in (old.path, old.checkpoints_folder / "last", old.path / ".." / "old"):
        with pytest.raises(RunError, match=r"the very run that is to be trained"):
            initial_checkpoint(tiny(f"run.directory={old.path}", f"training.initialize_from={path}"))


def test_a_run_that_goes_on_may_leave_it_out(tiny: Any, old: RunFolder) -> None:
    changes = compare_settings(tiny(f"training.initialize_from={old.path}"), tiny())
    assert [change.effect.kind for change in changes.items] == ["harmless"]
    assert "only a new run starts from it" in changes.lines[0]


def test_spoilt_weights_are_refused(tiny: Any, old: RunFolder) -> None:
    path = find_checkpoint(old.checkpoints_folder, "best")
    loaded = load_checkpoint(path)
    spoilt = {name: weight.clone() for name, weight in loaded.model.items()}
    next(iter(spoilt.values())).fill_(float("nan"))
    save_checkpoint(old.checkpoints_folder, loaded.state, spoilt, loaded.training)
    config = tiny(f"training.initialize_from={old.path}")
    model, subword = new_model(config)
    with pytest.raises(
        CheckpointError, match=r"are not finite \(.*name another checkpoint in training\.initialize_from"
    ):
        initialize(model, subword, config)
