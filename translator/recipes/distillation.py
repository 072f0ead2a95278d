"""Distillation on the level of sequences: a student learns the translations of its teacher (Kim and Rush 2016)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from translator.config import SourceConfig, load_config
from translator.corpus.derived import inherited_sources, training_weights
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.recipes.corpus_recipe import leave_english_alone
from translator.recipes.derived_recipe import derive
from translator.recipes.recipe_text import Choice, recipe_values
from translator.run.folder import RunFolder

_SECTIONS: Final = ("subword", "model", "training")  # of the recipe of a student


def write_distillation(
    teacher: RunFolder,
    corpus: PreparedCorpus,
    student: Path,
    names: Sequence[str],
    text: Path,
    *,
    recipe: str,
    overrides: Sequence[str],
) -> tuple[Path, str]:
    """Write the recipe of a student that learns from the translations of a teacher.

    Args:
        teacher: the trained run.
        corpus: its prepared text.
        student: folder of the student's run.
        names: the sources of the student's training text.
        text: folder that will have both sides of each source, as NAME.en and NAME.fa.
        recipe: decides subwords, model and training.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Returns the recipe, and a line that describes it. Raises ConfigError: the recipe or an override is wrong.
    """
    config = teacher.config()

    # 1. The changes to the teacher's settings.
    values = recipe_values(recipe)
    changes = [Choice(section, values.get(section, {}), f"as in {recipe}") for section in _SECTIONS]
    # A student has at most half the teacher's pieces, for a smaller output head, and because the recipe may have more
    # pieces than the text of a small teacher yields.
    most_pieces = config.subword.vocabulary_size // 2
    if most_pieces < load_config(recipe).subword.vocabulary_size:
        changes.append(Choice("subword.vocabulary_size", most_pieces, "half the teacher's"))
    # A run that reads Persian has no use for augmentation of English input, so it is off.
    if corpus.sides[0] == "fa":
        changes += leave_english_alone()

    # 2. The sources of the student: its training text, and the held-out text of the teacher.
    weights = training_weights(config)
    sources = []
    for name in names:
        english, persian = (str(text.resolve() / f"{name}.{side}") for side in ("en", "fa"))
        sources.append(
            SourceConfig(
                name=name,
                source_path=english,
                target_path=persian,
                use="train",
                weight=weights.get(name, 1.0),
                obtain="the command that wrote this recipe makes this text; repeat it",
            )
        )
    held_out = [*inherited_sources(corpus, "validation"), *inherited_sources(corpus, "test")]
    return derive(teacher, student, [*sources, *held_out], changes, overrides)
