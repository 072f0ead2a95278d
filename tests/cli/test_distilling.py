"""The verb distill: the text that a student learns from, what is made of it, what is reused, and what is refused."""

import contextlib
import io
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.derived_runs import RECIPE, config_of, read_lines, sentences, write_lines
from translator.checkpoint.state import find_checkpoint, read_state
from translator.cli import main
from translator.corpus.derived import corpus_of_run, write_best
from translator.evaluation.metrics import sentence_bleu
from translator.inference.exported import is_export
from translator.inference.translator import Translator
from translator.recipes.distillation import plan_distillation
from translator.run.folder import RunFolder
from translator.run.made_files import MadeFiles

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


def test_a_trained_student_takes_no_other_text(distilled: Distillation, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = distilled.command[distilled.command.index("--recipe") + 1]
    assert main([*distilled.command[:-1], recipe]) == 2
    assert "was trained on other text" in capsys.readouterr().err


def test_the_plan_of_a_student_puts_its_text_beside_the_run(folder: Path, tmp_path: Path) -> None:
    teacher = RunFolder.open(folder / "fa-en")
    corpus = corpus_of_run(teacher.config())
    plan = plan_distillation(
        teacher,
        corpus,
        tmp_path / "small",
        has_monolingual=True,
        recipe="student",
        overrides=["training.max_steps=7"],
    )
    names = {path.name for path in plan.outputs}
    assert names == {"toy.jsonl", "toy.en", "monolingual.fa", "monolingual.en"}
    assert {path.parent for path in plan.outputs} == {tmp_path / "small.text"}

    assert plan.config.training.max_steps == 7
    assert plan.config.training.augmentation.typos == 0, "it changes English input, and this student reads Persian"
    assert Path(plan.config.run.directory) == tmp_path / "small"


class BestTexts:
    """The best of listed translations, in a file; every list has the same time stamp."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "best"
        self._n_best = folder / "n.jsonl"
        self._made_files = MadeFiles(folder)

    def after(self, *texts: str, reference: str = "a b c d", fingerprint: str = "first") -> str:
        """List `texts`, and return the best of them."""
        translations = [{"text": text} for text in texts]
        with self._made_files.writing(self._n_best):
            self._n_best.write_text(f"{json.dumps({'translations': translations})}\n", encoding="utf-8")
        os.utime(self._n_best, (1, 1))
        write_best(self._n_best, [reference], fingerprint, sentence_bleu, self.file, self._made_files)
        return self.file.read_text(encoding="utf-8")


@pytest.fixture
def best_texts(tmp_path: Path) -> BestTexts:
    """After the lists of a first run, in which the second translation equals the reference."""
    best_texts = BestTexts(tmp_path)
    assert best_texts.after("a b", "a b c d", "d c") == "a b c d\n"
    return best_texts


def test_the_best_translations_stay_while_nothing_changes(best_texts: BestTexts) -> None:
    time_stamp = best_texts.file.stat().st_mtime_ns
    assert best_texts.after("a b", "a b c d", "d c") == "a b c d\n"
    assert best_texts.file.stat().st_mtime_ns == time_stamp


def test_the_best_translations_follow_the_content_of_the_lists(best_texts: BestTexts) -> None:
    assert best_texts.after("a b", "a b c", "d c") == "a b c\n"


def test_the_best_translations_follow_the_references(best_texts: BestTexts) -> None:
    assert best_texts.after("a b", "a b c d", "d c", reference="d c", fingerprint="second") == "d c\n"


def test_removed_best_translations_are_written_again(best_texts: BestTexts) -> None:
    best_texts.file.unlink()
    assert best_texts.after("a b", "a b c d", "d c") == "a b c d\n"


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
