"""The pictures of the pages can be drawn, and each is shown on a page."""

from typing import Any

import pytest

from book.pictures import FOLDER, PICTURES, rows_figure, rows_of_epoch
from tests.support.doc_examples import PAGES


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_every_picture_is_on_a_page(name: str) -> None:
    assert (FOLDER / name).exists()
    assert any(f"(pictures/{name})" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("name", sorted(set(PICTURES) - {"batches.svg"}))
def test_every_picture_is_drawn_with_labels(name: str) -> None:
    axes, *_ = PICTURES[name]().axes
    assert axes.has_data()
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_rows_are_drawn_with_their_share_of_tokens(tiny: Any) -> None:
    source, target = rows_of_epoch(tiny())
    figure = rows_figure("tiny", source, target)
    assert [axes.get_title() for axes in figure.axes] == [
        f"source: {(source > 0).mean():.1%} are tokens",
        f"target: {(target > 0).mean():.1%} are tokens",
    ]
