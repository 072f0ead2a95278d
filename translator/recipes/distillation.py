"""Distillation on the level of sequences: a student learns the translations of its teacher (Kim and Rush 2016)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from translator.config import Config, SourceConfig, load_config
from translator.corpus.derived import inherited_sources, training_weights
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.recipes.corpus_recipe import leave_english_alone
from translator.recipes.derived_recipe import derive
from translator.recipes.recipe_text import Choice, recipe_values
from translator.run.folder import RunFolder

_SECTIONS: Final = ("subword", "model", "training")  # of the recipe of a student


def translated_sources(
    config: Config, corpus: PreparedCorpus, text: Path, monolingual: str | None
) -> list[SourceConfig]:
    """Return the training text of a teacher, with its translations in place of the references, as sources.

    Args:
        config: that of the teacher.
        corpus: its prepared text.
        text: will have NAME.en or NAME.fa with the translations of each source, and both sides of the monolingual text.
        monolingual: the name of other text that the teacher translates; None: there is none.
    """
    translated = "target_path" if corpus.sides[1] == "fa" else "source_path"
    sources: list[SourceConfig] = []
    for source in inherited_sources(corpus, "train", training_weights(config)):
        translations = text.resolve() / f"{source.name}.{corpus.sides[1]}"
        sources.append(source.model_copy(update={translated: str(translations)}))
    if monolingual is not None:
        sources.append(written_source(monolingual, text))
    return sources


def written_source(name: str, text: Path, weight: float = 1.0) -> SourceConfig:
    """Return the files NAME.en and NAME.fa in the folder `text` as a source of training text."""
    english, persian = (str(text.resolve() / f"{name}.{side}") for side in ("en", "fa"))
    return SourceConfig(name=name, source_path=english, target_path=persian, use="train", weight=weight)


def write_distillation(
    teacher: RunFolder,
    corpus: PreparedCorpus,
    student: Path,
    sources: Sequence[SourceConfig],
    *,
    recipe: str,
    overrides: Sequence[str],
) -> tuple[Path, str]:
    """Write the recipe of a student that learns from the translations of a teacher.

    Args:
        teacher: the trained run.
        corpus: its prepared text.
        student: folder of the student's run.
        sources: the training text of the student; its files may come later.
        recipe: decides subwords, model and training.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Returns the recipe, and a line that describes it. Raises ConfigError: the recipe or an override is wrong.
    """
    config = teacher.config()

    # A small teacher's text does not allow as many pieces as the recipe has.
    values = recipe_values(recipe)
    changes = [Choice(section, values.get(section, {}), f"as in {recipe}") for section in _SECTIONS]
    most_pieces = config.subword.vocabulary_size // 2
    if most_pieces < load_config(recipe).subword.vocabulary_size:
        changes.append(Choice("subword.vocabulary_size", most_pieces, "half the teacher's"))
    if corpus.sides[0] == "fa":
        changes += leave_english_alone()

    held_out = [*inherited_sources(corpus, "validation"), *inherited_sources(corpus, "test")]
    return derive(teacher, student, [*sources, *held_out], changes, overrides)
