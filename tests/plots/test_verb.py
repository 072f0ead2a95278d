"""The verb plot, as a person meets it: each picture once, and what is said of what cannot be drawn."""

from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from translator.cli import main


def plot(capsys: pytest.CaptureFixture[str], *arguments: str) -> bytes:
    """Draw a picture and return its bytes."""
    assert main(["plot", *arguments]) == 0
    path = arguments[arguments.index("--output") + 1]
    assert capsys.readouterr().out == f"Written to {path}\n"
    return Path(path).read_bytes()


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Ask for a picture that cannot be drawn, and return the one message."""
    assert main(["plot", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err[captured.err.rindex("translator: ") :]


def test_pictures_of_a_run(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_run = ("--run", str(run), "--output", str(tmp_path / "a.svg"))
    heads = plot(capsys, "attention", *of_run, "abc", "--layer", "1", "--head", "all", "--kind", "encoder")
    assert heads.startswith(b"<?xml")
    assert plot(capsys, "positions", *of_run, "--length", "20") != heads
    assert plot(capsys, "cache", *of_run, "abc", "--beam", "2", "--step", "3").startswith(b"<?xml")
    with SummaryWriter(str(run / "tensorboard")) as writer:
        for step in (1, 2):
            writer.add_scalar("validation/chrf", 10.0 * step, step)
    curves = ("curves", str(run), "--metric", "chrf", "--output", str(tmp_path / "a.png"))
    assert plot(capsys, *curves).startswith(b"\x89PNG")
    assert "give 1 (no smoothing) or more" in complaint(capsys, *curves, "--smooth", "0")
    assert "`bleu`; there are: chrf" in complaint(capsys, "curves", str(run), *curves[4:], "--metric", "bleu")
    assert "--layer 9 is not there" in complaint(capsys, "attention", *of_run, "--layer", "9")
    assert "leave out --set or --run" in complaint(capsys, "positions", *of_run, "--set", "model.d_model=8")


def test_pictures_of_recipes(tiny_recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, output = ("--config", str(tiny_recipe)), ("--output", str(tmp_path / "a.svg"))
    assert plot(capsys, "batches", *recipe, *output).startswith(b"<?xml")
    assert b"<svg" in plot(capsys, "schedule", *recipe, *recipe, *output, "--set", "training.schedule=cosine")
    assert b"<svg" in plot(capsys, "positions", *recipe, *output, "--length", "9")
    assert "`heads` (8) must divide" in complaint(capsys, "positions", "--set", "model.d_model=12", *output)
    assert plot(capsys, "masks", *output).startswith(b"<?xml")


def test_nothing_is_done_before_the_output_is_known_to_be_right(
    tiny_recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(capsys, "batches", "--config", str(tiny_recipe), "--output", str(tmp_path / "a.jpg"))
    assert "end it in .png or .svg" in said
    assert not (tmp_path / "prepared").exists()
    assert "no run at" in complaint(capsys, "curves", str(tmp_path / "none"), "--output", str(tmp_path / "a.png"))
