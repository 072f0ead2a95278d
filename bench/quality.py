"""Our recipe compared with eole and Hugging Face Marian: equal text, subwords and minutes of training.

It takes hours, and can be stopped at any time: the same command resumes without repeating finished parts. Marian runs
in this process; eole runs in the Python named by QUALITY_PYTHON (see bench/quality_eole.py).
"""

import importlib
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import torch
import yaml
from pydantic import BaseModel, ConfigDict, Field

from bench.experiments import read_yaml
from bench.learners import CPU, average_weights, count_weights, marian_learner, our_batches
from bench.options import FailedError, Options
from bench.processes import TRANSLATOR, run_command
from bench.scores import METRICS, NOTE, compare_systems, markdown_table, mean_score, read_lines
from translator.config import Config, load_config
from translator.data import DataHandler, collate_source
from translator.errors import RunError
from translator.model.device import Arithmetic
from translator.run.locks import hold_folder
from translator.run.storage import write_json, write_text
from translator.run.work_folders import new_folder
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.subword import SubwordModel

PLAN: Final = "bench/quality.yaml"
PYTHON: Final = "QUALITY_PYTHON"  # environment variable: the Python with eole
SHOWN: Final = 3  # sentences shown of each set
WARM_UP: Final = 3  # updates of another toolkit before the clock starts
ROWS: Final = 64  # batch size of Marian's translation
_ENDLESS: Final = 1_000_000


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
        """Return our recipe with the settings of the plan and further ones; raise ConfigError if one is invalid."""
        return load_config(self.recipe, [*self.settings, *settings])


def bench(options: Options) -> Iterator[str]:
    """Train, choose and translate all unfinished parts, and yield the tables, which are also in results.md.

    Raises:
        ConfigError: the plan is invalid.
        RunError: the folder belongs to another plan.
        FailedError: a contestant failed; the others were completed.
    """
    plan = read_yaml(Path(options.config or PLAN), Plan)
    known, failed, folder = contestants(plan), [], Path(plan.directory)
    now = json.loads(json.dumps([plan.model_dump(mode="json"), plan.config().model_dump(mode="json")]))
    folder.mkdir(parents=True, exist_ok=True)
    with hold_folder(folder):
        if kept(folder / "plan.json", lambda: now) != now:
            raise RunError(f"{folder} belongs to another plan or recipe; change `directory`")
        text = contest_text(plan)
        for name in [] if options.table else options.chosen(known):
            try:
                carry_out(known[name](plan, text, folder / name))
            except RunError as error:
                failed.append(name)
                print(f"bench: {name}: {error}", file=sys.stderr)
        yield from write_tables(plan, text)
    if failed:
        raise FailedError(f"failed: {', '.join(failed)}")


def kept(path: Path, make: Callable[[], Any]) -> Any:
    """Return the JSON of a finished part, or run the part and save its result."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, make())
    return json.loads(path.read_text(encoding="utf-8"))


def contest_text(plan: Plan) -> Path:
    """Return the folder of the contest's text, written once.

    It has, for train (normalized), validation, choice (part of validation) and test: NAME.en and NAME.fa, NAME.input
    with normalized English, and NAME.json with the number of sentences of each source.
    """
    folder = Path(plan.directory) / "text"
    if folder.is_dir():
        return folder
    data = DataHandler(plan.config()).prepare()
    sets = {
        split: {
            name: list(zip(*(data.corpus.lines(split, name, side) for side in ("en", "fa")), strict=True))
            for name in data.corpus.names(split)
        }
        for split in ("train", "validation", "test")
    }
    every = max(1, sum(map(len, sets["validation"].values())) // plan.choice_sentences)
    sets["choice"] = {name: pairs[::every] for name, pairs in sets["validation"].items()}
    with new_folder(folder) as beside:
        for split, by_source in sets.items():
            pairs = [pair for several in by_source.values() for pair in several]
            english, persian = ([pair[side] for pair in pairs] for side in (0, 1))
            for name, lines in (("en", english), ("fa", persian), ("input", map(data.normalizer.source, english))):
                write_text(beside / f"{split}.{name}", "".join(f"{line}\n" for line in lines))
            write_json(beside / f"{split}.json", {name: len(several) for name, several in by_source.items()})
    return folder


def by_set(text: Path, split: str, file: Path) -> dict[str, list[str]]:
    """Return the lines of `file`, one for each sentence of `split` (else RunError), by source."""
    counts: dict[str, int] = json.loads((text / f"{split}.json").read_text(encoding="utf-8"))
    lines = iter(read_lines(file, sum(counts.values())))
    return {name: [next(lines) for _ in range(count)] for name, count in counts.items()}


# --- the contestants ---


@dataclass(frozen=True)
class Contestant:
    """One toolkit; its output is in `folder`, the text of the contest in `text`."""

    plan: Plan
    text: Path
    folder: Path

    def train(self) -> dict[str, Any]:
        """Train for the minutes of the plan; raise RunError if the command failed.

        Returns:
            `seconds`, `steps`, real `target_tokens`, the number of `weights`, and `candidates`: names of checkpoints.
        """
        raise NotImplementedError

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        """Translate `choice` or `test` with the plan's beam into `output`, line by line; errors as `train`."""
        raise NotImplementedError

    def run(self, command: Sequence[str], log: str = "log.txt") -> None:
        run_command(command, self.folder / log, self.plan.cores)


@dataclass(frozen=True)
class Ours(Contestant):
    """`translator train`, `average` and `translate`, which normalizes. A stopped training resumes."""

    seed: int = 1

    def train(self) -> dict[str, Any]:
        plan, run = self.plan, self.folder / "training"
        limits = [f"training.max_minutes={plan.minutes}", f"training.keep_checkpoints={plan.average}"]
        settings = [
            *plan.settings,
            *limits,
            f"run.threads={plan.cores}",
            f"run.directory={run}",
            f"run.seed={self.seed}",
        ]
        self.run([*TRANSLATOR, "train", "--config", plan.recipe, "--set", *settings])
        count = min(len(list((run / "checkpoints").glob("step-*"))), plan.average)
        self.run([*TRANSLATOR, "average", "--run", str(run), "--count", str(count), "--of", "last"])
        last, best = ((run / "checkpoints" / name).resolve() for name in ("last", "best"))
        progress = json.loads((last / "state.json").read_text(encoding="utf-8"))["state"]["progress"]
        return {
            "seconds": progress["seconds"],
            "steps": progress["step"],
            "target_tokens": progress["target_tokens"],
            "weights": count_weights(last / "model.safetensors"),
            "candidates": ["last", *(["best"] if best != last else []), "averaged"],
        }

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        search = ["search.length_normalization=average", f"search.length_penalty={penalty}"]
        which = ["--run", str(self.folder / "training"), "--checkpoint", checkpoint, "--beam", str(self.plan.beam_size)]
        files = ["--input", str(self.text / f"{split}.en"), "--output", str(output)]
        self.run([*TRANSLATOR, "translate", *which, *files, "--set", *search], "translating.log")


class Peer(Contestant):
    """Another toolkit, with training limited by time; a stopped training restarts."""

    def train(self) -> dict[str, Any]:
        folder, average = self.folder / "training", self.plan.average
        shutil.rmtree(folder, ignore_errors=True)  # remains of a killed training
        folder.mkdir(parents=True)
        self.train_into(folder, 60 * self.plan.minutes)
        saved = sorted(folder.glob("model/step_*"), key=lambda path: int(path.name.removeprefix("step_")))
        files = [next(path.glob("model*.safetensors")) for path in saved[-average:]]
        shutil.copytree(saved[-1], folder / "model" / "averaged")
        average_weights(files, folder / "model" / "averaged" / files[-1].name)
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        candidates = ["averaged", *(path.name for path in reversed(saved[-average:]))]
        return {**result, "weights": count_weights(files[-1]), "candidates": candidates}

    def train_into(self, folder: Path, seconds: float) -> None:
        """Train for `seconds`, with checkpoints `model/step_N` and numbers in `result.json` in `folder`."""
        raise NotImplementedError


class Eole(Peer):
    """eole with the same text, normalized, and the same SentencePiece models."""

    def train_into(self, folder: Path, seconds: float) -> None:
        config, own, place = self.plan.config(), self.plan.eole, folder.resolve()
        pairs = list(zip(*(read_lines(self.text / f"train.{side}") for side in ("en", "fa")), strict=True))
        random.Random(config.run.seed).shuffle(pairs)  # eole does not shuffle the text
        models = {}
        for number, (side, name) in enumerate((("src", "source"), ("tgt", "target"))):
            models[side] = str((DataHandler(config).prepare().subword_folder / f"{name}.model").resolve())
            subword = SubwordModel.load(Path(models[side]))
            pieces = subword.pieces_of(range(EOS + 1, subword.vocabulary_size))  # eole adds special tokens itself
            counts = range(len(pieces), 0, -1)  # they only order the pieces
            rows = (f"{piece}\t{count}\n" for piece, count in zip(pieces, counts, strict=True))
            write_text(place / f"{side}.vocab", "".join(rows))
            write_text(place / f"train.{side}", "".join(f"{pair[number]}\n" for pair in pairs))
        length = config.batching.max_length
        training = {
            "bucket_size": max(1, int(0.8 * len(pairs))),  # a bucket of a whole epoch would repeat the same batches
            **own["config"]["training"],
            "model_path": str(place / "model"),
            "save_format": "safetensors",
            "keep_checkpoint": self.plan.average,
            **dict.fromkeys(("train_steps", "valid_steps", "save_checkpoint_steps"), _ENDLESS),  # ended by time
            "world_size": 1,
            "gpu_ranks": [],
            "compute_dtype": own["precision"],
        }
        recipe = {
            "seed": config.run.seed + 1,  # for eole, 0 means no seed
            "save_data": str(place / "data"),
            "overwrite": True,
            "report_every": 50,
            "n_sample": 0,
            "data": {"train": {f"path_{side}": str(place / f"train.{side}") for side in models}},
            **{f"{side}_vocab": str(place / f"{side}.vocab") for side in models},
            "share_vocab": False,
            "transforms": ["sentencepiece", "filtertoolong"],
            "transforms_configs": {
                "sentencepiece": {f"{side}_subword_model": model for side, model in models.items()},
                "filtertoolong": {"src_seq_length": length, "tgt_seq_length": length},
            },
            "training": training,
            "model": own["config"]["model"],
        }
        write_text(place / "eole.yaml", yaml.safe_dump(recipe, sort_keys=False))
        job = {"seconds": seconds, "saves": self.plan.saves, "matmul": own["matmul"]}
        job |= {"schedule": config.training.max_steps, "result": str(place / "result.json")}
        self.run([*self._eole(json.dumps(job)), "train", "-config", str(place / "eole.yaml")])

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        flags = {
            "model_path": (self.folder / "training" / "model" / checkpoint).resolve(),
            "src": (self.text / f"{split}.input").resolve(),
            "output": output.resolve(),
            "n_best": 1,
            "beam_size": self.plan.beam_size,
            "batch_size": 64,
            "batch_type": "sents",
            "length_penalty": "avg",
            "alpha": penalty,
            "max_length_ratio": 2,
            "max_length": self.plan.config().model.max_positions - 1,
            "compute_dtype": "fp32",  # otherwise the weights of a training in bf16 are rounded
        }
        given = [part for key, value in flags.items() for part in (f"-{key}", str(value))]
        self.run([*self._eole("translate"), "predict", *given], "translating.log")

    def _eole(self, job: str) -> list[str]:
        return [os.environ.get(PYTHON) or sys.executable, str(Path(__file__).with_name("quality_eole.py")), job]


class Marian(Peer):
    """Hugging Face's `MarianMTModel` in the usual loop, on our batches, computed in this process."""

    def train_into(self, folder: Path, seconds: float) -> None:
        plan, own = self.plan, self.plan.marian
        config = plan.config(own["settings"])
        torch.set_num_threads(plan.cores)
        torch.manual_seed(config.run.seed)
        data = DataHandler(config).prepare()
        vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
        learner = marian_learner(config, vocabularies, Arithmetic(CPU, own["precision"]), own["matmul"], **own["model"])
        saved: list[Path] = []
        began, share, steps, tokens, saves = time.monotonic(), 0.0, 0, 0, 0
        for number, batch in enumerate(our_batches(data), 1 - WARM_UP):
            if number == 1:
                began = time.monotonic()
            learner.update(batch, max(1, round(share * config.training.max_steps)))  # its schedule follows the time
            if number < 1:
                continue
            steps, tokens, share = number, tokens + batch.target_tokens, (time.monotonic() - began) / seconds
            if int(share * plan.saves) > saves:
                saves = int(share * plan.saves)
                saved.append(folder / "model" / f"step_{steps}")
                learner.model.save_pretrained(saved[-1])  # type: ignore[operator]
                for old in saved[: -plan.average]:
                    shutil.rmtree(old, ignore_errors=True)
            if share >= 1:
                break
        took = time.monotonic() - began
        write_json(folder / "result.json", {"seconds": took, "steps": steps, "target_tokens": tokens})

    @torch.no_grad()
    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        transformers = importlib.import_module("transformers")  # type checks must pass where it is not installed
        config = self.plan.config(self.plan.marian["settings"])
        torch.set_num_threads(self.plan.cores)
        subword = DataHandler(config).prepare().subword
        model: Any = transformers.MarianMTModel.from_pretrained(self.folder / "training" / "model" / checkpoint).eval()
        ids = subword.source.encode(read_lines(self.text / f"{split}.input"))
        order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
        texts = [""] * len(ids)
        for start in range(0, len(order), ROWS):
            numbers = order[start : start + ROWS]
            source = collate_source([ids[number] for number in numbers])
            found: torch.Tensor = model.generate(
                input_ids=source,
                attention_mask=source != PAD,
                num_beams=self.plan.beam_size,
                length_penalty=penalty,
                max_new_tokens=min(2 * source.shape[1] + 10, config.model.max_positions - 1),
                max_length=None,
                suppress_tokens=[PAD, UNK, SOS],
                use_cache=True,
            )
            for number, text in zip(numbers, subword.target.decode_ids(found.tolist()), strict=True):
                texts[number] = text
        write_text(output, "".join(f"{text}\n" for text in texts))


def contestants(plan: Plan) -> dict[str, Callable[[Plan, Path, Path], Contestant]]:
    """Return the constructor of each contestant, from plan, text and folder, by name, in the order of the tables."""
    further = {f"translator-seed-{seed}": partial(Ours, seed=seed) for seed in range(2, plan.seeds + 1)}
    return {"translator": Ours, **further, "eole": Eole, "marian": Marian}


# --- from training to the tables ---


def carry_out(contestant: Contestant) -> None:
    """Train a contestant, choose checkpoint and length penalty, and translate the test text; errors as `train`."""
    folder = contestant.folder
    trained = kept(folder / "trained.json", contestant.train)
    print(f"bench: {folder.name}: trained for {trained['seconds'] / 60:.1f} minutes", file=sys.stderr, flush=True)
    choice = kept(folder / "choice.json", lambda: choose(contestant, trained["candidates"]))

    def translate_test() -> dict[str, str]:
        output = folder / "test.txt"
        output.unlink(missing_ok=True)
        contestant.translate(choice["checkpoint"], choice["length_penalty"], "test", output)
        by_set(contestant.text, "test", output)
        return {"translations": str(output)}

    kept(folder / "translated.json", translate_test)


def choose(contestant: Contestant, candidates: Sequence[str]) -> dict[str, Any]:
    """Return the best checkpoint on the validation text, and the best length penalty for it.

    Checkpoints are compared with the penalty nearest to 1. All attempts are saved under `tried`.
    """
    text, penalties = contestant.text, contestant.plan.length_penalties
    references = list(by_set(text, "choice", text / "choice.fa").values())
    tried: dict[tuple[str, float], float] = {}

    def judge(checkpoint: str, penalty: float) -> float:
        if (checkpoint, penalty) not in tried:
            output = contestant.folder / "choice" / f"{checkpoint}.{penalty:g}.txt"
            output.parent.mkdir(parents=True, exist_ok=True)
            output.unlink(missing_ok=True)
            contestant.translate(checkpoint, penalty, "choice", output)
            tried[checkpoint, penalty] = mean_score(list(by_set(text, "choice", output).values()), references)
        return tried[checkpoint, penalty]

    first = min(penalties, key=lambda penalty: abs(penalty - 1))
    checkpoint = max(candidates, key=lambda name: judge(name, first))
    penalty = max(penalties, key=lambda penalty: judge(checkpoint, penalty))
    return {"checkpoint": checkpoint, "length_penalty": penalty, "tried": [[*key, tried[key]] for key in tried]}


def write_tables(plan: Plan, text: Path) -> list[str]:
    """Return the tables of all finished contestants, ours first, and write them to results.md."""
    place = Path(plan.directory)
    folders = [place / name for name in contestants(plan) if (place / name / "translated.json").exists()]
    if not folders:
        return ["No contestant is finished yet."]
    references, sources = (by_set(text, "test", text / f"test.{side}") for side in ("fa", "en"))
    translations = {folder.name: by_set(text, "test", folder / "test.txt") for folder in folders}
    efforts, scores, shown, signatures = [], [], [], list[str]()
    for folder in folders:
        one, choice = (json.loads((folder / f"{part}.json").read_text("utf-8")) for part in ("trained", "choice"))
        empty = sum(not line.strip() for lines in translations[folder.name].values() for line in lines)
        efforts.append(
            [
                *(folder.name, f"{one['weights'] / 1e6:.2f}M", f"{one['seconds'] / 60:.1f}", f"{one['steps']:,}"),
                *(f"{one['target_tokens']:,}", f"{one['target_tokens'] / one['seconds']:,.0f}"),
                *(f"{choice['checkpoint']}, {choice['length_penalty']:g}", str(empty)),
            ]
        )
    for name, lines in references.items():
        systems = {system: found[name] for system, found in translations.items()}
        cells, signatures = compare_systems(systems, lines, plan.bootstrap_samples)
        scores += [[name, f"{len(lines):,}", system, *cells[system]] for system in systems]
        for row in range(0, len(lines), max(1, len(lines) // SHOWN))[:SHOWN]:
            shown.append([name, sources[name][row], lines[row], *(found[row] for found in systems.values())])
    header = ["contestant", "weights", "minutes", "steps", "target tokens", "tokens/s", "checkpoint, penalty"]
    report = [
        *markdown_table([*header, "empty translations"], efforts),
        *("", *markdown_table(["test set", "sentences", "contestant", *METRICS], scores)),
        *(["", NOTE] if len(folders) > 1 else []),
        *(f"`{signature}`" for signature in signatures),
        *("", *markdown_table(["test set", "English", "reference", *translations], shown)),
    ]
    write_text(place / "results.md", "\n".join(report) + "\n")
    return report
