"""The verb distill: the text that a student learns from, what is made of it, what is reused, and what is refused."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.derived_runs import RECIPE, config_of, sentences, write_lines
from translator.cli import main
from translator.config import NormalizationConfig, load_config
from translator.corpus.given_translations import choose_translations
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.recipes.distillation import write_distillation
from translator.run.folder import RunFolder

pytestmark = pytest.mark.usefixtures("little_effort")


def test_distilling_again_reuses_all_and_makes_what_is_missing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = folder / "small.yaml"
    settings = RECIPE.format(folder=folder, direction="en-fa").replace("d_model: 16", "d_model: 8")
    recipe.write_text(settings.replace("vocabulary_size: 60", "vocabulary_size: 50"), encoding="utf-8")
    write_lines(folder / "more.txt", sentences(range(1100, 1104)))
    command = ["distill", "--run", str(folder / "en-fa"), "--recipe", str(recipe), "--beam", "3"]
    command += ["--monolingual", str(folder / "more.txt")]
    assert main(command) == 0
    capsys.readouterr()

    text = folder / "en-fa-student.text"
    before = {file.name: file.read_bytes() for file in text.iterdir()}
    (text / "toy.fa").unlink()
    assert main(command) == 0
    assert {file.name: file.read_bytes() for file in text.iterdir()} == before
    printed = capsys.readouterr().out
    assert printed.count("exists and is reused") == 4, "recipe, two texts and export"
    assert "is finished" in printed


def test_a_recipe_of_a_student_names_both_sides_of_its_text_with_its_weight_and_no_typos_in_persian(
    folder: Path, tmp_path: Path
) -> None:
    teacher = RunFolder(tmp_path / "fa-en")
    settings = config_of(folder, "fa-en")
    (weighted,) = [source.model_copy(update={"weight": 3.0}) for source in settings.corpus.sources]
    teacher.write(settings.model_copy(update={"corpus": settings.corpus.model_copy(update={"sources": (weighted,)})}))
    text = tmp_path / "text"
    corpus = prepare_corpus(settings.corpus)
    recipe, _ = write_distillation(
        teacher, corpus, tmp_path / "small", ["toy", "more"], text, recipe="student", overrides=[]
    )
    config = load_config(recipe)
    for source, name, weight in zip(config.corpus.sources, ("toy", "more"), (3, 1), strict=False):
        assert (source.source_path, source.target_path) == (str(text / f"{name}.en"), str(text / f"{name}.fa"))
        assert (source.use, source.weight) == ("train", weight)
    assert config.training.augmentation.typos == 0, "it changes English input, and this student reads Persian"


def test_each_occurrence_of_a_source_has_the_translation_nearest_to_its_own_reference() -> None:
    rows = [("Yes.", ["بله.", "آری."])] * 3
    chosen = choose_translations(
        rows,
        {"Yes.": ["آری.", "بله."]},
        Normalizer(NormalizationConfig()),
        lambda source, target: None,
        lambda text, reference: float(text == reference),
        Counter(),
    )
    assert [target for _, target in chosen] == ["آری.", "بله.", "آری."]
