"""What each picture shows, checked against the model, the search or the batches it is made from."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from untrained import untrained_run

from translator import Translator
from translator.cli import main
from translator.config import TrainingConfig
from translator.data import DataHandler, DataPosition
from translator.errors import InputError, StorageError
from translator.model.decoder import DecoderCache
from translator.plots import check_picture, distinct, shown, write_picture
from translator.plots.attention import (
    BeamHistory,
    SentenceAttention,
    attention_figure,
    cache_figure,
    look,
    record_search,
)
from translator.plots.pictures import (
    batches_figure,
    masks_figure,
    measure_batches,
    position_vectors,
    positions_figure,
    schedule_figure,
)
from translator.training.optimizer import learning_rate


@pytest.fixture
def run(tiny: Any) -> Path:
    """The folder of a run of two layers and two heads that was never trained."""
    overrides = ("model.encoder_layers=2", "model.decoder_layers=2", "search.method=beam", "search.beam_size=3")
    return untrained_run(tiny(*overrides, "search.max_length_ratio=2.0")).path


def test_attention_is_what_the_translator_returns(run: Path) -> None:
    expected = Translator.load(run).attention("abc de")
    found = look(run, "abc de")
    assert (found.looking, found.looked_at) == (expected.target, expected.source)
    ((title, weights),) = found.panels().items()
    assert title == "layer 2, mean of 2 heads"
    assert np.allclose(weights, expected.weights, atol=1e-6)
    decoder = look(run, "abc", kind="decoder")
    assert decoder.looking[0] == "<s>"
    assert not np.triu(decoder.weights, 1).any(), "no position looks ahead"
    assert look(run, "abc", kind="encoder").looking == Translator.load(run).attention("abc").source
    with pytest.raises(InputError, match="the text is empty"):
        look(run, " ")


def test_layers_and_heads_are_chosen_and_drawn_side_by_side() -> None:
    weights = np.random.default_rng(1).random((3, 2, 2, 2)).astype(np.float32)
    found = SentenceAttention("cross", ["▁ب", "</s>"], ["▁a", "</s>"], weights)
    assert np.array_equal(found.panels("1", "2")["layer 1, head 2"], weights[0, 1])
    assert np.allclose(found.panels("2")["layer 2, mean of 2 heads"], weights[1].mean(0))
    panels = found.panels("all", "all")
    assert np.array_equal(list(panels.values()), weights.reshape(6, 2, 2))
    maps = [axes for axes in attention_figure(found, panels).axes if axes.images]
    assert [axes.get_title() for axes in maps] == list(panels), "the heads of a layer are side by side"
    assert {axes.images[0].get_clim() for axes in maps} == {(0.0, float(weights.max()))}
    for layer, head in (("0", "mean"), ("4", "mean"), ("mean", "all"), ("last", "3"), ("last", "²")):
        with pytest.raises(InputError, match="does not exist in this model; give a number from 1 to"):
            found.panels(layer, head)


@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(st.integers(0, width - 1), min_size=width, max_size=width), max_size=5)
    )
)
def test_each_row_of_a_beam_attends_to_its_own_branch_only(parents: list[list[int]]) -> None:
    width = len(parents[0]) if parents else 3
    whole = np.array([list(range(width)), *parents])
    history = BeamHistory(whole)
    cache = DecoderCache([], torch.ones(1, 1, 1, 1, dtype=torch.bool), 1, width, torch.float32)
    biases = cache.begin_step()
    for rows in whole[1:]:
        cache.select(torch.from_numpy(rows))
        biases = cache.begin_step()
    if biases.own is None:  # the first position: all rows are equal
        assert history.allowed().all()
    else:
        own = (biases.own == 0).view(width, len(whole), width).numpy()
        assert np.array_equal(history.allowed(), own), "what the decoder's own cache allows"


def test_the_best_hypothesis_is_a_branch_of_the_recorded_search(run: Path) -> None:
    history, translator = record_search(run, "abc de"), Translator.load(run)
    assert history.pieces[0] == ["<s>"] * 3
    fed = translator.attention("abc de").target[:-1]  # the last piece ends the search and is never fed back
    branches = [[history.pieces[at][of] for at, of in enumerate(history.branch(len(fed), row))] for row in range(3)]
    assert ["<s>", *fed] in branches
    assert np.array_equal(record_search(run, "abc de", step=2).parents, history.parents[:2])
    tree, bias = cache_figure(history).axes
    assert len(tree.texts) == history.parents.size
    drawn = np.asarray(bias.collections[0].get_array())
    assert np.array_equal(drawn.reshape(history.allowed().shape), history.allowed())
    for text, options in (("abc", {"overrides": ["search.beam_size=1"]}), ("", {}), ("abc", {"step": 99})):
        with pytest.raises(InputError, match=r"one row|is empty|--step 99 does not exist"):
            record_search(run, text, **options)


def test_masks_of_a_padded_batch() -> None:
    axes = masks_figure((("a b", "ب پ ت"), ("a", "ب"))).axes
    encoder, decoder, cross = (np.asarray(one.collections[0].get_array()).astype(bool) for one in axes[3:])
    assert encoder.tolist() == [[True, True, False]] * 3, "the shorter sentence: a word, EOS, PAD"
    assert decoder[:2].tolist() == [[True, False, False, False], [True, True, False, False]]
    assert cross.shape == (4, 3)


def test_position_vectors(tiny: Any) -> None:
    sinusoidal = position_vectors(tiny().model, 20)
    similarity = np.asarray(positions_figure(sinusoidal, "title").axes[1].images[0].get_array())
    assert np.allclose(np.diag(similarity, 3), similarity[0, 3], atol=1e-5), "it depends on the distance alone"
    rotary = tiny("model.positions=rotary").model
    assert position_vectors(rotary, 20).shape == (20, rotary.d_model // rotary.heads)
    with pytest.raises(InputError, match="name one with --run"):
        position_vectors(tiny("model.positions=learned").model, 20)
    with pytest.raises(InputError, match="give 2 to 64"):
        position_vectors(tiny().model, 65)


def test_the_schedule_is_drawn_with_its_peak() -> None:
    settings = TrainingConfig(
        max_steps=100_000, warmup_steps=777, schedule="cosine", max_minutes=5, schedule_clock="minutes"
    )
    figure = schedule_figure({"a": settings})
    line = dict(np.asarray(figure.axes[0].lines[0].get_xydata()).tolist())
    assert {1.0, 777.0, 100_000.0} <= line.keys()
    assert line[777.0] == learning_rate(777, settings) == max(line.values())
    assert "compressed into 5 minutes" in figure.legends[0].get_texts()[0].get_text()


def test_batches_hold_every_pair_and_token_of_an_epoch(tiny: Any) -> None:
    config = tiny()
    batches = measure_batches(config)
    assert batches[:, 0].sum() == DataHandler(config).prepare().pair_count("train")
    first = next(DataHandler(config).prepare().train_batches(DataPosition()))[0]
    assert batches[0].tolist() == [*first.source.shape, first.labels.shape[1], first.source_tokens, first.target_tokens]
    assert (batches[:, 0] * batches[:, 1:3].max(1) <= config.batching.tokens_per_batch).all()
    axes = batches_figure(batches, config.batching.tokens_per_batch, "tiny").axes[0]
    assert len(np.asarray(axes.collections[0].get_offsets())) == len(batches)


@pytest.mark.parametrize(("name", "beginning"), [("a.png", b"\x89PNG"), ("A.SVG", b"<?xml")])
def test_the_same_picture_has_the_same_bytes(tmp_path: Path, name: str, beginning: bytes) -> None:
    settings = {"a": TrainingConfig(max_steps=40, warmup_steps=8)}
    write_picture(schedule_figure(settings), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with mpl.rc_context({"lines.linewidth": 9, "figure.facecolor": "red", "font.size": 30}):
        write_picture(schedule_figure(settings), tmp_path / name)
    assert first.startswith(beginning)
    assert (tmp_path / name).read_bytes() == first


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for name in ("a.pdf", "picture"):
        with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
            check_picture(tmp_path / name)
    with pytest.raises(StorageError, match="nowhere"):
        check_picture(tmp_path / "nowhere" / "a.png")


def test_labels(tmp_path: Path) -> None:
    assert shown("_a$b$").strip("\u202d\u202c") == "_a$b$"
    assert not shown("_a").startswith("_")  # matplotlib leaves such labels out of its legend
    assert shown("مدل").strip("\u202d\u202c") == "ﻝﺪﻣ"
    a, b, other = tmp_path / "a" / "run", tmp_path / "b" / "run", tmp_path / "other"
    assert distinct([a, b, other]) == [str(a), str(b), "other"]


def test_every_picture_by_its_command(
    tiny: Any, tiny_recipe: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = untrained_run(tiny("model.positions=learned", f"run.directory={tmp_path}/learned")).path
    of_run, recipe = ["--run", str(run)], ["--config", str(tiny_recipe)]
    output = tmp_path / "a.svg"
    for arguments in (
        ["attention", *of_run, "abc", "--layer", "1", "--head", "all", "--kind", "encoder"],
        ["cache", *of_run, "abc", "--beam", "2", "--step", "3"],
        ["positions", *of_run, "--length", "20"],
        ["positions", "--run", str(learned), "--length", "20"],
        ["positions", *recipe, "--length", "9"],
        ["schedule", *recipe, *recipe, "--set", "training.schedule=cosine", "training.learning_rate=0.1"],
        ["batches", *recipe],
        ["masks"],
    ):
        output.unlink(missing_ok=True)
        assert main(["plot", *arguments, "--output", str(output)]) == 0, arguments
        assert output.read_bytes().startswith(b"<?xml")
    for arguments, message in (
        (["curves", str(tmp_path / "none")], "no run at"),
        (["curves", str(run), "--smooth", "0"], "give 1 (no smoothing) or more"),
        (["positions", *of_run, "--set", "model.d_model=8"], "leave them out"),
    ):
        capsys.readouterr()
        assert main(["plot", *arguments, "--output", str(output)]) == 2
        assert message in capsys.readouterr().err
