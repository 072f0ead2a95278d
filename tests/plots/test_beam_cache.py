"""What the cache of a beam search saw, and the picture of it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from plots.drawn import cells, heights

from translator import Translator
from translator.errors import InputError
from translator.plots.beam_cache import beam_cache_figure
from translator.plots.beam_history import BeamHistory, RememberedSearch, branch_labels, remember_search
from translator.plots.figure import COLOURS
from translator.special_tokens import SOS
from translator.subword import SubwordPair


@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(st.integers(0, width - 1), min_size=width, max_size=width), max_size=5)
    )
)
def test_each_row_may_attend_to_its_own_branch_and_to_nothing_else(parents: list[list[int]]) -> None:
    width = len(parents[0]) if parents else 3
    whole = np.array([list(range(width)), *parents])
    history = BeamHistory(np.zeros_like(whole), whole)
    allowed = history.allowed()
    assert allowed.shape == (width, len(whole), width)
    if len(whole) == 1:
        assert allowed.all(), "all rows begin alike, and nothing is forbidden"
        return
    for row in range(width):
        assert allowed[row].argmax(-1).tolist() == history.branch(len(whole) - 1, row)
        assert (allowed[row].sum(-1) == 1).all()


def test_the_best_hypothesis_is_a_branch_of_the_tree(run: Path) -> None:
    remembered = remember_search(run, "abc de")
    history, translator = remembered.history, Translator.load(run)
    assert history.tokens.shape[1] == 3
    assert (history.tokens[0] == SOS).all()
    assert remembered.translation == translator.translate("abc de")
    fed = translator.attention("abc de").target[:-1]  # the last piece ends the search, and is never taken in
    spelled = [SubwordPair.load(run / "subword").target.pieces_of(row) for row in history.tokens.tolist()]
    branches = [[spelled[place][of] for place, of in enumerate(history.branch(len(fed), row))] for row in range(3)]
    assert ["<s>", *fed] in branches
    shorter = remember_search(run, "abc de", step=2).history
    assert np.array_equal(shorter.tokens, history.tokens[:2])
    assert np.array_equal(shorter.parents, history.parents[:2])


def test_a_piece_is_joined_to_the_branch_that_goes_on() -> None:
    """Row 1 dies after its first piece; its piece ends there, and the same piece of row 0 goes on."""
    history = BeamHistory(np.zeros((3, 2), np.int64), np.array([[0, 1], [0, 0], [0, 0]]))
    labels = branch_labels(history, [["<s>", "<s>"], ["▁سل", "▁سل"], ["ام", "▁من"]])
    assert labels[1][0] != labels[1][1]
    assert labels[2][0].strip("\u202d\u202c").endswith("-")


def test_the_picture_shows_the_tree_and_the_bias() -> None:
    parents = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    history = BeamHistory(np.zeros_like(parents), parents)
    pieces = [[f"{position}{row}" for row in range(2)] for position in range(4)]
    figure = beam_cache_figure(RememberedSearch(history, pieces, "text", "متن"))
    tree, bias = figure.axes
    boxes = {text.get_text(): text.get_bbox_patch() for text in tree.texts}
    first = {
        name for name, box in boxes.items() if box is not None and to_hex(box.get_facecolor()) == COLOURS[1].lower()
    }
    assert set(boxes) == {piece for row in pieces for piece in row}
    assert first == {"00", "11", "21", "30"}
    assert len(tree.lines) == 6
    starts_and_ends = {tuple(heights(line)) for line in tree.lines[:2]}
    assert starts_and_ends == {(0, 0), (0, 1)}
    assert np.array_equal(cells(bias.collections[0]), history.allowed().reshape(2, 8))
    assert (tree.get_xlabel(), bias.get_ylabel()) == ("position in the target", "row")


def test_what_cannot_be_searched(run: Path) -> None:
    with pytest.raises(InputError, match="a beam of one row"):
        remember_search(run, "abc", overrides=["search.beam_size=1"])
    with pytest.raises(InputError, match="the text is empty"):
        remember_search(run, "")
    with pytest.raises(InputError, match=r"--step 99 is not there.*give 1 to"):
        remember_search(run, "abc", step=99)
