"""`translator plot` draws a run as PNG or SVG: the attention in a sentence, and the learning curves."""

import re
from pathlib import Path

import pytest

from tests.support.command_line import translator


def labels(picture: Path) -> list[str]:
    """The texts in an SVG, whose letters are drawn; a comment has each of them."""
    drawing = picture.read_text(encoding="utf-8")
    texts = re.findall("<!-- (.*?) -->", drawing)
    return [re.sub("[\u202a-\u202e]", "", text) for text in texts]


def test_the_attention_in_a_sentence_is_drawn_with_its_pieces(small_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "attention.svg"
    result = translator("plot", "attention", "--run", small_run, "The book is new.", "--output", picture)
    assert result.code == 0, result.err
    assert f"Written to {picture}" in result.out
    assert labels(picture)[:2] == ["the", "book"]
    assert "layer 2, mean of 4 heads" in labels(picture)


def test_the_curves_of_a_run_are_drawn_by_update(small_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "curves.svg"
    result = translator("plot", "curves", small_run, "--output", picture)
    assert result.code == 0, result.err
    assert {"loss", "bleu", "chrf", "small", "update of the weights"} <= set(labels(picture))


@pytest.mark.parametrize(
    ("name", "run", "message"),
    [("curves.txt", "RUN", ".png or .svg"), ("curves.svg", "nowhere", "no run at nowhere")],
)
def test_a_picture_that_cannot_be_drawn_is_refused_with_one_message(
    name: str, run: str, message: str, small_run: Path, tmp_path: Path
) -> None:
    place = small_run if run == "RUN" else run
    result = translator("plot", "curves", place, "--output", tmp_path / name)
    assert result.code == 2
    (line,) = result.err.strip().splitlines()
    assert message in line
    assert not (tmp_path / name).exists()
