"""Where a model looked, layer by layer and head by head, and the picture of it."""

from pathlib import Path

import numpy as np
import pytest
from plots.drawn import cells

from translator import Translator
from translator.errors import InputError, RunError
from translator.plots.attention import attention_figure
from translator.plots.sentence_attention import SentenceAttention, look
from translator.training.plots import shown_pieces


def test_the_mean_of_the_last_layer_is_what_the_translator_tells(run: Path) -> None:
    told = Translator.load(run).attention("abc de")
    found = look(run, "abc de")
    assert (found.looking, found.looked_at) == (told.target, told.source)
    (panel,) = found.panels()
    assert panel.title == "layer 2, mean of 2 heads"
    assert np.allclose(panel.weights, told.weights, atol=1e-6)


def test_self_attention_of_the_decoder_never_looks_ahead(run: Path) -> None:
    found = look(run, "abc", kind="decoder")
    assert found.looking == found.looked_at
    assert found.looking[0] == "<s>"
    assert not np.triu(found.weights, 1).any()
    assert np.allclose(found.weights.sum(-1), 1, atol=1e-6)


def test_self_attention_of_the_encoder_is_over_the_source(run: Path) -> None:
    found = look(run, "abc", kind="encoder")
    assert found.looking == found.looked_at == Translator.load(run).attention("abc").source
    assert found.weights.shape == (2, 2, len(found.looking), len(found.looking))


def test_layers_and_heads_are_chosen() -> None:
    weights = np.random.default_rng(1).random((3, 2, 2, 2)).astype(np.float32)
    found = SentenceAttention("cross", ["▁ب", "</s>"], ["▁a", "</s>"], weights)
    everything = found.panels("all", "all")
    assert [panel.title for panel in everything] == [
        f"layer {layer}, head {head}" for layer in (1, 2, 3) for head in (1, 2)
    ]
    assert np.array_equal([panel.weights for panel in everything], weights.reshape(6, 2, 2))
    assert np.array_equal(found.panels("1", "2")[0].weights, weights[0, 1])
    assert np.allclose(found.panels("2")[0].weights, weights[1].mean(0))


@pytest.mark.parametrize(
    ("layer", "head", "said"),
    [
        ("0", "mean", "--layer 0 .* number from 1 to 3, last or all"),
        ("4", "mean", "--layer 4 .*has 3 of them"),
        ("mean", "all", "--layer mean "),
        ("last", "3", "--head 3 .* number from 1 to 2, mean or all"),
        ("last", "²", "--head ² "),
    ],
)
def test_a_layer_or_head_that_is_not_there(layer: str, head: str, said: str) -> None:
    found = SentenceAttention("cross", ["▁ب"], ["▁a"], np.ones((3, 2, 1, 1), np.float32))
    with pytest.raises(InputError, match=said):
        found.panels(layer, head)


def test_the_picture_has_a_map_for_each_panel_under_one_scale() -> None:
    weights = np.zeros((2, 3, 2, 4), np.float32)
    weights[1, 2, 0, 3] = 0.75
    found = SentenceAttention("cross", ["▁سل", "ام"], ["▁a", "▁b", "c", "</s>"], weights)
    panels = found.panels("all", "all")
    figure = attention_figure(found, panels)
    maps = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in maps] == [panel.title for panel in panels]
    for axes, panel in zip(maps, panels, strict=True):
        assert np.array_equal(cells(axes.images[0]), panel.weights)
        assert axes.images[0].get_clim() == (0.0, 0.75)
    assert [text.get_text() for text in maps[0].get_yticklabels()] == shown_pieces(["▁سل", "ام"], right_to_left=True)
    assert [text.get_text() for text in maps[-1].get_xticklabels()] == shown_pieces(["▁a", "▁b", "c", "</s>"])
    rows = [axes.get_subplotspec().rowspan.start for axes in maps]  # type: ignore[union-attr]
    assert rows == [0, 0, 0, 1, 1, 1], "the heads of a layer stand side by side"
    assert figure.get_supxlabel() == "English piece that is looked at"
    assert figure.get_supylabel() == "Persian piece that is produced"


def test_five_heads_do_not_fit_side_by_side() -> None:
    found = SentenceAttention("encoder", ["▁a"], ["▁a"], np.ones((1, 5, 1, 1), np.float32))
    figure = attention_figure(found, found.panels("last", "all"))
    assert sum(bool(axes.images) and axes.get_visible() for axes in figure.axes) == 5
    assert sum(not axes.get_visible() for axes in figure.axes) == 3


def test_what_cannot_be_looked_at(run: Path) -> None:
    with pytest.raises(InputError, match="the text is empty"):
        look(run, " ")
    with pytest.raises(RunError, match="no run at"):
        look(run / "nothing", "abc")
