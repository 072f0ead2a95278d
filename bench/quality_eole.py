"""The contestant eole, the successor of OpenNMT-py, by its own command line, in a Python of its own if one is named."""

import json
import os
import random
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from bench.quality_contestant import WARM_UP, Contestant, Trained, carry_out, emptied, threads
from bench.quality_text import read_lines
from bench.quality_weights import average_weights, count_weights, load_tensors
from translator.data import DataHandler
from translator.errors import CheckpointError, RunError
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.storage import write_text
from translator.subword import SubwordModel

PYTHON: Final = "QUALITY_PYTHON"
"""Environment variable: the Python that eole is installed in; without it, the one that runs this."""
_PROCESS: Final = Path(__file__).with_name("quality_eole_process.py")
_MODEL: Final = "model.00.safetensors"
_UNTRAINED: Final = ("emb.pe.", "layer_scalar")
_TRIAL_STEPS: Final = 1_000_000
"""More than any trial takes."""
_SAVES_PER_VALIDATION: Final = 2
"""Validations take from the time, and checkpoints are not chosen by them."""
_BUCKET_SHARE: Final = 0.8
"""Of an epoch: eole makes the same batches of the same pairs, so a bucket of an epoch would repeat them for ever."""


class Eole(Contestant):
    """eole on the same text and SentencePiece models. A killed training begins anew.

    It shares a training on a CPU among threads only: its several processes are for GPUs. A way is
    `{matmul: highest|medium, precision: fp32|bf16}`.
    """

    name = "eole"

    @property
    def ways(self) -> Sequence[Mapping[str, Any]]:
        """Ways to use the cores."""
        return self.plan.eole.ways

    @property
    def length_penalties(self) -> Sequence[float]:
        """The alpha of its formula."""
        return self.plan.eole.length_penalties

    def try_way(self, way: Mapping[str, Any], folder: Path) -> Trained:
        """Train without saving."""
        return self._trained(way, folder, self.plan.trial_seconds, steps=_TRIAL_STEPS, every=_TRIAL_STEPS)

    def train(self, way: Mapping[str, Any], trial: Trained) -> Trained:
        """Train until the time is over; the plan's `steps_share` leaves room for more steps than the trial promises."""
        budget = 60 * self.plan.minutes
        steps = max(1, int(trial.steps / trial.seconds * budget * self.plan.eole.steps_share))
        folder = emptied(self.folder / "training")
        trained = self._trained(way, folder, budget, steps, every=max(1, steps // self.plan.eole.saves))
        whole = self._whole_checkpoints(folder / "model")
        if not whole:
            raise RunError(f"eole has left no checkpoint in {folder / 'model'}; see {folder / 'log.txt'}")
        averaged = folder / "model" / "averaged"
        shutil.copytree(whole[-1], averaged)
        average_weights([path / _MODEL for path in whole[-self.plan.eole.average :]], averaged / _MODEL)
        names = ("averaged", *(path.name for path in reversed(whole)))
        weights = count_weights(whole[-1] / _MODEL, _UNTRAINED)
        return Trained(trained.seconds, trained.steps, trained.target_tokens, weights, names)

    def translate(self, checkpoint: str, penalty: float, source: str, output: Path) -> None:
        """Translate normalized text."""
        command = [*self._eole("translate"), "predict", "-model_path", str(self._model(checkpoint))]
        command += ["-src", str(self.text.input(source).resolve()), "-output", str(output.resolve())]
        command += ["-beam_size", str(self.plan.beam_size), "-batch_size", "64", "-batch_type", "sents"]
        command += ["-length_penalty", self.plan.eole.penalty, "-alpha", str(penalty), "-max_length_ratio", "2"]
        command += ["-max_length", str(self.plan.config().model.max_positions - 1), "-n_best", "1"]
        command += ["-compute_dtype", "fp32"]  # otherwise the weights of a training in bf16 are rounded
        carry_out(self.run, command, self.folder / "translating.log", threads(self.plan.cores))

    def _model(self, checkpoint: str) -> Path:
        return (self.folder / "training" / "model" / checkpoint).resolve()

    def _eole(self, job: str) -> list[str]:
        """Return the command that runs eole's own with the settings of `job`: JSON, or `translate`."""
        return [os.environ.get(PYTHON) or sys.executable, str(_PROCESS), job]

    def _trained(self, way: Mapping[str, Any], folder: Path, seconds: float, steps: int, every: int) -> Trained:
        recipe = folder / "eole.yaml"
        write_text(recipe, yaml.safe_dump(self._recipe(way, folder, steps, every), sort_keys=False))
        result = folder / "result.json"
        warm_up = WARM_UP if steps == _TRIAL_STEPS else 0
        scheduled = 0 if steps == _TRIAL_STEPS else steps
        job = {"seconds": seconds, "warm_up": warm_up, "matmul": way["matmul"], "steps": scheduled}
        job["result"] = str(result.resolve())
        command = [*self._eole(json.dumps(job)), "train", "-config", str(recipe.resolve())]
        carry_out(self.run, command, folder / "log.txt", threads(self.plan.cores))
        return Trained.from_json(json.loads(result.read_text(encoding="utf-8")))

    def _recipe(self, way: Mapping[str, Any], folder: Path, steps: int, every: int) -> dict[str, Any]:
        """Return the whole of eole's settings: those of the plan, and what they cannot know.

        The warm-up of the plan is that of a training of as many steps as our recipe has; another has one in proportion.
        """
        config, arm = self.plan.config(), self.plan.eole
        subword_folder = DataHandler(config).subword_folder
        models = {
            side: (subword_folder / f"{name}.model").resolve() for side, name in (("src", "source"), ("tgt", "target"))
        }
        vocabularies = {}
        for side, model in models.items():
            vocabularies[side] = (folder / f"{side}.vocab").resolve()
            write_text(vocabularies[side], vocabulary_text(SubwordModel.load(model)))
        text = self.text.folder.resolve()
        validation = {"path_src": str(text / "validation.input"), "path_tgt": str(text / "validation.fa")}
        length, tokens = config.batching.max_length, config.batching.tokens_per_batch
        training = {"batch_size": tokens, "valid_batch_size": tokens, **arm.config.get("training", {})}
        if "warmup_steps" in training and steps != _TRIAL_STEPS:
            training["warmup_steps"] = max(1, round(training["warmup_steps"] * steps / config.training.max_steps))
        return {
            "seed": config.run.seed + 1,  # eole takes 0 for no seed
            "save_data": str((folder / "data").resolve()),
            "overwrite": True,
            "report_every": 50,
            "n_sample": 0,
            "data": {"train": self._shuffled(folder, config.run.seed), "valid": validation},
            "src_vocab": str(vocabularies["src"]),
            "tgt_vocab": str(vocabularies["tgt"]),
            "share_vocab": False,
            "transforms": ["sentencepiece", "filtertoolong"],
            "transforms_configs": {
                "sentencepiece": {f"{side}_subword_model": str(model) for side, model in models.items()},
                "filtertoolong": {"src_seq_length": length, "tgt_seq_length": length},
            },
            "training": {
                "bucket_size": max(1, int(_BUCKET_SHARE * len(read_lines(self.text.folder / "train.en")))),
                **training,
                "model_path": str((folder / "model").resolve()),
                "save_format": "safetensors",
                "train_steps": steps,
                "valid_steps": _SAVES_PER_VALIDATION * every,
                "save_checkpoint_steps": every,
                "keep_checkpoint": arm.average,
                "world_size": 1,
                "gpu_ranks": [],
                "compute_dtype": way["precision"],
            },
            "model": arm.config.get("model", {}),
        }

    def _shuffled(self, folder: Path, seed: int) -> dict[str, str]:
        """Write the training text in random order, which eole reads as it is, and return where it is."""
        sides = [read_lines(self.text.folder / f"train.{side}") for side in ("en", "fa")]
        pairs = list(zip(*sides, strict=True))
        random.Random(seed).shuffle(pairs)
        paths = {name: (folder / f"train.{name}").resolve() for name in ("path_src", "path_tgt")}
        for side, path in enumerate(paths.values()):
            write_text(path, "".join(f"{pair[side]}\n" for pair in pairs))
        return {name: str(path) for name, path in paths.items()}

    def _whole_checkpoints(self, folder: Path) -> list[Path]:
        """Return the checkpoints that are whole, the oldest first."""
        found = []
        for path in sorted(folder.glob("step_*"), key=lambda path: int(path.name.removeprefix("step_"))):
            try:
                load_tensors(path / _MODEL)
            except CheckpointError:
                continue
            found.append(path)
        return found


def vocabulary_text(model: SubwordModel) -> str:
    """Return the pieces of a SentencePiece model as eole's vocabulary file: a piece and a count on each line.

    eole puts its own special tokens before them. The counts only order the pieces, so they fall from line to line.
    """
    pieces = model.pieces_of(list(range(model.vocabulary_size)))
    own = {PAD, UNK, SOS, EOS}
    rows = [piece for number, piece in enumerate(pieces) if number not in own]
    return "".join(f"{piece}\t{len(rows) - number}\n" for number, piece in enumerate(rows))
