"""`translator plot` draws a run as PNG or SVG: the attention in a sentence, and the learning curves."""

import re
from pathlib import Path

from tests.support.command_line import succeed


def labels(picture: Path) -> list[str]:
    """The texts in an SVG, whose letters are drawn; a comment has each of them."""
    drawing = picture.read_text(encoding="utf-8")
    texts = re.findall("<!-- (.*?) -->", drawing)
    return [re.sub("[\u202a-\u202e]", "", text) for text in texts]


def test_the_attention_in_a_sentence_is_drawn_with_its_pieces(small_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "attention.svg"
    result = succeed("plot", "attention", "--run", small_run, "The book is new.", "--output", picture)
    assert f"Written to {picture}" in result.out
    assert labels(picture)[:2] == ["the", "book"]
    assert "layer 2, mean of 4 heads" in labels(picture)


def test_the_curves_of_a_run_are_drawn_by_update(small_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    succeed("plot", "curves", small_run, "--output", picture)
    assert {"loss", "bleu", "chrf", "small", "update of the weights"} <= set(labels(picture))
