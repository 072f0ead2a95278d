"""The verbs `plot ...`: each writes its picture, and refuses wrong arguments."""

from pathlib import Path

import pytest

from tests.support.tiny_recipe import write_recipe
from tests.support.untrained import untrained_run
from translator.cli import main
from translator.config import parse_config


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained run with learned positions; to be read only."""
    recipe = write_recipe(tmp_path_factory.mktemp("learned"))
    text = recipe.read_text(encoding="utf-8")
    return untrained_run(parse_config(text, "tiny.yaml", ["model.positions=learned"])).path


@pytest.mark.parametrize(
    "arguments",
    [
        ["attention", "--run", "{run}", "abc", "--layer", "1", "--head", "all", "--kind", "encoder"],
        ["positions", "--run", "{run}", "--length", "20"],
        ["positions", "--config", "{recipe}", "--length", "9"],
        [
            *("schedule", "--config", "{recipe}", "--config", "{recipe}"),
            *("--set", "training.schedule=cosine", "training.learning_rate=0.1"),
        ],
        ["batches", "--config", "{recipe}"],
        ["masks"],
    ],
)
def test_plot_writes_a_picture(arguments: list[str], run: Path, tiny_recipe: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.svg"
    filled = [argument.format(run=run, recipe=tiny_recipe) for argument in arguments]
    assert main(["plot", *filled, "--output", str(output)]) == 0
    assert output.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curves", "{folder}/none"], "no run at"),
        (["curves", "{run}", "--smooth", "0"], "give a number of at least 1"),
        (["positions", "--run", "{run}", "--set", "model.d_model=8"], "leave them out"),
    ],
)
def test_plot_refuses_wrong_arguments(
    arguments: list[str], message: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [argument.format(run=run, folder=tmp_path) for argument in arguments]
    capsys.readouterr()
    assert main(["plot", *filled, "--output", str(tmp_path / "a.svg")]) == 2
    assert message in capsys.readouterr().err
