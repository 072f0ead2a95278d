"""The plan of the contest of quality, and the text that all its contestants get."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from bench.scores import read_lines
from translator.config import Config, load_config
from translator.corpus.selecting.split import SPLITS
from translator.data import DataHandler
from translator.run.files import new_folder, write_json, write_text


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
    bootstrap_samples: Annotated[int, Field(ge=40)] = 1000
    eole: Mapping[str, Any]  # `matmul`, `precision` and `config`: eole's sections `training` and `model`
    marian: Mapping[str, Any]  # `matmul`, `precision`, `settings` of the recipe, `model`: values of MarianConfig

    def config(self, settings: Sequence[str] = ()) -> Config:
        """Return our recipe with the settings of the plan and extra ones; raise ConfigError if one is invalid."""
        return load_config(self.recipe, [*self.settings, *settings])


def contest_text(plan: Plan) -> Path:
    """Return the folder of the contest's text, written once.

    It has, for train (normalized), validation, choice (part of validation) and test: NAME.en and NAME.fa, NAME.input
    with normalized English, and NAME.json with the number of sentences of each source.
    """
    folder = Path(plan.directory) / "text"
    if folder.is_dir():
        return folder
    data = DataHandler(plan.config())

    # 1. The texts of each split, by source.
    texts_of_split: dict[str, dict[str, SideTexts]] = {}
    for split in SPLITS:
        texts_of_split[split] = {}
        for name in data.corpus.names(split):
            english = list(data.corpus.lines(split, name, "en"))
            persian = list(data.corpus.lines(split, name, "fa"))
            texts_of_split[split][name] = SideTexts(english, persian)

    # 2. Evenly spaced validation text, on which checkpoint and penalty are chosen.
    validation = texts_of_split["validation"]
    sentences = sum(len(texts.english) for texts in validation.values())
    spacing = max(1, sentences // plan.choice_sentences)
    texts_of_split["choice"] = {}
    for name, texts in validation.items():
        texts_of_split["choice"][name] = SideTexts(texts.english[::spacing], texts.persian[::spacing])

    # 3. The files.
    with new_folder(folder) as beside:
        for split_name, texts_of_source in texts_of_split.items():
            english = list(itertools.chain.from_iterable(texts.english for texts in texts_of_source.values()))
            persian = list(itertools.chain.from_iterable(texts.persian for texts in texts_of_source.values()))
            write_lines(beside / f"{split_name}.en", english)
            write_lines(beside / f"{split_name}.fa", persian)
            write_lines(beside / f"{split_name}.input", map(data.normalizer.source, english))
            counts = {name: len(texts.english) for name, texts in texts_of_source.items()}
            write_json(beside / f"{split_name}.json", counts)
    return folder


class SideTexts(NamedTuple):
    """The texts of some pairs."""

    english: list[str]
    persian: list[str]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write `lines` to `path`."""
    write_text(path, "".join(f"{line}\n" for line in lines))


def by_set(text: Path, split: str, file: Path) -> dict[str, list[str]]:
    """Return the lines of `file`, one for each sentence of `split` (else RunError), by source."""
    counts: dict[str, int] = json.loads((text / f"{split}.json").read_text(encoding="utf-8"))
    lines = iter(read_lines(file, sum(counts.values())))
    return {name: list(itertools.islice(lines, count)) for name, count in counts.items()}
