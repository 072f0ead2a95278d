"""The verbs prepare and train: what they print, and which settings they refuse."""

import shlex
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.support.command_line import Finished, refusal, succeed
from tests.support.faults import Faults
from tests.support.tiny_recipe import draw_nothing, write_recipe
from tests.support.toy_corpora import letters
from translator.cli import main


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a training of which a tenth is after the start and before the first validation."""
    recipe = write_recipe(tmp_path_factory.mktemp("tiny"))
    return ["train", "--config", str(recipe), "--set", "training.max_steps=20", "training.validate_every=10"]


@pytest.fixture(scope="module")
def trained(command: list[str]) -> Finished:
    """What that training has printed, without `make`."""
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        patch.delenv("MAKELEVEL", raising=False)
        return succeed(*command)


def test_training_ends_with_scores_samples_and_the_next_commands(trained: Finished) -> None:
    assert trained.out.count("translated ") == 3
    for words in ("tok:13a", "chrf", "translator tensorboard ", "translator serve --run", "translator translate "):
        assert words in trained.out
    assert "evaluation/report.html" in trained.out


def test_a_finished_run_is_told_with_the_commands_of_the_program_that_make_starts(
    trained: Finished, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKELEVEL", "1")
    again = succeed(*command)
    assert "max_steps=20 is reached" in again.out
    assert "To continue training" in again.out
    assert "--allow-changed --set KEY=VALUE" in again.out
    assert f"{sys.argv[0]} serve --run" in again.out


def test_training_shows_the_same_sentences_from_the_first_minute(trained: Finished) -> None:
    lines = trained.err.splitlines()
    sources: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if line.endswith(": the model translates"):
            shown = [text.partition("  →  ")[0] for text in lines[number + 1 : number + 4]]
            sources[line.partition(":")[0]] = shown
    assert list(sources) == ["step 0", "step 2", "step 10", "step 20"]
    assert all(shown == sources["step 0"] for shown in sources.values())


QUICK = (
    "training.max_steps=2",
    "training.validate_every=2",
    "subword.vocabulary_size=270",
    "run.threads=1",
    "model.d_model=16",
    "model.feed_forward=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "corpus.filters.min_target_script=null",
)


def test_training_goes_on_from_what_prepare_made_of_two_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAKELEVEL", raising=False)
    draw_nothing(monkeypatch)
    lines = [*letters(300, seed=1), "again", "again"]
    for name in ("my.en", "my.fa"):
        Path(name).write_bytes("\n".join(lines).encode() + b"\ncaf\xe9\n")

    # 1. A recipe is made for the corpus as the settings read it, and its text is prepared.
    corpus = ["--corpus", "my.en", "my.fa", "--set", *QUICK, "corpus.sources.0.invalid_utf8=drop"]
    corpus.append("training.augmentation.copies=0.2")  # with the placeholders of that recipe
    assert main(["prepare", *corpus]) == 0
    captured = capsys.readouterr()
    assert "runs/my.yaml: a recipe for 302 pairs" in captured.out
    assert "training pairs: a model that is trained on so few repeats their sentences" in captured.err
    assert "translator fine-tune --run RUN --corpus" in captured.err
    assert "dropped: duplicate" in captured.out
    assert "pieces per word" in captured.out
    page = Path(captured.out.partition("the report with examples: ")[2].splitlines()[0])
    assert "again" in page.read_text(encoding="utf-8")

    # 2. The command that it proposes prepares nothing more.
    command = shlex.split(captured.out.splitlines()[-1].removeprefix("Next: translator "))
    assert command[:3] == ["train", "--config", "runs/my.yaml"]
    prepared = set(Path("data/prepared").rglob("*"))
    assert main(command) == 0
    assert set(Path("data/prepared").rglob("*")) == prepared
    assert "The run is in runs/my (" in capsys.readouterr().out

    # 3. The corpus finds its recipe and its run again.
    assert main(["train", *corpus]) == 0
    assert "runs/my is finished" in capsys.readouterr().out


def test_a_full_disk_in_prepare_is_told_and_the_same_command_goes_on(tiny_recipe: Path) -> None:
    command = ("prepare", "--config", tiny_recipe)
    with Faults(tiny_recipe.parent / "prepared", at=20, kind="full") as disk:
        assert "the disk is full; free some space" in refusal(*command)
    assert disk.struck
    succeed(*command)


def test_ranks_get_the_whole_command(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launched = Mock(return_value=0)
    monkeypatch.setattr("translator.training.launching.launch", launched)
    settings = ["--set", "training.processes=2", "--set", "run.threads=4"]
    command = ["train", "--config", str(tiny_recipe), *settings, "--allow-changed"]
    assert main(command) == 0
    arguments, processes, _, threads = launched.call_args.args
    assert (arguments, processes, threads) == (command, 2, 2)
