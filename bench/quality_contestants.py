"""The contestants of quality: our recipe, eole, and Hugging Face Marian.

Marian runs in this process; eole runs in the Python named by QUALITY_PYTHON (see bench/quality_eole.py).
"""

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

from bench.learners import CPU, average_weights, count_weights, marian_learner, our_batches
from bench.processes import TRANSLATOR, run_command
from bench.quality_text import Plan, write_lines
from bench.scores import read_lines
from translator.core import EOS, PAD, SOS, UNK
from translator.data import DataHandler, collate_source
from translator.run.files import write_json, write_text
from translator.speed.device import Arithmetic
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
            "weights": count_weights(last / "model.safetensors"),
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
        candidates = ["averaged", *(path.name for path in reversed(last_checkpoints))]
        return {**result, "weights": count_weights(files[-1]), "candidates": candidates}

    @abstractmethod
    def train_into(self, folder: Path, seconds: float) -> None:
        """Train for `seconds`, with checkpoints `model/step_N` and numbers in `result.json` in `folder`."""


class Eole(Peer):
    """eole with the same text, normalized, and the same SentencePiece models."""

    def train_into(self, folder: Path, seconds: float) -> None:
        config = self.plan.config()
        settings = self.plan.eole
        place = folder.resolve()

        # 1. The text, which eole does not shuffle, and its subwords.
        english = read_lines(self.text / "train.en")
        persian = read_lines(self.text / "train.fa")
        pairs = list(zip(english, persian, strict=True))
        random.Random(config.run.seed).shuffle(pairs)
        write_lines(place / "train.src", [source for source, _ in pairs])
        write_lines(place / "train.tgt", [target for _, target in pairs])
        subword_folder = DataHandler(config).subword_folder
        models = {
            "src": str((subword_folder / "source.model").resolve()),
            "tgt": str((subword_folder / "target.model").resolve()),
        }
        for side, model in models.items():
            write_lines(place / f"{side}.vocab", _eole_vocabulary(SubwordModel.load(Path(model))))

        # 2. The recipe.
        length = config.batching.max_length
        training = {
            "bucket_size": max(1, int(0.8 * len(pairs))),  # a bucket of a whole epoch would repeat the same batches
            **settings["config"]["training"],
            "model_path": str(place / "model"),
            "save_format": "safetensors",
            "keep_checkpoint": self.plan.average,
            **dict.fromkeys(("train_steps", "valid_steps", "save_checkpoint_steps"), _ENDLESS),  # ended by time
            "world_size": 1,
            "gpu_ranks": [],
            "compute_dtype": settings["precision"],
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
            "model": settings["config"]["model"],
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
    """Hugging Face's `MarianMTModel` in the usual loop, on our batches, computed in this process."""

    def train_into(self, folder: Path, seconds: float) -> None:
        # 1. The model.
        plan = self.plan
        settings = plan.marian
        config = plan.config(settings["settings"])
        torch.set_num_threads(plan.cores)
        torch.manual_seed(config.run.seed)
        data = DataHandler(config)
        vocabularies = data.subword.source.vocabulary_size, data.subword.target.vocabulary_size
        arithmetic = Arithmetic(CPU, settings["precision"])
        learner = marian_learner(config, vocabularies, arithmetic, settings["matmul"], **settings["model"])

        # 2. Train until the time is over. The schedule follows the share of it.
        checkpoints: list[Path] = []
        began = time.monotonic()
        share = 0.0
        steps = 0
        target_tokens = 0
        saves = 0
        for number, batch in enumerate(our_batches(data), 1 - WARM_UP):
            if number == 1:
                began = time.monotonic()
            learner.update(batch, max(1, round(share * config.training.max_steps)))
            if number < 1:
                continue
            steps = number
            target_tokens += batch.target_tokens
            share = (time.monotonic() - began) / seconds
            if int(share * plan.saves) > saves:
                saves = int(share * plan.saves)
                checkpoints.append(folder / "model" / f"step_{steps}")
                learner.model.save_pretrained(checkpoints[-1])  # type: ignore[operator]
                for old_checkpoint in checkpoints[: -plan.average]:
                    shutil.rmtree(old_checkpoint, ignore_errors=True)
            if share >= 1:
                break

        # 3. Report.
        seconds_taken = time.monotonic() - began
        result = {"seconds": seconds_taken, "steps": steps, "target_tokens": target_tokens}
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
