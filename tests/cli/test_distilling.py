"""The verb distill: the text that a student learns from, what is made of it, what is reused, and what is refused."""

import contextlib
import io
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_runs import RECIPE, config_of, read_lines, sentences, write_lines
from translator.checkpoint.state import find_checkpoint, read_state
from translator.cli import main
from translator.config import load_config
from translator.corpus.derived import best_translations, corpus_of_run
from translator.evaluation.metrics import sentence_bleu
from translator.inference.engines.exported import is_export
from translator.inference.translator import Translator
from translator.recipes.distillation import translated_sources, write_distillation
from translator.run.folder import RunFolder

pytestmark = pytest.mark.usefixtures("little_effort")
MONOLINGUAL = sentences(range(1100, 1104))


class Distillation(NamedTuple):
    """A finished distillation of the run `en-fa` in `folder` into `en-fa-student`."""

    folder: Path
    command: list[str]
    printed: str

    def text(self, name: str) -> list[str]:
        """Return the lines of the student's text in file `name`."""
        return read_lines(self.folder / "en-fa-student.text" / name)

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


def test_a_student_has_the_size_of_its_recipe(distilled: Distillation) -> None:
    config = config_of(distilled.folder, "en-fa-student")
    assert config.model.d_model == 8
    assert config.subword.vocabulary_size == 30
    assert config.training.initialize_from is None


def test_a_student_learns_one_of_its_teachers_translations(distilled: Distillation) -> None:
    corpus = corpus_of_run(config_of(distilled.folder, "en-fa"))
    sources = list(corpus.lines("train", "toy", corpus.sides[0]))[:20]
    n_best = Translator.load(distilled.folder / "en-fa").translations(sources, count=3)
    for translations, learned_text in zip(n_best, distilled.text("toy.fa")[:20], strict=True):
        assert learned_text in [translation.text for translation in translations]


def test_a_student_learns_translated_monolingual_text_once(distilled: Distillation) -> None:
    expected = Translator.load(distilled.folder / "en-fa").translate_lines(MONOLINGUAL)
    assert distilled.text("monolingual.fa") == expected
    assert corpus_of_run(config_of(distilled.folder, "en-fa-student")).count("train", "monolingual") > 0


def test_a_student_is_exported_in_int8(distilled: Distillation) -> None:
    assert is_export(distilled.folder / "en-fa-student-int8")


def test_distillation_ends_with_scores_and_speed(distilled: Distillation) -> None:
    assert re.search(r"\ntoy +chrf .*\n", distilled.printed)
    for words in ("teacher: ", "student in int8: ", "sentences a second"):
        assert words in distilled.printed


def test_the_export_of_a_student_is_evaluated(distilled: Distillation) -> None:
    scores = distilled.folder / "en-fa-student-int8" / "evaluation" / "scores.json"
    values = json.loads(scores.read_text(encoding="utf-8"))
    assert {score["test_set"] for score in values} == {"toy"}


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


def test_the_best_translation_is_the_nearest_to_the_reference() -> None:
    rows = []
    for texts in (["a b", "a b c d", "d c"], ["d c", "a b"]):
        rows.append(json.dumps({"translations": [{"text": text} for text in texts]}))
    assert list(best_translations(rows, ["a b c d", "a b"], sentence_bleu)) == ["a b c d", "a b"]


def test_a_teachers_best_translations_follow_its_lists(distilled: Distillation) -> None:
    text = distilled.folder / "en-fa-student.text"
    before = (text / "toy.fa").read_bytes()
    (text / "toy.fa").unlink()
    assert main(distilled.command) == 0
    assert (text / "toy.fa").read_bytes() == before


@pytest.mark.parametrize(
    ("run", "flags", "message"),
    [
        ("en-fa", ["--beam", "1"], "distillation needs at least two"),
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
