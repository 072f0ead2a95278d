"""The process of the contestant Marian: trains until its time is over, or translates.

python -m bench.quality_marian_process train|translate JOB

JOB is a JSON file, as bench/quality_marian.py writes it. Under torch's launcher several processes share each step.
"""

import importlib
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from bench.learner import plain_loss
from bench.marian import build_marian
from bench.quality_contestant import Trained
from bench.quality_text import read_lines
from bench.quality_weights import average_weights, count_weights
from translator.config import Config, TrainingConfig, parse_config
from translator.data import Batch, DataHandler, DataPosition, StepBatches, collate_source
from translator.device import Arithmetic, keep_freed_memory
from translator.special_tokens import EOS, PAD, SOS, UNK
from translator.storage import write_json, write_text
from translator.training.randomness import seed_everything
from translator.training.schedule import learning_rate

CPU = torch.device("cpu")
MODEL = "model.safetensors"
UNTRAINED = ("embed_positions", "final_logits_bias")
"""Tensors in Marian's files that training leaves as they are."""
ROWS = 64
"""Sentences translated together."""
SAVES_PER_VALIDATION = 2
"""Validations take from the time."""


class MarianTrainer:
    """The usual loop: a step shared by all processes, a schedule that ends with the time."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._config = job_config(job)
        way = job["way"]
        self._rank, self._world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        if self._world > 1:
            dist.init_process_group("gloo")
        torch.set_num_threads(way["threads"])
        torch.set_float32_matmul_precision(way["matmul"])
        keep_freed_memory()
        self._arithmetic = Arithmetic(CPU, way["precision"])
        self._data = DataHandler(self._config)
        seed_everything(self._config.run.seed)
        subword = self._data.subword
        sizes = subword.source.vocabulary_size, subword.target.vocabulary_size
        model: Any = build_marian(self._config.model, *sizes, **job["model"])
        self._model = model
        self._model.set_attn_implementation(way["attention"])
        seed_everything(self._config.run.seed + self._rank)  # alike weights, unlike dropout
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
        )
        self._loss = nn.CrossEntropyLoss(
            ignore_index=PAD, label_smoothing=self._config.training.label_smoothing, reduction="sum"
        )
        self._folder = Path(job["folder"])
        self._saved: list[Path] = []
        self._validated: list[tuple[float, Path]] = []

    def train(self) -> Trained:
        """Train until the time is over, and write what it came to."""
        settings, tokens, number, warm_up = self._config.training, 0, 0, self._job["warm_up"]
        self._model.train()
        marks = [(mark + 1) / self._job["saves"] for mark in range(self._job["saves"])]
        began = time.monotonic()
        for step in self._data.train_steps(
            DataPosition(), settings.accumulation_steps, rank=self._rank, world=self._world
        ):
            share = self._agreed((time.monotonic() - began) / self._job["seconds"])
            if share >= 1:
                break
            if passed := [mark for mark in marks if share >= mark]:
                marks = marks[len(passed) :]
                self._save(number)
            number += 1
            self._take(step, timed_rate(number, share, settings))
            tokens += step.target_tokens
            if number == warm_up:
                warm_up, number, tokens, began = 0, 0, 0, time.monotonic()
        if marks:
            self._save(number)
        took = time.monotonic() - began
        candidates = self._finish() if self._job["saves"] and self._rank == 0 else ()
        weights = count_weights(self._folder / "last" / MODEL, UNTRAINED) if candidates else 0
        return Trained(took, number, tokens, weights, candidates)

    def _agreed(self, share: float) -> float:
        """Return the share of the time that is over, by the clock of the first process."""
        if self._world == 1:
            return share
        told = torch.tensor([share], dtype=torch.float64)
        dist.broadcast(told, src=0)
        return float(told)

    def _take(self, step: StepBatches, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=False)
        for batch in step.batches:
            with self._arithmetic.autocast():
                logits = self._logits(batch)
            loss: Tensor = self._loss(logits.flatten(0, 1).float(), batch.labels.flatten()) / step.target_tokens
            loss.backward()  # type: ignore[no-untyped-call]
        parameters = [one for one in self._model.parameters() if one.requires_grad]
        if self._world > 1:
            gradients = [one.grad if one.grad is not None else torch.zeros_like(one) for one in parameters]
            flat = torch.cat([one.flatten() for one in gradients])
            dist.all_reduce(flat)
            for one, part in zip(parameters, torch.split(flat, [one.numel() for one in parameters]), strict=True):
                one.grad = part.view_as(one).clone()
        if self._config.training.gradient_clip is not None:
            nn.utils.clip_grad_norm_(parameters, self._config.training.gradient_clip)
        self._optimizer.step()

    def _logits(self, batch: Batch) -> Tensor:
        output = self._model(
            input_ids=batch.source, attention_mask=batch.source != PAD, decoder_input_ids=batch.target_input
        )
        logits: Tensor = output.logits
        return logits

    def _save(self, number: int) -> None:
        """Save, and validate every other time; the first process does it, and the others wait for its next step."""
        if self._rank:
            return
        path = self._folder / f"step-{number}"
        self._model.save_pretrained(path)
        self._saved.append(path)
        if len(self._saved) % SAVES_PER_VALIDATION == 0:
            loss = self._validation_loss()
            print(f"step {number}: validation loss {loss:.4f}", flush=True)
            self._validated.append((loss, path))
        kept = {*self._saved[-self._job["keep"] :], *self._best()}
        for old in self._saved:
            if old not in kept and old.exists():
                shutil.rmtree(old)

    @torch.no_grad()
    def _validation_loss(self) -> float:
        self._model.eval()
        total, tokens = 0.0, 0
        for batch in self._data.validation_batches():
            with self._arithmetic.autocast():
                total += float(plain_loss(self._logits(batch), batch.labels))
            tokens += batch.target_tokens
        self._model.train()
        return total / tokens

    def _best(self) -> list[Path]:
        return [min(self._validated)[1]] if self._validated else []

    def _finish(self) -> tuple[str, ...]:
        """Name the last, the best and the mean of the last checkpoints."""
        last = self._saved[-self._job["keep"] :]
        shutil.copytree(last[-1], self._folder / "last")
        shutil.copytree(last[-1], self._folder / "averaged")
        average_weights([path / MODEL for path in last], self._folder / "averaged" / MODEL)
        if self._best() in ([], [last[-1]]):
            return ("last", "averaged")
        shutil.copytree(self._best()[0], self._folder / "best")
        return ("last", "averaged", "best")


def timed_rate(number: int, share: float, settings: TrainingConfig) -> float:
    """Return the learning rate of update `number` when `share` (0 to 1) of the time is over.

    A cosine, its warm-up included, goes by the time: the rate is that of the step at this share of `max_steps`.
    """
    if settings.schedule != "cosine":
        return learning_rate(number, settings)
    return learning_rate(max(1, round(share * settings.max_steps)), settings)


@torch.no_grad()
def translate(job: dict[str, Any]) -> None:
    """Translate a file of normalized lines into another, those of like length together."""
    # By name: the checks must pass where the library is not installed.
    transformers = importlib.import_module("transformers")
    config = job_config(job)
    subword = DataHandler(config).subword
    model: Any = transformers.MarianMTModel.from_pretrained(job["model"]).eval()
    lines = read_lines(Path(job["source"]))
    ids = subword.source.encode(lines)
    order = sorted(range(len(lines)), key=lambda number: -len(ids[number]))
    texts = [""] * len(lines)
    for start in range(0, len(order), ROWS):
        numbers = order[start : start + ROWS]
        source = collate_source([ids[number] for number in numbers])
        found: Tensor = model.generate(
            input_ids=source,
            attention_mask=source != PAD,
            num_beams=job["beam_size"],
            length_penalty=job["length_penalty"],
            max_new_tokens=min(2 * source.shape[1] + 10, config.model.max_positions - 1),
            max_length=None,
            decoder_start_token_id=SOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
            suppress_tokens=[PAD, UNK, SOS],
            use_cache=True,
        )
        for number, row in zip(numbers, found.tolist(), strict=True):
            [texts[number]] = subword.target.decode_ids([_inner(row[1:])])
    write_text(Path(job["output"]), "".join(f"{text}\n" for text in texts))


def _inner(ids: Sequence[int]) -> list[int]:
    """Return the ids before the first EOS, without padding."""
    end = ids.index(EOS) if EOS in ids else len(ids)
    return [one for one in ids[:end] if one != PAD]


def job_config(job: dict[str, Any]) -> Config:
    """Return the recipe in a job.

    Raises:
        ConfigError: it is not one.
    """
    return parse_config(json.dumps(job["config"]), "the recipe of the job")


def main(arguments: list[str]) -> int:
    """Do what the job says."""
    verb, file = arguments
    job: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    logging.getLogger("translator").setLevel(logging.ERROR)
    if verb == "translate":
        translate(job)
        return 0
    assert verb == "train"
    trained = MarianTrainer(job).train()
    if os.environ.get("RANK", "0") == "0":
        write_json(Path(job["folder"]) / "result.json", trained.to_json())
    if dist.is_initialized():
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
