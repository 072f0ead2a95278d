"""Validation on one process and on several gives the same numbers, and all stop together."""

import copy
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from toy import letters, write_pairs

from translator.config import Config, parse_config
from translator.data import DataHandler
from translator.evaluation import compute_scores
from translator.inference.torch_searcher import TorchSearcher
from translator.inference.translator import Translator
from translator.model import Transformer
from translator.model.device import Arithmetic
from translator.special_tokens import PAD
from translator.training import validation as room
from translator.training.distributed import Distributed
from translator.training.validation import Validation, Validator

RECIPE = """
run: {{directory: "{folder}/run", seed: 1, device: cpu, threads: 1}}
corpus:
  sources: [{{name: words, path: "{folder}/words.tsv"}}, {{name: others, path: "{folder}/others.tsv"}}]
  filters: {{min_target_script: null, max_untranslated: null}}
  split: {{validation: 40, test: 10}}
  prepared_directory: "{folder}/prepared"
subword: {{model_type: char, vocabulary_size: 60}}
batching: {{tokens_per_batch: 60, max_length: 40}}
model:
  {{d_model: 16, heads: 2, encoder_layers: 1, decoder_layers: 1, feed_forward: 32, dropout: 0.1, max_positions: 64}}
training: {{validation_sentences: 30, sample_translations: 3}}
search: {{method: greedy, max_length_ratio: 1.0}}
"""


class StopError(Exception):
    """Stands in for a stop signal."""


@dataclass(eq=False)
class ThreadRanks(Distributed):
    """A rank run as a thread of this process; it fails if it waits for the others in vain."""

    barrier_of_all: threading.Barrier = field(kw_only=True)
    shared: list[Any] = field(kw_only=True)

    def _all(self, value: Any) -> list[Any]:
        self.shared[self.rank] = value
        self.barrier_of_all.wait(120)
        everybody = list(self.shared)
        self.barrier_of_all.wait(120)
        return everybody

    def sum(self, values: Sequence[float]) -> list[float]:
        return [sum(column) for column in zip(*self._all(list(values)), strict=True)]

    def gather_text(self, text: str) -> list[str]:
        return self._all(text)


class Setting:
    def __init__(self, folder: Path) -> None:
        write_pairs(folder / "words.tsv", [(word, word) for word in letters(150, seed=1)])
        write_pairs(folder / "others.tsv", [(word, word[::-1]) for word in letters(150, seed=2)])
        self.config: Config = parse_config(RECIPE.format(folder=folder), "recipe.yaml", ())
        self.data = DataHandler(self.config).prepare()
        torch.manual_seed(0)
        subword = self.data.subword
        self._model = Transformer(self.config.model, subword.source.vocabulary_size, subword.target.vocabulary_size)

    def model(self) -> Transformer:
        return copy.deepcopy(self._model)

    def validate(self, ranks: Distributed, check: Callable[[], None] = lambda: None) -> Validation:
        arithmetic = Arithmetic(torch.device("cpu"), "float32")
        return Validator(self.config, self.data, self.model(), arithmetic, True, check, ranks).validate()

    def together(self, world: int, check: Callable[[Distributed], None]) -> list[Validation | BaseException]:
        barrier, shared = threading.Barrier(world), [None] * world

        def member(rank: int) -> Validation | BaseException:
            ranks = ThreadRanks(rank, world, barrier_of_all=barrier, shared=shared)
            try:
                return self.validate(ranks, lambda: check(ranks))
            except StopError as error:
                return error
            except BaseException:
                barrier.abort()
                raise

        with ThreadPoolExecutor(world) as pool:
            return list(pool.map(member, range(world)))


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    return Setting(tmp_path_factory.mktemp("validation"))


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LINES_AT_ONCE", 4)
    monkeypatch.setattr(room, "FEWEST_OF_A_SOURCE", 12)


def test_losses_equal_plain_cross_entropy_over_all_pairs(setting: Setting) -> None:
    found, model = setting.validate(Distributed()), setting.model().eval()
    total = {name: torch.zeros(2) for name in ("words", "others")}  # loss and tokens
    first, *_ = setting.data.corpus.names("validation")
    border = setting.data.corpus.count("validation", first)
    with torch.no_grad():
        for batch in setting.data.validation_batches():
            logits = model(batch.source, batch.target_input)
            for row, number in enumerate(batch.indices.tolist()):
                loss = F.cross_entropy(logits[row], batch.labels[row], ignore_index=PAD, reduction="sum").item()
                name = setting.data.corpus.names("validation")[int(number >= border)]
                total[name] += torch.tensor([loss, float((batch.labels[row] != PAD).sum())])
    losses, tokens = sum(total.values(), torch.zeros(2)).tolist()
    assert found.scores["loss"] == pytest.approx(losses / tokens, rel=1e-5)
    assert found.scores["perplexity"] == pytest.approx(math.exp(losses / tokens), rel=1e-4)
    assert set(total) == set(found.by_source)
    for name, (losses, tokens) in total.items():
        assert found.by_source[name]["loss"] == pytest.approx(float(losses / tokens), rel=1e-5)
    assert found.loss_by_length


def test_scores_and_samples_equal_those_of_the_translator(setting: Setting) -> None:
    found = setting.validate(Distributed())
    assert len(found.samples) == 3
    searcher = TorchSearcher([setting.model().eval()], torch.device("cpu"))
    translator = Translator(searcher, setting.data.subword, setting.data.normalizer, setting.config.search, 40)
    for pair in found.samples:
        assert pair.hypothesis == translator.translate(pair.source)
    first, *_ = setting.data.corpus.names("validation")
    sources, references = (list(setting.data.corpus.lines("validation", first, side)) for side in ("en", "fa"))
    # 30 of the 80 pairs are translated, spread evenly: number k is pair round(k * 79 / 29).
    own = [number for number in (round(place * 79 / 29) for place in range(30)) if number < len(sources)]
    outputs = translator.translate_lines([sources[number] for number in own])
    scores = compute_scores(outputs, [references[number] for number in own], metrics=("bleu", "chrf"))
    assert found.by_source[first]["chrf"] == pytest.approx(scores[1].score)
    assert found.scores["chrf"] != found.by_source[first]["chrf"]


@pytest.mark.parametrize("world", [2, 9])
def test_several_ranks_give_the_same_validation_as_one(setting: Setting, world: int) -> None:
    alone = setting.validate(Distributed())
    for found in setting.together(world, lambda ranks: None):
        assert found == alone


@pytest.mark.parametrize("at", [0, 5])
def test_a_signal_at_one_rank_stops_all(setting: Setting, at: int) -> None:
    """Rank 1 notices the signal at check number `at` (from 0); no rank is left waiting."""
    asked = [0, 0]

    def check(ranks: Distributed) -> None:
        asked[ranks.rank] += 1
        if ranks.sum([float(ranks.rank == 1 and asked[1] > at)])[0]:
            raise StopError

    results = setting.together(2, check)
    assert [type(result) for result in results] == [StopError, StopError]
    assert asked == [at + 1, at + 1]
