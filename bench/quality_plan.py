"""What the contest of quality is: the text, the budget, and how each contestant is run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from bench.plan_file import read_plan_file
from translator.config import Config, load_config
from translator.config.section import PathText, PositiveInt, Section

Amount = Annotated[float, Field(gt=0, le=100_000)]
Texts = Annotated[tuple[str, ...], Field(strict=False)]
Penalties = Annotated[tuple[Annotated[float, Field(ge=0, le=10)], ...], Field(strict=False, min_length=1)]


class Arm(Section):
    """How any contestant is run."""

    ways: Annotated[tuple[dict[str, Any], ...], Field(strict=False, min_length=1)]
    """Ways to use the cores, of which a trial takes the fastest; what they may say is the contestant's own affair."""
    length_penalties: Penalties
    """Tried on the validation text; each toolkit has its own formula."""


class OurArm(Arm):
    """`translator train` with the recipe of the plan."""

    steps_share: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Of the steps that the trial's speed would make of the budget, so many are planned, for the validations' sake."""
    average: PositiveInt = 5
    """Checkpoints whose mean is a candidate."""


class MarianArm(Arm):
    """Hugging Face's `MarianMTModel` in a loop on our batches."""

    settings: Texts = ()
    """`key.path=value` changes of the recipe: its sizes, dropout, batches and learning rate."""
    model: Annotated[dict[str, Any], Field(default_factory=dict)]
    """Values of the library's `MarianConfig` besides."""
    saves: PositiveInt = 10
    """Checkpoints, evenly spread over the budget; every other one is validated."""
    average: PositiveInt = 5
    """The last so many are kept, and their mean is a candidate."""


class EoleArm(Arm):
    """eole, by its own command line."""

    config: dict[str, Any]
    """Its sections `training` and `model`; text, vocabularies, folders and the number of steps are filled in.

    The batch size is the recipe's unless named here; warm-up steps are those of a training as long as the recipe's.
    """
    penalty: str = "avg"
    """Its form of the length penalty."""
    steps_share: Annotated[float, Field(gt=0, le=10)] = 1.5
    """Of the steps that the trial's speed would make of the budget, so many are allowed; the time is what ends it."""
    saves: PositiveInt = 10
    """Checkpoints, evenly spread over the steps; every other one is validated."""
    average: PositiveInt = 5
    """The last so many are kept, and their mean is a candidate."""


class QualityPlan(Section):
    """The file of the contest."""

    directory: PathText
    """Everything that the contest writes is in here."""
    minutes: Amount
    """Training of each contestant, its validations included."""
    cores: PositiveInt
    """Processor cores that each may use."""
    trial_seconds: Amount
    """Training by which the speed of each way is measured."""
    recipe: PathText
    """Our recipe; text, split, subwords and seed are the same for all."""
    settings: Texts = ()
    """`key.path=value` changes of the recipe."""
    choice_sentences: PositiveInt
    """Of the validation text, evenly spread: checkpoint and length penalty are chosen by their mean BLEU and chrF."""
    beam_size: PositiveInt
    """For all."""
    bootstrap_samples: Annotated[int, Field(ge=40, le=100_000)] = 1000
    """Of the intervals and of the paired test."""
    size_tolerance: Annotated[float, Field(ge=0, le=1)] = 0.1
    """How much the number of weights may differ from ours before the table says so."""
    translator: OurArm
    eole: EoleArm
    marian: MarianArm

    @property
    def folder(self) -> Path:
        """`directory`."""
        return Path(self.directory)

    def config(self, settings: Sequence[str] = ()) -> Config:
        """Return our recipe with the settings of the plan and further ones.

        Raises:
            ConfigError: one is wrong.
        """
        return load_config(self.recipe, (*self.settings, *settings))


def load_plan(path: Path) -> QualityPlan:
    """Read the file of the contest.

    Raises:
        ConfigError: it cannot be read, or something in it is wrong.
    """
    plan = read_plan_file(path, QualityPlan, "the plan of the contest")
    plan.config()
    return plan
