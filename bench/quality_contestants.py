"""The contestants of quality: our recipe, eole, and Hugging Face Marian.

Marian runs in this process; eole runs in the Python named by QUALITY_PYTHON (see bench/quality_eole.py).
"""

import copy
import importlib
import json
import os
import random
import shutil
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
import yaml
from safetensors.torch import load_file, save_file

from bench.learners import marian_learner, sorted_batches, weights_of
from bench.processes import TRANSLATOR, run_command
from bench.quality_text import Plan, read_lines, write_lines
from translator.core import EOS, PAD, SOS, UNK
from translator.core.batch import collate_source
from translator.data import DataHandler
from translator.run.files import write_json, write_text
from translator.subword import SubwordModel

PYTHON: Final = "QUALITY_PYTHON"  # environment variable: the Python with eole
WARM_UP: Final = 3  # updates of another toolkit before the clock starts
ROWS: Final = 64  # batch size of Marian's translation
_ENDLESS: Final = 1_000_000


@dataclass(frozen=True)
class Contestant(ABC):
    """One toolkit; its output is in `folder`, the text of the contest in `text`."""

    plan: Plan
    text: Path
    folder: Path

    @abstractmethod
    def train(self) -> dict[str, Any]:
        """Train for the minutes of the plan; raise RunError if the command failed.

        Returns:
            `seconds`, `steps`, real `target_tokens`, the number of `weights`, and `candidates`: names of checkpoints.
        """

    @abstractmethod
    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        """Translate `choice` or `test` with the plan's beam into `output`, line by line; errors as `train`."""

    def run(self, command: Sequence[str], log: str = "log.txt") -> None:
        run_command(command, self.folder / log, self.plan.cores)


@dataclass(frozen=True)
class Ours(Contestant):
    """`translator train`, `average` and `translate`, which normalizes. A stopped training resumes."""

    seed: int = 1

    def train(self) -> dict[str, Any]:
        plan = self.plan
        run = self.folder / "training"
        checkpoints = run / "checkpoints"

        # 1. Train, and average the last checkpoints.
        settings = [
            *plan.settings,
            f"training.max_minutes={plan.minutes}",
            f"training.keep_checkpoints={plan.average}",
            f"run.threads={plan.cores}",
            f"run.directory={run}",
            f"run.seed={self.seed}",
        ]
        self.run([*TRANSLATOR, "train", "--config", plan.recipe, "--set", *settings])
        count = min(len(list(checkpoints.glob("step-*"))), plan.average)
        self.run([*TRANSLATOR, "average", "--run", str(run), "--count", str(count), "--of", "last"])

        # 2. Report.
        last = (checkpoints / "last").resolve()
        best = (checkpoints / "best").resolve()
        progress = json.loads((last / "state.json").read_text(encoding="utf-8"))["state"]["progress"]
        return {
            "seconds": progress["seconds"],
            "steps": progress["step"],
            "target_tokens": progress["target_tokens"],
            "weights": sum(tensor.numel() for tensor in load_file(last / "model.safetensors").values()),
            "candidates": ["last", *(["best"] if best != last else []), "averaged"],
        }

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        run = ["--run", str(self.folder / "training"), "--checkpoint", checkpoint]
        files = ["--input", str(self.text / f"{split}.en"), "--output", str(output)]
        search = [
            *("--beam", str(self.plan.beam_size)),
            *("--set", "search.length_normalization=average", f"search.length_penalty={penalty}"),
        ]
        self.run([*TRANSLATOR, "translate", *run, *files, *search], "translating.log")


class Peer(Contestant):
    """Another toolkit, with training limited by time; a stopped training restarts."""

    def train(self) -> dict[str, Any]:
        # 1. Train.
        folder = self.folder / "training"
        shutil.rmtree(folder, ignore_errors=True)  # remains of a killed training
        folder.mkdir(parents=True)
        self.train_into(folder, 60 * self.plan.minutes)

        # 2. Average the last checkpoints.
        checkpoints = sorted(folder.glob("model/step_*"), key=lambda path: int(path.name.removeprefix("step_")))
        last_checkpoints = checkpoints[-self.plan.average :]
        files = [next(path.glob("model*.safetensors")) for path in last_checkpoints]
        averaged = folder / "model" / "averaged"
        shutil.copytree(last_checkpoints[-1], averaged)
        average_weights(files, averaged / files[-1].name)

        # 3. Report.
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return {**result, "candidates": ["averaged", *(path.name for path in reversed(last_checkpoints))]}

    @abstractmethod
    def train_into(self, folder: Path, seconds: float) -> None:
        """Train for `seconds`, with checkpoints `model/step_N` and numbers in `result.json` in `folder`."""


def average_weights(paths: Sequence[Path], output: Path) -> None:
    """Write the mean tensors of several files, summed in float64; integer tensors are those of the last file."""
    files = [load_file(path) for path in paths]
    means = {}
    for name, tensor in files[-1].items():
        means[name] = tensor
        if tensor.is_floating_point():
            means[name] = torch.stack([file[name].double() for file in files]).mean(0).to(tensor.dtype)
    save_file(means, output, metadata={"format": "pt"})


class Eole(Peer):
    """eole with the same text, normalized, and the same SentencePiece models."""

    def train_into(self, folder: Path, seconds: float) -> None:
        config = self.plan.config()
        settings = self.plan.eole
        place = folder.resolve()

        # 1. The text, which eole does not shuffle, and its subwords.
        pairs = list(zip(read_lines(self.text / "train.en"), read_lines(self.text / "train.fa"), strict=True))
        random.Random(config.run.seed).shuffle(pairs)
        subword_folder = DataHandler(config).subword_folder
        recipe = copy.deepcopy(settings["config"])
        recipe["data"] = {"train": {}}
        recipe["transforms_configs"] = {"sentencepiece": {}, "filtertoolong": {}}
        for number, (side, name) in enumerate({"src": "source", "tgt": "target"}.items()):
            model = (subword_folder / f"{name}.model").resolve()
            write_lines(place / f"train.{side}", [pair[number] for pair in pairs])
            write_lines(place / f"{side}.vocab", _eole_vocabulary(SubwordModel.load(model)))
            recipe["data"]["train"][f"path_{side}"] = str(place / f"train.{side}")
            recipe[f"{side}_vocab"] = str(place / f"{side}.vocab")
            recipe["transforms_configs"]["sentencepiece"][f"{side}_subword_model"] = str(model)
            recipe["transforms_configs"]["filtertoolong"][f"{side}_seq_length"] = config.batching.max_length

        # 2. The rest of the recipe.
        recipe["seed"] = config.run.seed + 1  # for eole, 0 means no seed
        recipe["save_data"] = str(place / "data")
        recipe["training"] |= {
            "bucket_size": max(1, int(0.8 * len(pairs))),  # a bucket of a whole epoch would repeat the same batches
            "model_path": str(place / "model"),
            "keep_checkpoint": self.plan.average,
            **dict.fromkeys(("train_steps", "valid_steps", "save_checkpoint_steps"), _ENDLESS),  # ended by time
        }
        write_text(place / "eole.yaml", yaml.safe_dump(recipe, sort_keys=False))

        # 3. The training, limited by time.
        job = {
            "seconds": seconds,
            "saves": self.plan.saves,
            "matmul": settings["matmul"],
            "schedule": config.training.max_steps,
            "result": str(place / "result.json"),
        }
        self.run([*self._eole(json.dumps(job)), "train", "-config", str(place / "eole.yaml")])

    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        flags = {
            "model_path": (self.folder / "training" / "model" / checkpoint).resolve(),
            "src": (self.text / f"{split}.input").resolve(),
            "output": output.resolve(),
            "beam_size": self.plan.beam_size,
            "alpha": penalty,
            "max_length": self.plan.config().model.max_positions - 1,
            **self.plan.eole["predict"],
        }
        arguments: list[str] = []
        for name, value in flags.items():
            arguments += (f"-{name}", str(value))
        self.run([*self._eole("translate"), "predict", *arguments], "translating.log")

    def _eole(self, job: str) -> list[str]:
        return [os.environ.get(PYTHON) or sys.executable, str(Path(__file__).with_name("quality_eole.py")), job]


def _eole_vocabulary(subword: SubwordModel) -> Iterator[str]:
    """Yield the lines of eole's file of pieces, without special tokens, which eole adds itself."""
    pieces = subword.pieces_of(range(EOS + 1, subword.vocabulary_size))
    for number, piece in enumerate(pieces):
        count = len(pieces) - number  # only orders the pieces
        yield f"{piece}\t{count}"


class Marian(Peer):
    """Hugging Face's `MarianMTModel` in the usual loop, on sorted batches, computed in this process."""

    def train_into(self, folder: Path, seconds: float) -> None:
        # 1. The model.
        plan = self.plan
        settings = plan.marian
        config = plan.config(settings["settings"])
        torch.set_num_threads(plan.cores)
        torch.manual_seed(config.run.seed)
        data = DataHandler(config)
        vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
        learner = marian_learner(config, vocabularies, settings["matmul"], **settings["model"])
        batches = sorted_batches(data, config.batching.tokens_per_batch)

        # 2. Train until the time is over. The schedule follows the share of it.
        began = time.monotonic()
        share = 0.0
        saves = 0
        target_tokens = 0
        for steps, batch in enumerate(batches, 1 - WARM_UP):
            if steps == 1:
                began = time.monotonic()
            learner.update(batch, max(1, round(share * config.training.max_steps)))
            if steps < 1:
                continue
            target_tokens += batch.target_tokens
            share = (time.monotonic() - began) / seconds
            if int(share * plan.saves) > saves:
                saves = int(share * plan.saves)
                learner.model.save_pretrained(folder / "model" / f"step_{steps}")  # type: ignore[operator]
            if share >= 1:
                break

        # 3. Report.
        result = {
            "seconds": time.monotonic() - began,
            "steps": steps,
            "target_tokens": target_tokens,
            "weights": weights_of(learner.model),
        }
        write_json(folder / "result.json", result)

    @torch.no_grad()
    def translate(self, checkpoint: str, penalty: float, split: str, output: Path) -> None:
        transformers = importlib.import_module("transformers")  # type checks must pass where it is not installed
        config = self.plan.config(self.plan.marian["settings"])
        torch.set_num_threads(self.plan.cores)
        subword = DataHandler(config).subword
        model: Any = transformers.MarianMTModel.from_pretrained(self.folder / "training" / "model" / checkpoint).eval()
        ids = subword.source.encode(read_lines(self.text / f"{split}.input"))
        order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
        texts = [""] * len(ids)
        for start in range(0, len(order), ROWS):
            numbers = order[start : start + ROWS]
            source = collate_source([ids[number] for number in numbers])
            output_ids: torch.Tensor = model.generate(
                input_ids=source,
                attention_mask=source != PAD,
                num_beams=self.plan.beam_size,
                length_penalty=penalty,
                max_new_tokens=min(2 * source.shape[1] + 10, config.model.max_positions - 1),
                max_length=None,
                suppress_tokens=[PAD, UNK, SOS],
                use_cache=True,
            )
            for number, text in zip(numbers, subword.target.decode_ids(output_ids.tolist()), strict=True):
                texts[number] = text
        write_lines(output, texts)


def contestants(plan: Plan) -> dict[str, Callable[[Plan, Path, Path], Contestant]]:
    """Return the constructor of each contestant, from plan, text and folder, by name, in the order of the tables."""
    other_seeds = {f"translator-seed-{seed}": partial(Ours, seed=seed) for seed in range(2, plan.seeds + 1)}
    return {"translator": Ours, **other_seeds, "eole": Eole, "marian": Marian}
