"""The verb distill: the text that a student learns from, what is made of it, what is reused, and what is refused."""

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_runs import RECIPE, sentences, write_lines
from translator.checkpoint.state import find_checkpoint, read_state
from translator.cli import main
from translator.config import load_config
from translator.corpus.derived import corpus_of_run
from translator.recipes.distillation import translated_sources, write_distillation
from translator.run.folder import RunFolder

pytestmark = pytest.mark.usefixtures("little_effort")
MONOLINGUAL = sentences(range(1100, 1104))


class Distillation(NamedTuple):
    """A finished distillation of the run `en-fa` in `folder` into `en-fa-student`."""

    folder: Path
    command: list[str]
    printed: str

    def step(self) -> int:
        student = RunFolder(self.folder / "en-fa-student")
        return read_state(find_checkpoint(student.checkpoints_folder, "last")).step


@pytest.fixture(scope="module")
def distilled(folder: Path, little_effort: None) -> Distillation:
    settings = RECIPE.format(folder=folder, direction="en-fa")
    settings = settings.replace("d_model: 16", "d_model: 8")
    settings = settings.replace("vocabulary_size: 60", "vocabulary_size: 50")
    recipe = folder / "small.yaml"
    recipe.write_text(settings, encoding="utf-8")

    monolingual = folder / "more.txt"
    repeated_line = MONOLINGUAL[0]
    write_lines(monolingual, [*MONOLINGUAL, repeated_line])

    command = ["distill", "--run", str(folder / "en-fa"), "--recipe", str(recipe), "--beam", "3"]
    command += ["--monolingual", str(monolingual)]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(command) == 0
    return Distillation(folder=folder, command=command, printed=printed.getvalue())


def test_distilling_again_reuses_all(distilled: Distillation, capsys: pytest.CaptureFixture[str]) -> None:
    step = distilled.step()
    assert main(distilled.command) == 0
    printed = capsys.readouterr().out
    assert printed.count("exists and is reused") == 4
    assert "is finished" in printed
    assert distilled.step() == step


def test_a_recipe_of_a_student_names_the_translations_and_no_typos_in_persian(folder: Path, tmp_path: Path) -> None:
    teacher = RunFolder.open(folder / "fa-en")
    text = tmp_path / "small.text"
    corpus = corpus_of_run(teacher.config())
    recipe, _ = write_distillation(
        teacher,
        corpus,
        tmp_path / "small",
        translated_sources(teacher.config(), corpus, text, "more"),
        recipe="student",
        overrides=["training.max_steps=7"],
    )
    config = load_config(recipe)
    toy, more = config.corpus.sources[:2]
    assert (toy.source_path, toy.use) == (str(text / "toy.en"), "train")
    assert (more.source_path, more.target_path) == (str(text / "more.en"), str(text / "more.fa"))
    assert config.training.max_steps == 7
    assert config.training.augmentation.typos == 0, "it changes English input, and this student reads Persian"
    assert Path(config.run.directory) == tmp_path / "small"


def test_a_teachers_best_translations_follow_its_lists(distilled: Distillation) -> None:
    text = distilled.folder / "en-fa-student.text"
    before = (text / "toy.fa").read_bytes()
    (text / "toy.fa").unlink()
    assert main(distilled.command) == 0
    assert (text / "toy.fa").read_bytes() == before


@pytest.mark.parametrize(
    ("run", "flags", "message"),
    [
        # The message is about the file, and not about the augmentation of English in student.yaml.
        ("fa-en", ["--monolingual", "none.txt"], "none.txt"),
        ("en-fa", ["--recipe", "studnet"], "shipped recipes"),
    ],
)
def test_distill_refuses_unusable_input(
    run: str, flags: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["distill", "--run", str(folder / run), *flags]) == 2
    assert message in capsys.readouterr().err
