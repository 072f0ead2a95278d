"""The verb distill: the recipe of a student, and the translations that it learns."""

from collections import Counter
from pathlib import Path

from tests.support.derived_runs import config_of
from translator.config import NormalizationConfig, load_config
from translator.corpus.given_translations import choose_translations
from translator.corpus.normalizer.normalizer import Normalizer
from translator.corpus.prepare import prepare_corpus
from translator.recipes.distillation import write_distillation
from translator.run.folder import RunFolder


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
