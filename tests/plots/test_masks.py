"""The masks of the example, against what a person would draw."""

import numpy as np
from plots.drawn import cells

from translator.plots.mask_example import example_masks
from translator.plots.masks import masks_figure
from translator.training.plots import shown_pieces

PAIRS = (("a b c", "ا ب"), ("d", "پ"))


def test_the_masks_of_two_pairs() -> None:
    whole, short = example_masks(PAIRS)
    assert short.source == shown_pieces(["▁d", "</s>", "<pad>", "<pad>"])
    assert short.target_input == shown_pieces(["<s>", "▁پ", "<pad>"], right_to_left=True)
    assert whole.encoder.all()
    assert whole.cross.all()
    assert whole.cross.shape == (3, 4)
    assert whole.decoder.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert short.encoder.tolist() == [[True, True, False, False]] * 4
    assert short.cross.tolist() == [[True, True, False, False]] * 3
    assert short.decoder.tolist() == [[True, False, False], [True, True, False], [True, True, False]]


def test_the_picture_shows_them() -> None:
    pairs = example_masks(PAIRS)
    figure = masks_figure(pairs)
    expected = [mask for pair in pairs for mask in (pair.encoder, pair.decoder, pair.cross)]
    for axes, mask in zip(figure.axes, expected, strict=True):
        assert np.array_equal(cells(axes.collections[0]), mask)
        assert axes.yaxis_inverted(), "the first query is at the top"
    assert [axes.get_title() for axes in figure.axes[:3]] == [
        "encoder  (B, 1, 1, S)",
        "decoder  (B, 1, T, T)",
        "cross  (B, 1, 1, S)",
    ]
    assert [text.get_text() for text in figure.axes[2].get_yticklabels()] == pairs[0].target_input
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["True: may attend", "False: may not"]
