"""The plan of the contest of quality, and the text that all its contestants get."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from translator.config import Config, load_config
from translator.corpus.selecting.split import Split
from translator.data import DataHandler
from translator.errors import RunError
from translator.run.files import new_folder, write_json, write_text

SPLITS: Final[Mapping[str, Split]] = {"train": "train", "choice": "validation", "test": "test"}
"""The texts of the contest, and the splits of the corpus from which they come."""


class Plan(BaseModel):
    """The file of the contest."""

    model_config = ConfigDict(extra="forbid")
    directory: str
    minutes: Annotated[float, Field(gt=0)]  # of training, its validations included
    cores: Annotated[int, Field(ge=1)]  # that each contestant may use
    seeds: Annotated[int, Field(ge=1)] = 1  # trainings of ours, with the seeds 1, 2 and so on
    recipe: str  # ours; text, split, subwords and seed are the same for all
    settings: tuple[str, ...] = ()
    choice_sentences: Annotated[int, Field(ge=1)]  # of the validation text; checkpoint and penalty are chosen on these
    beam_size: Annotated[int, Field(ge=1)]
    length_penalties: Annotated[tuple[float, ...], Field(min_length=1)]  # in all toolkits length ** penalty divides
    average: Annotated[int, Field(ge=1)] = 5  # last checkpoints whose mean is a candidate
    saves: Annotated[int, Field(ge=1)] = 20  # checkpoints of a peer, evenly spread over the minutes
    eole: Mapping[str, Any]  # `matmul`, `predict`: flags of its translation, and `config`: its recipe
    marian: Mapping[str, Any]  # `matmul`, `settings` of the recipe, `model`: values of MarianConfig

    def config(self, settings: Sequence[str] = ()) -> Config:
        """Return our recipe with the settings of the plan and extra ones; raise ConfigError if one is invalid."""
        return load_config(self.recipe, [*self.settings, *settings])


def contest_text(plan: Plan) -> Path:
    """Return the folder of the contest's text, written once.

    It has, for train (normalized), choice (evenly spaced validation text) and test: NAME.en and NAME.fa, NAME.input
    with normalized English, and NAME.json with the number of sentences of each source.
    """
    folder = Path(plan.directory) / "text"
    if folder.is_dir():
        return folder
    data = DataHandler(plan.config())
    with new_folder(folder) as beside:
        for name, split in SPLITS.items():
            sources = data.corpus.names(split)
            spacing = 1
            if name == "choice":
                sentences = sum(data.corpus.count(split, source) for source in sources)
                spacing = max(1, sentences // plan.choice_sentences)
            english: list[str] = []
            persian: list[str] = []
            counts: dict[str, int] = {}
            for source in sources:
                chosen_lines = list(data.corpus.lines(split, source, "en"))[::spacing]
                counts[source] = len(chosen_lines)
                english += chosen_lines
                persian += list(data.corpus.lines(split, source, "fa"))[::spacing]
            write_lines(beside / f"{name}.en", english)
            write_lines(beside / f"{name}.fa", persian)
            write_lines(beside / f"{name}.input", map(data.normalizer.source, english))
            write_json(beside / f"{name}.json", counts)
    return folder


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write `lines` to `path`, whose folder may be missing."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file; only a line feed ends one."""
    return path.read_bytes().decode("utf-8").split("\n")[:-1]


def by_set(text: Path, split: str, file: Path) -> dict[str, list[str]]:
    """Return the lines of `file`, one for each sentence of `split` (else RunError), by source."""
    counts: dict[str, int] = json.loads((text / f"{split}.json").read_text(encoding="utf-8"))
    lines = read_lines(file)
    if len(lines) != sum(counts.values()):
        raise RunError(f"{file} has {len(lines):,} lines for {sum(counts.values()):,} sentences; delete it")
    remaining = iter(lines)
    return {name: list(itertools.islice(remaining, count)) for name, count in counts.items()}
