"""Distillation on the level of sequences: a student learns the translations of its teacher (Kim and Rush 2016)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from translator.config import Config, SourceConfig
from translator.corpus.derived import inherited_sources, training_weights
from translator.corpus.prepared_corpus import PreparedCorpus
from translator.recipes.derived_recipe import derived_config, free_name, names_of, text_folder
from translator.recipes.settings import shipped_settings
from translator.run.folder import RunFolder

_ENGLISH_CHANGES = ("typos", "final_punctuation", "case")  # kinds of augmentation


class TaughtText(NamedTuple):
    """Text of the teacher's training: its source side, the n-best translations, and the best of them."""

    name: str
    source: Path
    n_best: Path
    best: Path


class TaughtMonolingual(NamedTuple):
    """More source text, and its translations."""

    source: Path
    target: Path


@dataclass(frozen=True)
class DistillationPlan:
    """All that decides a student."""

    config: Config
    folder: Path  # of the text
    texts: tuple[TaughtText, ...]
    monolingual: TaughtMonolingual | None

    @property
    def outputs(self) -> list[Path]:
        """All files of text to write."""
        files: list[Path] = []
        for text in self.texts:
            files += [text.n_best, text.best]
        return [*files, *(self.monolingual or ())]


def plan_distillation(
    teacher: RunFolder,
    corpus: PreparedCorpus,
    student: Path,
    *,
    has_monolingual: bool,
    recipe: str,
    overrides: Sequence[str],
) -> DistillationPlan:
    """Return the plan of a student.

    Args:
        teacher: the trained run.
        corpus: its prepared text.
        student: folder of the student's run.
        has_monolingual: the student also learns translations of other text.
        recipe: decides subwords, model and training.
        overrides: the user's settings, as KEY.PATH=VALUE.

    Raises ConfigError: the recipe or an override is wrong.
    """
    config = teacher.config()
    folder = text_folder(student)
    source_side, target_side = corpus.sides

    # 1. The teacher's training text, with its translations in place of the references.
    originals = inherited_sources(corpus, "train", training_weights(config))
    texts: list[TaughtText] = []
    sources: list[SourceConfig] = []
    for original in originals:
        english_or_persian = {"en": Path(str(original.source_path)), "fa": Path(str(original.target_path))}
        text = TaughtText(
            name=original.name,
            source=english_or_persian[source_side],
            n_best=folder / f"{original.name}.jsonl",
            best=folder / f"{original.name}.{target_side}",
        )
        texts.append(text)
        changed_key = "target_path" if target_side == "fa" else "source_path"
        sources.append(original.model_copy(update={changed_key: str(text.best.resolve())}))

    # 2. Monolingual text, whose translations have no references.
    monolingual = None
    if has_monolingual:
        name = free_name("monolingual", names_of(config))
        monolingual = TaughtMonolingual(folder / f"{name}.{source_side}", folder / f"{name}.{target_side}")
        english, persian = (str((folder / f"{name}.{side}").resolve()) for side in ("en", "fa"))
        sources.append(SourceConfig(name=name, source_path=english, target_path=persian, use="train"))

    # 3. The recipe of the student. A small teacher's text does not allow as many pieces as the recipe has.
    changes = shipped_settings(recipe, "subword", "model", "training", defaults=True)
    pieces = "subword.vocabulary_size"
    changes[pieces] = min(changes[pieces], config.subword.vocabulary_size // 2)
    if source_side == "fa":
        for kind in _ENGLISH_CHANGES:
            changes[f"training.augmentation.{kind}"] = 0
    held_out = [*inherited_sources(corpus, "validation"), *inherited_sources(corpus, "test")]
    return DistillationPlan(
        config=derived_config(teacher, student, [*sources, *held_out], changes, overrides),
        folder=folder,
        texts=tuple(texts),
        monolingual=monolingual,
    )
