"""The process of one contestant: it obeys one line of JSON after the other and answers each with one.

`python -m bench.contest NAME CONFIG`, where CONFIG is a whole recipe as JSON. Each contestant has a process of its own,
so that peak memory, the precision of products and all that a library sets at import belong to it alone.
"""

import itertools
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from bench.contestants import OURS, OURS_TWICE
from bench.learner import Learner
from bench.peak_memory import peak_memory
from bench.plain import Ids, PlainLearner, shuffled_batches
from translator.config import Config, parse_config
from translator.data import Batch, DataHandler, DataPosition
from translator.data.pair_store import PairStore
from translator.device import Arithmetic, use_threads
from translator.matrix_rate import matrix_rate
from translator.special_tokens import PAD
from translator.training.flops import StepFlops
from translator.training.randomness import seed_everything
from translator.workers import available_cores

CPU = torch.device("cpu")
TUTORIAL = "nn.Transformer, tutorial's batches"
NAMES = (OURS, OURS_TWICE, "nn.Transformer", TUTORIAL, "Marian", "Marian, medium")

Answer = dict[str, float]


class Contest:
    """A learner with its batches."""

    def __init__(self, name: str, config: Config) -> None:
        self._name = name
        self._config = config
        self._data = DataHandler(config)
        self.begin()

    def begin(self) -> Answer:
        """Begin anew: fresh weights from the seed, the first batch of the first epoch."""
        seed_everything(self._config.run.seed)
        self._step = 0
        self._learner = build_learner(self._name, self._config, *self._sizes())
        self._batches = self._tutorial_batches() if self._name == TUTORIAL else self._our_batches()
        return {}

    def weights(self) -> Answer:
        """Return the number of weights."""
        return {"weights": sum(parameter.numel() for parameter in self._learner.model.parameters())}

    def train(self, steps: int, watched: bool) -> Answer:
        """Take `steps` steps and tell what they took, reading the batches included; `watched` tells the loss too."""
        losses: list[torch.Tensor] = []
        seen: list[Batch] = []
        began = time.perf_counter()
        for batch in itertools.islice(self._batches, steps):
            self._step += 1
            loss = self._learner.take_step(batch, self._step, watched=watched)
            seen.append(batch)
            if watched and loss is not None:
                losses.append(loss)
        seconds = time.perf_counter() - began
        target_tokens = sum(batch.target_tokens for batch in seen)
        answer = {
            "seconds": seconds,
            "target_tokens": target_tokens,
            "tokens": target_tokens + sum(batch.source_tokens for batch in seen),
            "positions": sum(batch.source.numel() + batch.labels.numel() for batch in seen),
            "flops": sum(map(self._flops, seen)),
        }
        if watched:
            answer["loss"] = float(torch.stack(losses).sum()) / target_tokens
        return answer

    def validate(self) -> Answer:
        """Return the loss on all validation pairs."""
        return {"loss": self._learner.held_out_loss(list(self._data.validation_batches()), CPU)}

    def _flops(self, batch: Batch) -> float:
        lengths = ((ids != PAD).sum(dim=1).numpy() for ids in (batch.source, batch.labels))
        return StepFlops(self._config.model, self._sizes()[1])(*lengths)

    def _sizes(self) -> tuple[int, int]:
        return self._data.subword.source.vocabulary_size, self._data.subword.target.vocabulary_size

    def _our_batches(self) -> Iterator[Batch]:
        """Return the batches of `translator train`, in its order."""
        return (batch for batch, _ in self._data.train_batches(DataPosition()))

    def _tutorial_batches(self) -> Iterator[Batch]:
        """Return shuffled batches with as many target tokens as ours have in the mean over an epoch."""
        sources, targets = self._pairs()
        ours = list(itertools.takewhile(lambda pair: pair[1].epoch == 0, self._data.train_batches(DataPosition())))
        batches = len(ours) + 1  # the position after the last batch is in the next epoch
        return shuffled_batches(sources, targets, max(1, round(len(sources) / batches)), self._config.run.seed)

    def _pairs(self) -> tuple[list[Ids], list[Ids]]:
        """Return the ids of all training pairs that are short enough."""
        store = PairStore.open(Path(self._data.token_folder) / "train", self._data.corpus.names("train"))
        limit = self._config.batching.max_length
        longer = np.maximum(store.source_lengths, store.target_lengths)
        pairs = [store[int(number)] for number in np.flatnonzero(longer <= limit)]
        return [source for source, _ in pairs], [target for _, target in pairs]


def build_learner(name: str, config: Config, source_vocabulary: int, target_vocabulary: int) -> Learner:
    """Return the contestant called `name`, on the CPU."""
    sizes = source_vocabulary, target_vocabulary
    if name in (OURS, OURS_TWICE):
        from bench.ours import OurLearner

        return OurLearner(config, *sizes, CPU)
    if name in ("nn.Transformer", TUTORIAL):
        return PlainLearner(config, *sizes, CPU)
    from bench.marian import MarianLearner

    assert name in NAMES
    return MarianLearner(config, *sizes, Arithmetic(CPU, "float32"), "medium" if "medium" in name else "highest")


def machine_rates() -> Answer:
    """Return the rates of matrix products of this machine at this moment, in operations a second."""
    return {"float32": matrix_rate(CPU, "float32", "highest"), "bf16": matrix_rate(CPU, "bf16")}


def obey(commands: TextIO, answers: TextIO, contest: Contest | None) -> None:
    """Answer every line of `commands` until there is no more; None is the machine itself."""
    verbs: dict[str, Callable[..., Answer]] = {"rates": machine_rates, "memory": lambda: {"bytes": peak_memory()}}
    if contest is not None:
        verbs |= {
            "begin": contest.begin,
            "weights": contest.weights,
            "train": contest.train,
            "validate": contest.validate,
        }
    for line in commands:
        command: dict[str, Any] = json.loads(line)
        answers.write(json.dumps(verbs[command.pop("do")](**command)) + "\n")
        answers.flush()


def main() -> int:
    """Serve the parent on standard input and output."""
    # What a library prints must not get among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, recipe = sys.argv[1:]
    config = parse_config(recipe, f"the recipe of {name}")
    use_threads((config.run.threads or available_cores()) // int(os.environ.get("WORLD_SIZE", "1")))
    logging.getLogger("translator").setLevel(logging.ERROR)  # the parent has said it
    obey(sys.stdin, answers, None if name == "machine" else Contest(name, config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
