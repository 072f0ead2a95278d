"""What the experiments are: variants of one recipe, each trained with several seeds on the same number of tokens."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from bench.plan_file import read_plan_file
from translator.checkpoint import find_checkpoint
from translator.config import Config, parse_config
from translator.config.section import Count, Name, PathText, PositiveInt, Section
from translator.errors import ConfigError
from translator.evaluation import saved_scores, search_label
from translator.run_folder import RunFolder


class Variant(Section):
    """The recipe with some settings changed."""

    name: Name
    """Short name, used for folders."""
    about: str
    """What a reader of the table is told."""
    settings: Annotated[tuple[str, ...], Field(strict=False)] = ()
    """`key.path=value` overrides."""
    average: PositiveInt | None = None
    """Train nothing: score the mean of so many of the baseline's last checkpoints."""


class Experiments(Section):
    """The file of experiments; the first variant is the baseline."""

    directory: PathText
    """Folder of all runs."""
    tokens: PositiveInt
    """Real target tokens that a run is trained on."""
    seeds: Annotated[tuple[Count, ...], Field(strict=False, min_length=1)]
    """A run of each variant for each."""
    recipe: dict[str, Any]
    """The sections of a recipe, as in `configs/`."""
    variants: Annotated[tuple[Variant, ...], Field(strict=False, min_length=1)]
    """What is compared, the most telling first."""


@dataclass(frozen=True)
class Trial:
    """One variant with one seed."""

    variant: Variant
    seed: int
    config: Config
    """With the `max_steps` of the recipe: how many steps the tokens are is known only where the text is."""
    overrides: tuple[str, ...]
    """What makes `config` of the recipe."""

    @property
    def run(self) -> RunFolder:
        """The folder of the run; an average lives in the baseline's."""
        return RunFolder(Path(self.config.run.directory))

    def scored_checkpoint(self) -> str | None:
        """Return the name of the checkpoint whose scores count, None while there are none.

        Raises:
            TranslatorError: the run is damaged.
        """
        if not self.run.config_file.is_file() or self.has_other_settings():
            return None
        scored = {one.checkpoint for one in saved_scores(self.run) if one.search == search_label(self.config.search)}
        if self.variant.average is not None:
            return "averaged" if "averaged" in scored else None
        if not scored:  # training is scored when it is over, never before
            return None
        best = find_checkpoint(self.run.checkpoints_folder, "best").name
        return best if best in scored else None

    def has_other_settings(self) -> bool:
        """Return whether the run that is there differs from what is asked for, the number of steps aside."""
        saved = self.run.config()
        steps = {"max_steps": self.config.training.max_steps}
        return saved.model_copy(update={"training": saved.training.model_copy(update=steps)}) != self.config


def load_experiments(path: Path) -> Experiments:
    """Read the file of experiments.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong.
    """
    experiments = read_plan_file(path, Experiments, "the experiments")
    names = [variant.name for variant in experiments.variants]
    if len(set(names)) < len(names):
        raise ConfigError(f"{path}: two variants have one name; each needs its own, since it names their folders")
    if experiments.variants[0].average is not None:
        raise ConfigError(f"{path}: the first variant is the baseline and must be trained; it cannot be an average")
    return experiments


def recipe_text(experiments: Experiments) -> str:
    """Return the recipe that all variants start from, as YAML."""
    return yaml.safe_dump(experiments.recipe, allow_unicode=True, sort_keys=False)


def trials(experiments: Experiments) -> Iterator[Trial]:
    """Yield every trial in the order of work: all variants with one seed before any with the next.

    Raises:
        ConfigError: the recipe or the settings of a variant are wrong.
    """
    text, baseline = recipe_text(experiments), experiments.variants[0]
    for seed in experiments.seeds:
        for variant in experiments.variants:
            trained = baseline if variant.average is not None else variant
            folder = Path(experiments.directory) / f"{trained.name}-seed{seed}"
            overrides = (*trained.settings, f"run.seed={seed}", f"run.directory={folder}")
            yield Trial(variant, seed, parse_config(text, f"variant `{variant.name}`", overrides), overrides)
